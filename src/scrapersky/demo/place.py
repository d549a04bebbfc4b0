"""A place of the demo's own: its settings and its database, gone afterwards."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from scrapersky.db.opening import embedded, open_database
from scrapersky.db.session import Database
from scrapersky.demo.town import Town
from scrapersky.pipeline.engine import Engine
from scrapersky.pipeline.hosts import HostGate
from scrapersky.pipeline.scheduler import Scheduler
from scrapersky.pipeline.wake import Wakeups
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.scraper.fetch import Fetcher
from scrapersky.settings import Settings, SettingsSource, load_settings
from scrapersky.stages import CHORES, STAGES

T = TypeVar("T")

PACE = {"SITEMAP_SCHEDULER_MAX_ATTEMPTS": "2", "SITEMAP_SCHEDULER_CONCURRENCY": "16"}
"""The site that does not answer is given up while people watch, and nobody waits for a place."""


@contextmanager
def own_settings(settings: Settings, town: Town) -> Iterator[Settings]:
    """Settings for a temporary folder; its database is removed with it.

    The demo shows the program as it comes, so of the person's settings only those stay that
    say how this machine runs PostgreSQL.
    """
    folder = Path(tempfile.mkdtemp(prefix="scrapersky-demo-"))
    # Root's server runs as another user, who passes through here to its cluster.
    folder.chmod(0o711)
    ours = load_settings(
        SettingsSource(environ={**town.environment(), **PACE}, env_file=None),
        scrapersky_data_dir=folder / "data",
        scrapersky_pg_bin=settings.scrapersky_pg_bin,
        retry_base_seconds=0.5,
        shutdown_grace_seconds=0.5,
    )
    try:
        yield ours
    finally:
        embedded(ours).destroy()
        shutil.rmtree(folder)


@asynccontextmanager
async def own_database(settings: Settings) -> AsyncIterator[Database]:
    async with AsyncExitStack() as stack:
        yield await _unhurried(stack.enter_async_context(open_database(settings)))


async def _unhurried(work: Coroutine[Any, Any, T]) -> T:
    """Interrupted or not, do it to its end: a server half started would be left running."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


@asynccontextmanager
async def own_worker(database: Database, settings: Settings) -> AsyncIterator[None]:
    """Every stage and chore at work in this process, until the block ends."""
    worker, wakeups = WorkerIdentity(), Wakeups(database)
    gate = HostGate(database, settings, worker_id=worker.id)
    async with AsyncExitStack() as stack:
        fetch = await stack.enter_async_context(Fetcher.from_settings(settings, gate=gate))
        stack.push_async_callback(wakeups.close)
        engine = Engine(database, settings, STAGES, wakeups=wakeups, fetch=fetch, worker=worker)
        scheduler = Scheduler(engine, CHORES)
        await scheduler.start()
        stack.push_async_callback(scheduler.stop)
        yield
