"""Workers on several machines against one server; one of them is cut off and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web as aiohttp_web
from sqlalchemy import func, select

from scrapersky.auth.service import get_system_actor
from scrapersky.db.embedded import ServerAddress
from scrapersky.db.session import Database
from scrapersky.models import Job, Page, SitemapFile, SitemapUrl
from scrapersky.pipeline.tables import EventKind, StageEvent, Worker
from scrapersky.pipeline.wake import Wakeups
from scrapersky.settings import Settings
from scrapersky.sitemaps.service import request_scan
from tests.conftest import make_settings
from tests.fake_web import FakeWeb, index, urlset
from tests.processes import HASTY, Program, running
from tests.scale.cables import Cable, cable, plugged_in

SITES, CHILDREN, PAGES = 12, 3, 30
MACHINES = 2


@dataclass
class Machine:
    """A worker at the far end of a cable."""

    cable: Cable
    program: Program


def build_sites(web: FakeWeb, names: list[str], answers: asyncio.Event) -> None:
    """Their sitemaps are answered only while `answers` is set: until then work is under way."""
    for name in names:
        base = f"http://{name}"
        host = web.host(name)
        host.robots(f"Sitemap: {base}/index.xml\n")
        host.xml("/index.xml", index(*(f"{base}/{child}.xml" for child in range(CHILDREN))))
        for child in range(CHILDREN):
            host.route(
                f"/{child}.xml",
                _once(answers, urlset(*(f"{base}/{child}/{n}" for n in range(PAGES)))),
            )


def _once(answers: asyncio.Event, body: str):  # type: ignore[no-untyped-def]
    async def answer(_: aiohttp_web.BaseRequest) -> aiohttp_web.StreamResponse:
        await answers.wait()
        return aiohttp_web.Response(body=body.encode(), content_type="application/xml")

    return answer


@asynccontextmanager
async def machines(
    server: ServerAddress, database: Database, web: FakeWeb, logs: Path
) -> AsyncIterator[list[Machine]]:
    async with AsyncExitStack() as stack:
        made = []
        socket = f"{server.socket_dir}/.s.PGSQL.{server.port}"
        for number in range(MACHINES):
            far = await stack.enter_async_context(cable(number))
            to_database, to_web = await stack.enter_async_context(
                plugged_in(
                    far,
                    lambda: asyncio.open_unix_connection(socket),
                    lambda: asyncio.open_connection("127.0.0.1", web.port),
                )
            )
            names = ",".join(f"{name}={far.address}:{to_web}" for name in web.hosts)
            environ = {
                **HASTY,
                "DATABASE_URL": f"postgresql://{server.user}@{far.address}:{to_database}"
                f"/{database.url.database}",
                "FETCH_ALLOW_NETWORKS": f"{far.address}/32",
                "FETCH_RESOLVE": names,
                "FETCH_TIMEOUT_SECONDS": "60",
                "SITEMAP_SCHEDULER_CONCURRENCY": "2",
                "SITEMAP_SCHEDULER_MAX_ATTEMPTS": "50",
                "SITEMAP_SCHEDULER_TIMEOUT_SECONDS": "90",
            }
            program = running(
                "worker", environ=environ, log=logs / f"machine{number}.log", prefix=far.prefix
            )
            made.append(Machine(far, await stack.enter_async_context(program)))
        yield made


async def until(condition, seconds: float = 300) -> None:  # type: ignore[no-untyped-def]
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.1)


async def ask_for_scans(database: Database, settings: Settings, names: list[str]) -> None:
    """As the API does, which tells the machines of each."""
    wakeups = Wakeups(database)
    for name in names:
        async with database.transaction() as session:
            actor = await get_system_actor(session, settings)
            await request_scan(session, actor, settings, name, None)
    await wakeups.close()


async def test_a_machine_that_is_cut_off_loses_nothing_and_works_again_when_it_is_back(
    server: ServerAddress, url: str, database: Database, tmp_path: Path
) -> None:
    names = [f"site{number}.example" for number in range(SITES)]
    answers = asyncio.Event()
    async with FakeWeb() as web:
        build_sites(web, names, answers)
        settings = make_settings(url, fetch_resolve=web.resolve)
        async with machines(server, database, web, tmp_path) as crew:
            await until(lambda: _beating(database, MACHINES))
            await ask_for_scans(database, settings, names)
            await until(lambda: _holding(database, MACHINES))

            crew[0].cable.cut()
            await until(lambda: _rescued(database))
            crew[0].cable.heal()
            answers.set()

            await until(lambda: _all_complete(database))
            await until(lambda: _beating(database, MACHINES))
            await until(lambda: _all_imported(database))
            answers.clear()
            await ask_for_scans(database, settings, names)
            await until(lambda: _holding(database, MACHINES))
            answers.set()
            await until(lambda: _all_complete(database))
    await _check(database)


async def _beating(database: Database, count: int) -> bool:
    async with database.reading() as session:
        lately = func.now() - func.make_interval(0, 0, 0, 0, 0, 0, 2)
        alive = select(func.count()).where(Worker.beat_at > lately)
        return await session.scalar(alive) == count


async def _holding(database: Database, count: int) -> bool:
    """Every machine has a row in its hands."""
    async with database.reading() as session:
        holders = select(func.count(Job.worker_id.distinct())).where(Job.status == "processing")
        return await session.scalar(holders) == count


async def _rescued(database: Database) -> bool:
    async with database.reading() as session:
        rescued = select(func.count()).where(StageEvent.kind == EventKind.RESCUED)
        return bool(await session.scalar(rescued))


async def _all_complete(database: Database) -> bool:
    async with database.reading() as session:
        return set(await session.scalars(select(Job.status))) == {"complete"}


async def _all_imported(database: Database) -> bool:
    async with database.reading() as session:
        waiting = SitemapFile.sitemap_import_status.in_(["Queued", "Processing"])
        return not await session.scalar(select(func.count()).where(waiting))


async def _check(database: Database) -> None:
    added = func.sum(Job.result_data["changes"]["added"].as_integer())
    async with database.reading() as session:
        urls = await session.scalar(select(func.count()).select_from(SitemapUrl))
        pages = await session.scalar(select(func.count()).select_from(Page))
        new = set(await session.scalars(select(added).group_by(Job.domain_id)))
    assert urls == pages == SITES * CHILDREN * PAGES
    assert new == {CHILDREN * PAGES}
