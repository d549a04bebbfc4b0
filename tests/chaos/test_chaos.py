"""Everything goes wrong at once while scans run: nothing is lost, nothing is done twice.

`make chaos MINUTES=20` runs it for longer; `CHAOS_SEED` repeats a schedule.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import func, select
from tests.chaos.clients import Clients
from tests.chaos.mischief import Crew, Mischief
from tests.chaos.sites import CHILDREN, HOST_LIMIT, URLS, Site, build_sites
from tests.fake_web import FakeWeb
from tests.processes import HASTY, free_port

from scrapersky.db.embedded import EmbeddedPostgres, ServerAddress
from scrapersky.db.migrate import upgrade
from scrapersky.db.session import Database
from scrapersky.models import Domain, Job, Page, SitemapFile, SitemapUrl
from scrapersky.pipeline.tables import HostSlot, StageEvent
from scrapersky.stages import STAGES

SITES = 24
CLIENTS = 3
SECONDS = float(os.environ.get("CHAOS_SECONDS", "25"))
SEED = int(os.environ.get("CHAOS_SEED") or random.randrange(10**6))
PATIENCE_SECONDS = 150


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


@asynccontextmanager
async def opened(address: ServerAddress) -> AsyncIterator[Database]:
    database = Database(address.url, pool_size=5)
    await upgrade(database)
    yield database
    await database.close()


@pytest.mark.timeout(SECONDS + PATIENCE_SECONDS + 300)
async def test_every_accepted_request_ends_and_every_effect_happens_once_whatever_crashes(
    own_server: tuple[EmbeddedPostgres, ServerAddress], tmp_path: Path
) -> None:
    postgres, address = own_server
    trouble = asyncio.Event()
    trouble.set()
    async with FakeWeb() as web, opened(address) as database:
        sites = build_sites(web, SITES, random.Random(SEED), faulty=trouble.is_set)
        environ = _environ(address, web)
        rng = random.Random(SEED)
        async with Crew(environ, tmp_path, port=free_port(), rng=rng) as crew:
            clients = Clients(crew.client, [each.host.name for each in sites], random.Random(SEED))
            mischief = Mischief(crew, postgres, database, rng)
            async with asyncio.TaskGroup() as group:
                for _ in range(CLIENTS):
                    group.create_task(clients.keep_asking())
                await mischief.go_on_for(SECONDS)
                clients.stop.set()
            trouble.clear()
            for each in sites:
                await clients.ask(each.host.name)
            await clients.make_all_end(seconds=PATIENCE_SECONDS)
            await _nothing_left(database)
        said = _told(mischief, clients, sites)
        await _check(database, clients.accepted, said)
        _check_politeness(sites, said)


def _environ(address: ServerAddress, web: FakeWeb) -> dict[str, str]:
    return {
        **HASTY,
        **web.environ,
        "DATABASE_URL": address.url,
        "SITEMAP_SCHEDULER_CONCURRENCY": "4",
        "SITEMAP_SCHEDULER_MAX_ATTEMPTS": "8",
        "HOST_CONCURRENCY": str(HOST_LIMIT),
        "LOG_LEVEL": "error",
    }


def _told(mischief: Mischief, clients: Clients, sites: Sequence[Site]) -> str:
    acts = ", ".join(f"{name} {count}×" for name, count in sorted(mischief.done.items()))
    asked = sum(each.asked for each in sites)
    said = (
        f"seed {SEED}: {acts}; {len(clients.accepted)} jobs accepted, "
        f"{clients.unanswered} requests asked again, {asked} requests at the sites"
    )
    print(f"\n{said}", flush=True)  # noqa: T201 (the long run's figures)
    return said


async def _check(database: Database, accepted: set[UUID], said: str) -> None:
    async with database.reading() as session:
        found = await session.execute(select(Job.id, Job.status))
        statuses = {job_id: status for job_id, status in found}  # noqa: C416
        rescued = await session.scalar(select(func.count()).where(StageEvent.kind == "rescued"))
    assert accepted <= set(statuses), said
    assert set(statuses.values()) == {"complete"}, said
    assert rescued, f"{said}: nobody was killed in the middle of anything"
    await _check_effects(database, said)


async def _check_effects(database: Database, said: str) -> None:
    """Each URL is stored once, is counted as new once over all scans, and is one page."""
    added = func.sum(Job.result_data["changes"]["added"].as_integer())
    async with database.reading() as session:
        urls = await session.scalar(select(func.count()).select_from(SitemapUrl))
        distinct = await session.scalar(select(func.count(SitemapUrl.url.distinct())))
        files = await session.scalar(select(func.count()).select_from(SitemapFile))
        pages = await session.scalar(select(func.count()).select_from(Page))
        per_domain = set(await session.scalars(select(Domain.sitemap_urls)))
        new = set(await session.scalars(select(added).group_by(Job.domain_id)))
    assert urls == distinct == pages == SITES * URLS, said
    assert files == SITES * (CHILDREN + 1), said
    assert per_domain == {URLS}, said
    assert new == {URLS}, said


async def _nothing_left(database: Database) -> None:
    """No stage has anything queued or in work, and no host a request that nobody waits for.

    A slot that could not be given back while the database was away lasts until it expires."""
    async with asyncio.timeout(150):
        while await _unfinished(database):
            await asyncio.sleep(0.2)


async def _unfinished(database: Database) -> int:
    async with database.reading() as session:
        count = int(await session.scalar(select(func.count()).select_from(HostSlot)) or 0)
        for stage in STAGES:
            words = (stage.words.queued, stage.words.processing)
            held = select(func.count()).where(stage.queue.status.in_(words))
            count += int(await session.scalar(held) or 0)
    return count


def _check_politeness(sites: Sequence[Site], said: str) -> None:
    assert max(each.most_at_once for each in sites) <= HOST_LIMIT, said
