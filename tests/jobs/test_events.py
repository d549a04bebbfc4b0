"""Job events: the state, every change and the end, also for slow clients."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import delete, event, func, update
from starlette.types import Message

from scrapersky.auth.service import create_api_key, get_system_actor
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.http.event_stream import ABORT_EXTENSION
from scrapersky.jobs.events import JobWatch, stream_job_events
from scrapersky.models import Actor, Job, Role, Tenant, User
from tests.app import scan, serving
from tests.conftest import make_settings
from tests.processes import HASTY, Program, answering, free_port, running
from tests.waiting import PATIENCE_SECONDS


@dataclass
class Event:
    name: str = ""
    id: str = ""
    data: str = ""

    @property
    def job(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.data)
        return found


@dataclass
class Stream:
    """Server-sent events as they come in."""

    response: httpx.Response
    lines: AsyncIterator[str] = field(init=False)
    comments: int = 0

    def __post_init__(self) -> None:
        self.lines = self.response.aiter_lines()

    async def next(self) -> Event | None:
        """None at the end of the stream."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            found = Event()
            async for line in self.lines:
                if not line and found.name:
                    return found
                self._take(line, found)
            return None

    def _take(self, line: str, found: Event) -> None:
        name, _, value = line.partition(": ")
        if line.startswith(":"):
            self.comments += 1
        elif name == "event":
            found.name = value
        elif name in ("id", "data"):
            setattr(found, name, value)

    async def rest(self) -> list[Event]:
        found = []
        while each := await self.next():
            found.append(each)
        return found


@asynccontextmanager
async def watched(
    client: httpx.AsyncClient, job_id: str, after: str | None = None
) -> AsyncIterator[Stream]:
    headers = {"Last-Event-ID": after} if after else {}
    path = f"/api/v3/jobs/{job_id}/events"
    async with client.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Stream(response)


@dataclass
class Api:
    """A process that only takes requests: jobs change from outside of it."""

    program: Program
    client: httpx.AsyncClient


@pytest.fixture
async def api(url: str, tmp_path: Path) -> AsyncIterator[Api]:
    port = free_port()
    environ = {
        **HASTY,
        "DATABASE_URL": url,
        "SCHEDULER_ENABLED": "false",
        "DATABASE_POOL_SIZE": "2",
        "EVENTS_POLL_SECONDS": "0.05",
        "EVENTS_HEARTBEAT_SECONDS": "1",
    }
    limits = httpx.Limits(max_connections=None)
    base = f"http://127.0.0.1:{port}"
    async with (
        running("serve", "--port", str(port), environ=environ, log=tmp_path / "log") as program,
        httpx.AsyncClient(base_url=base, timeout=PATIENCE_SECONDS, limits=limits) as client,
    ):
        await answering(client, program)
        yield Api(program, client)


async def change(database: Database, job_id: str, **values: Any) -> None:
    async with database.transaction() as session:
        await session.execute(update(Job).where(Job.id == UUID(job_id)).values(**values))


async def finish(database: Database, job_id: str) -> None:
    done = {"status": "complete", "progress": 1.0, "phase": "done", "finished_at": func.now()}
    await change(database, job_id, **done, result_data={"urls": 7})


async def test_changes_made_by_another_process_are_told_until_the_end(
    api: Api, database: Database
) -> None:
    job_id = (await scan(api.client, "bakery.example"))["job_id"]
    async with watched(api.client, job_id) as stream:
        first = await stream.next()
        await change(database, job_id, status="processing", progress=0.4, phase="reading sitemaps")
        second = await stream.next()
        await finish(database, job_id)
        third, last, nothing = await stream.next(), await stream.next(), await stream.next()

    assert first is not None
    assert second is not None
    assert third is not None
    assert last is not None
    assert (first.job["status"], first.job["job_id"]) == ("pending", job_id)
    assert (second.job["progress"], second.job["phase"]) == (0.4, "reading sitemaps")
    assert (third.job["status"], third.job["result_data"]) == ("complete", {"urls": 7})
    assert (last.name, last.data, nothing) == ("end", "complete", None)
    assert len({first.id, second.id, third.id}) == 3
    assert int(first.id.split("-")[0]) < int(second.id.split("-")[0]) < int(third.id.split("-")[0])


async def test_a_stream_taken_up_again_neither_repeats_nor_misses(
    api: Api, database: Database
) -> None:
    job_id = (await scan(api.client, "bakery.example"))["job_id"]
    async with watched(api.client, job_id) as stream:
        seen = await stream.next()
    assert seen
    async with watched(api.client, job_id, after=seen.id) as stream:
        while not (await anext(stream.lines)).startswith(":"):
            pass
        await change(database, job_id, status="processing", progress=0.5)
        fresh = await stream.next()
    assert fresh
    assert fresh.job["progress"] == 0.5
    await finish(database, job_id)
    async with watched(api.client, job_id, after=fresh.id) as stream:
        missed, end = await stream.rest()
    assert (missed.job["status"], end.name) == ("complete", "end")
    again = await api.client.get(
        f"/api/v3/jobs/{job_id}/events", headers={"Last-Event-ID": missed.id}
    )
    assert (again.status_code, again.content) == (204, b"")


async def test_a_quiet_stream_shows_that_it_is_alive(api: Api) -> None:
    job_id = (await scan(api.client, "bakery.example"))["job_id"]
    async with watched(api.client, job_id) as stream, asyncio.timeout(PATIENCE_SECONDS):
        comments = 0
        async for line in stream.lines:
            comments += line.startswith(":")
            if comments == 2:
                break

    assert comments == 2


async def test_many_watch_with_few_connections(api: Api, database: Database) -> None:
    jobs = [(await scan(api.client, f"site{number}.example"))["job_id"] for number in range(5)]
    async with AsyncExitStack() as stack:
        streams = [
            await stack.enter_async_context(watched(api.client, jobs[number % 5]))
            for number in range(100)
        ]
        firsts = await asyncio.gather(*(each.next() for each in streams))
        listed = await api.client.get("/api/v3/jobs")
        for job_id in jobs:
            await finish(database, job_id)
        rests = await asyncio.gather(*(each.rest() for each in streams))

    assert listed.status_code == 200
    assert [each.job["job_id"] for each in firsts if each] == [jobs[n % 5] for n in range(100)]
    assert {each[-1].data for each in rests} == {"complete"}


async def test_a_server_that_is_stopped_does_not_wait_for_those_who_watch(api: Api) -> None:
    job_id = (await scan(api.client, "bakery.example"))["job_id"]
    async with AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(watched(api.client, job_id)) for _ in range(3)]
        for each in streams:
            await each.next()
        api.program.send(signal.SIGTERM)
        rests = [await each.rest() for each in streams]
        code = await api.program.ended()

    assert (rests, code) == ([[], [], []], 0)
    assert "timeout graceful shutdown exceeded" not in api.program.said()


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    settings = make_settings(url, scheduler_enabled=False, events_poll_seconds=0.05)
    async with serving(settings) as made:
        yield made


async def test_a_job_that_has_ended_is_told_whole_and_the_stream_closed(
    client: httpx.AsyncClient, database: Database
) -> None:
    job_id = (await scan(client, "bakery.example"))["job_id"]
    await client.post(f"/api/v3/jobs/{job_id}/cancel")
    async with watched(client, job_id, after="junk") as stream:
        told, end = await stream.rest()

    assert (told.job["status"], end.data) == ("cancelled", "cancelled")


async def test_a_job_that_is_deleted_ends_its_stream(
    client: httpx.AsyncClient, database: Database
) -> None:
    job_id = (await scan(client, "bakery.example"))["job_id"]
    watching = asyncio.create_task(client.get(f"/api/v3/jobs/{job_id}/events"))
    await until_watched(client)
    async with database.transaction() as session:
        await session.execute(delete(Job))
    answer = await watching

    assert answer.text.endswith("event: end\ndata: deleted\n\n")


async def until_watched(client: httpx.AsyncClient) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not hasattr(client.app.state, "job_watch"):  # type: ignore[attr-defined]
            await asyncio.sleep(0.01)


async def test_nobody_waits_with_a_connection_in_hand(
    client: httpx.AsyncClient, database: Database
) -> None:
    job_id = (await scan(client, "bakery.example"))["job_id"]
    async with JobWatch(database, every_seconds=600).subscribe(UUID(job_id)) as watcher:
        assert await watcher.wait_for_change(seconds=PATIENCE_SECONDS)
        held = database.checked_out()

    assert held == 0


async def test_what_is_not_there_or_not_ours_is_404(url: str, database: Database) -> None:
    settings = make_settings(url, scheduler_enabled=False, auth_mode="required")
    async with database.transaction() as session:
        _, ours = await create_api_key(
            session, await get_system_actor(session, settings), name="ours", role=Role.ADMIN
        )
        tenant = Tenant(id=uuid7(), name="others")
        session.add(tenant)
        await session.flush()
        user = User(id=uuid7(), tenant_id=tenant.id, name="other", role=Role.ADMIN)
        session.add(user)
        await session.flush()
        other = Actor(user_id=user.id, tenant_id=tenant.id)
        _, theirs = await create_api_key(session, other, name="theirs", role=Role.ADMIN)
    async with serving(settings) as client:
        client.headers["Authorization"] = f"Bearer {ours}"
        job_id = (await scan(client, "bakery.example"))["job_id"]
        unknown = await client.get(f"/api/v3/jobs/{uuid4()}/events")
        client.headers["Authorization"] = f"Bearer {theirs}"
        foreign = await client.get(f"/api/v3/jobs/{job_id}/events")
        client.headers.pop("Authorization")
        unsigned = await client.get(f"/api/v3/jobs/{job_id}/events")

    assert [each.status_code for each in (unknown, foreign, unsigned)] == [404, 404, 401]


async def test_all_who_watch_are_served_by_one_look(
    client: httpx.AsyncClient, database: Database
) -> None:
    jobs = [UUID((await scan(client, f"site{number}.example"))["job_id"]) for number in range(3)]
    watch = JobWatch(database, every_seconds=600)
    executed: list[str] = []
    event.listen(
        database.engine.sync_engine,
        "before_cursor_execute",
        lambda *args: executed.append(args[2]),
    )
    async with AsyncExitStack() as stack:
        watchers = [
            await stack.enter_async_context(watch.subscribe(jobs[number % 3]))
            for number in range(60)
        ]
        told = await asyncio.gather(
            *(each.wait_for_change(seconds=PATIENCE_SECONDS) for each in watchers)
        )

    assert all(told)
    assert [each.newest.status for each in watchers if each.newest] == ["pending"] * 60
    assert len([each for each in executed if "jobs" in each]) == 2


@dataclass
class StuckClient:
    """A connection that takes a few parts and then nothing more."""

    takes: int
    sent: list[Message] = field(default_factory=list)
    dropped: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, message: Message) -> None:
        self.sent.append(message)
        if len(self.sent) > self.takes:
            await asyncio.Future()

    async def receive(self) -> Message:
        await self.dropped.wait()
        return {"type": "http.disconnect"}

    def scope(self) -> dict[str, Any]:
        return {"type": "http", "extensions": {ABORT_EXTENSION: self.dropped.set}}


async def test_a_client_that_never_reads_is_dropped_and_disturbs_nobody(
    client: httpx.AsyncClient, url: str, database: Database
) -> None:
    job_id = (await scan(client, "bakery.example"))["job_id"]
    settings = make_settings(url, events_patience_seconds=0.2, events_heartbeat_seconds=5)
    watch = JobWatch(database, every_seconds=0.02)
    stuck = StuckClient(takes=2)

    async def still_allowed() -> bool:
        return True

    stream = stream_job_events(
        watch,
        UUID(job_id),
        after=None,
        settings=settings,
        stopping=asyncio.Event(),
        still_allowed=still_allowed,
    )
    async with watch.subscribe(UUID(job_id)) as other:
        dropping = asyncio.create_task(stream(stuck.scope(), stuck.receive, stuck.send))
        for percent in range(1, 30):
            await change(database, job_id, progress=percent / 100)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await dropping
            while other.newest is None or '"progress":0.29' not in other.newest.text:
                await other.wait_for_change(seconds=1)

    assert stuck.dropped.is_set()
    # The start, the greeting, the one event it hung on, and the attempt to say goodbye.
    assert len(stuck.sent) == 4
