"""Workers killed and frozen, PostgreSQL crashed, while scans run: nothing lost, nothing twice."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web as aiohttp_web
from sqlalchemy import func, select, text
from tests.conftest import make_settings
from tests.fake_web import FakeWeb, index, urlset
from tests.processes import HASTY, Program, running

from scrapersky.accounts.service import system_actor
from scrapersky.db.embedded import EmbeddedPostgres, ServerAddress
from scrapersky.db.migrate import upgrade
from scrapersky.db.session import Database
from scrapersky.models import Domain, Job, SitemapFile, SitemapUrl
from scrapersky.pipeline.tables import DeadLetter, StageEvent
from scrapersky.sitemaps.service import request_scan

SITES, CHILDREN, PAGES = 24, 4, 50
WORKERS = 3
SECONDS = float(os.environ.get("CHAOS_SECONDS", "20"))
SEED = int(os.environ.get("CHAOS_SEED", random.randrange(10**6)))


@pytest.fixture
def own_server() -> Iterator[tuple[EmbeddedPostgres, ServerAddress]]:
    """A server that may be crashed without disturbing other tests."""
    folder = Path(tempfile.mkdtemp(prefix="scrapersky-chaos-"))
    folder.chmod(0o711)
    postgres = EmbeddedPostgres(folder / "data")
    address = postgres.acquire()
    yield postgres, address
    postgres.release()
    postgres.destroy()
    shutil.rmtree(folder, ignore_errors=True)


def build_sites(web: FakeWeb) -> list[str]:
    """Sites whose sitemaps take their time, so that something is always under way."""
    names = [f"site{number}.example" for number in range(SITES)]
    for name in names:
        base = f"http://{name}"
        host = web.host(name)
        host.robots(f"Sitemap: {base}/index.xml\n")
        host.xml("/index.xml", index(*(f"{base}/{child}.xml" for child in range(CHILDREN))))
        for child in range(CHILDREN):
            pages = urlset(*(f"{base}/{child}/{page}" for page in range(PAGES)))
            host.route(f"/{child}.xml", _slowly(pages))
    return names


def _slowly(body: str):  # type: ignore[no-untyped-def]
    async def answer(_: aiohttp_web.BaseRequest) -> aiohttp_web.StreamResponse:
        await asyncio.sleep(random.uniform(0.1, 1.0))
        return aiohttp_web.Response(body=body.encode(), content_type="application/xml")

    return answer


class Crew:
    """Workers that are replaced when they are killed."""

    def __init__(self, environ: dict[str, str], logs: Path) -> None:
        self._environ, self._logs = environ, logs
        self._stack = AsyncExitStack()
        self._hired = 0
        self.at_work: list[Program] = []

    async def __aenter__(self) -> Crew:
        for _ in range(WORKERS):
            await self.hire()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def hire(self) -> None:
        self._hired += 1
        log = self._logs / f"worker{self._hired}.log"
        program = running("worker", environ=self._environ, log=log)
        self.at_work.append(await self._stack.enter_async_context(program))

    async def kill_one(self) -> None:
        victim = self.at_work.pop(random.randrange(len(self.at_work)))
        victim.send(signal.SIGKILL)
        await self.hire()

    async def freeze_one(self) -> None:
        victim = random.choice(self.at_work)
        victim.send(signal.SIGSTOP)
        await asyncio.sleep(3)  # past the time after which it counts as dead
        victim.send(signal.SIGCONT)


async def crash_database(postgres: EmbeddedPostgres, database: Database) -> None:
    """What `pg_ctl restart -m immediate` does: no farewell, and recovery at the next start."""
    async with database.reading() as session:
        data = Path(str(await session.scalar(text("SHOW data_directory"))))
    pid = int((data / "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGQUIT)
    await asyncio.to_thread(postgres.revive)


@asynccontextmanager
async def opened(address: ServerAddress) -> AsyncIterator[Database]:
    database = Database(address.url, pool_size=5)
    await upgrade(database)
    yield database
    await database.close()


async def ask_for_scans(database: Database, settings: object, names: list[str]) -> None:
    for name in names:
        async with database.transaction() as session:
            actor = await system_actor(session, settings)  # type: ignore[arg-type]
            await request_scan(session, actor, settings, name, None)  # type: ignore[arg-type]


async def statuses(database: Database) -> dict[str, int]:
    async with database.reading() as session:
        found = await session.execute(select(Job.status, func.count()).group_by(Job.status))
        return {status: count for status, count in found}  # noqa: C416


async def all_ended(database: Database) -> None:
    async with asyncio.timeout(120):
        while True:
            try:
                if set(await statuses(database)) <= {"complete", "failed", "cancelled"}:
                    return
            except Exception:
                pass
            await asyncio.sleep(0.2)


async def test_every_job_ends_and_every_url_is_stored_once_whatever_crashes(
    own_server: tuple[EmbeddedPostgres, ServerAddress], tmp_path: Path
) -> None:
    postgres, address = own_server
    random.seed(SEED)
    async with FakeWeb() as web, opened(address) as database:
        names = build_sites(web)
        settings = make_settings(address.url, fetch_resolve=web.resolve)
        environ = {
            **HASTY,
            **web.environ,
            "DATABASE_URL": address.url,
            "SITEMAP_SCHEDULER_CONCURRENCY": "2",
            "SITEMAP_SCHEDULER_MAX_ATTEMPTS": "100",
            "LOG_LEVEL": "error",
        }
        await ask_for_scans(database, settings, names)
        async with Crew(environ, tmp_path) as crew:
            await _mischief(crew, postgres, database)
            await all_ended(database)
        await _check(database, names)


async def _mischief(crew: Crew, postgres: EmbeddedPostgres, database: Database) -> None:
    """Each kind at least once, then at random until the time is up or the work is done."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + SECONDS
    acts: list[Callable[[], Awaitable[None]]] = [
        crew.kill_one,
        crew.freeze_one,
        lambda: crash_database(postgres, database),
    ]
    await asyncio.sleep(3)
    for act in acts:
        await act()
        await asyncio.sleep(random.uniform(0.5, 1.5))
    while loop.time() < ends_at:
        await random.choice(acts)()
        await asyncio.sleep(random.uniform(0.5, 2))


async def _check(database: Database, names: list[str]) -> None:
    note = f"seed {SEED}"
    async with database.reading() as session:
        rescued = await session.scalar(select(func.count()).where(StageEvent.kind == "rescued"))
        urls = await session.scalar(select(func.count()).select_from(SitemapUrl))
        distinct = await session.scalar(select(func.count(SitemapUrl.url.distinct())))
        files = await session.scalar(select(func.count()).select_from(SitemapFile))
        letters = await session.scalar(select(func.count()).select_from(DeadLetter))
        per_domain = set(await session.scalars(select(Domain.sitemap_urls)))

    assert await statuses(database) == {"complete": len(names)}, note
    assert urls == distinct == SITES * CHILDREN * PAGES, note
    assert files == SITES * (CHILDREN + 1), note
    assert per_domain == {CHILDREN * PAGES}, note
    assert letters == 0, note
    assert rescued, f"{note}: nobody was killed in the middle of anything"
