"""Event streams end soon after their client loses access."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx
import pytest
from sqlalchemy import func, update

from scrapersky.db.session import Database
from scrapersky.http import event_stream
from scrapersky.models import ApiKey, Job, Role, User, UserSession
from scrapersky.settings import Settings
from tests.app import scan, serving
from tests.auth.accounts import add_key, asking, signed_in_settings
from tests.auth.dashboard_clients import add_person, sign_in

DEADLINE_SECONDS = 60
LIVE = "/live/overview"


@pytest.fixture
def settings(url: str) -> Settings:
    return signed_in_settings(url, events_poll_seconds=0.05, events_heartbeat_seconds=0.1)


@pytest.fixture(autouse=True)
def _rechecked_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "RECHECK_SECONDS", 0.05)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not holds():
            await asyncio.sleep(0.01)


class Checks:
    """Counts how often a stream asked whether its reader may still look."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        real = event_stream.EventStream._wait_until_refused

        async def counted(stream: event_stream.EventStream) -> None:
            ask = stream._still_allowed

            async def still_allowed() -> bool:
                self.count += 1
                return await ask()

            stream._still_allowed = still_allowed
            await real(stream)

        monkeypatch.setattr(event_stream.EventStream, "_wait_until_refused", counted)

    async def some(self) -> None:
        before = self.count
        await until(lambda: self.count >= before + 3)


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Checks:
    return Checks(monkeypatch)


async def ended(stream: asyncio.Task[httpx.Response]) -> httpx.Response:
    async with asyncio.timeout(DEADLINE_SECONDS):
        return await stream


async def test_a_revoked_key_loses_a_jobs_events(
    settings: Settings, database: Database, checks: Checks
) -> None:
    key_id, secret = await add_key(database, role=Role.CURATOR)
    async with asking(settings, secret) as client:
        job_id = (await scan(client, "example.com"))["job_id"]
        path = f"/api/v3/jobs/{job_id}/events"
        stream = asyncio.create_task(client.get(path))
        await checks.some()
        assert not stream.done()
        async with database.transaction() as session:
            revoked = update(ApiKey).where(ApiKey.id == key_id).values(revoked_at=func.now())
            await session.execute(revoked)
        answer = await ended(stream)
        again = await client.get(path)

    assert answer.status_code == 200
    assert "event: job" in answer.text
    assert "event: end" not in answer.text, "the job has not ended, so the stream may not say so"
    assert again.status_code == 401


@pytest.mark.parametrize(
    "ending",
    [
        update(UserSession).values(ended_at=func.now()),
        update(UserSession).values(expires_at=func.now()),
        update(User).where(User.name == "alice").values(deactivated_at=func.now()),
    ],
    ids=["signed out", "expired", "deactivated"],
)
@pytest.mark.parametrize("live", [True, False])
async def test_an_ended_session_loses_its_streams(
    settings: Settings, database: Database, checks: Checks, ending: object, live: bool
) -> None:
    await add_person(database, "alice")
    async with serving(settings) as client:
        await sign_in(client)
        job_id = (await scan(client, "example.com"))["job_id"]
        path = LIVE if live else f"/api/v3/jobs/{job_id}/events"
        stream = asyncio.create_task(client.get(path, headers={"Accept": "text/event-stream"}))
        await checks.some()
        assert not stream.done()
        async with database.transaction() as session:
            await session.execute(ending)  # type: ignore[call-overload]
        answer = await ended(stream)

    assert answer.status_code == 200


async def test_a_reader_who_keeps_access_keeps_the_stream(
    settings: Settings, database: Database, checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while the database cannot be asked."""
    _, secret = await add_key(database, role=Role.CURATOR)
    async with asking(settings, secret) as client:
        job_id = (await scan(client, "example.com"))["job_id"]
        stream = asyncio.create_task(client.get(f"/api/v3/jobs/{job_id}/events"))
        await checks.some()
        with monkeypatch.context() as patch:

            async def away(*_: object, **__: object) -> None:
                raise OSError("away")

            patch.setattr("scrapersky.http.auth.authenticate_key", away)
            await checks.some()
        assert not stream.done()
        async with database.transaction() as session:
            await session.execute(update(Job).values(status="complete"))
        answer = await ended(stream)

    assert "event: end\ndata: complete" in answer.text
