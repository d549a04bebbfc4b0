"""Run the demo: process the town in a temporary database and report the outcome."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from rich.console import Console

from scrapersky.db.connection import build_embedded_postgres, open_database
from scrapersky.db.session import Database
from scrapersky.demo import report
from scrapersky.demo.display import open_display, silence_logs
from scrapersky.demo.progress import watch_progress
from scrapersky.demo.results import DemoOutcome, load_findings, load_results
from scrapersky.demo.search import (
    SEARCH_TERM,
    TOWN_NAME,
    SearchOutcome,
    build_area,
    build_places,
    start_search,
    wait_until_ended,
)
from scrapersky.demo.town import Town
from scrapersky.leads import backfill, completion
from scrapersky.pipeline.scheduler import run_scheduler
from scrapersky.settings import Settings, SettingsSource, load_settings
from scrapersky.stages import CHORES, STAGES
from scrapersky.testing import PlacesProvider

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def cancel_on_signals(task: asyncio.Task[Any]) -> Iterator[list[signal.Signals]]:
    """Cancel the task on the first signal.

    Later signals are recorded and ignored, so that they cannot interrupt the cleanup.
    """
    caught: list[signal.Signals] = []

    def catch(number: signal.Signals) -> None:
        if not caught:
            task.cancel()
        caught.append(number)

    loop = asyncio.get_running_loop()
    before = {each: signal.getsignal(each) for each in SIGNALS}
    for each in SIGNALS:
        loop.add_signal_handler(each, catch, each)
    try:
        yield caught
    finally:
        for each, handler in before.items():
            loop.remove_signal_handler(each)
            signal.signal(each, handler)


T = TypeVar("T")

DEMO_PACE = {
    "DOMAIN_SCHEDULER_MAX_ATTEMPTS": "2",
    "SITEMAP_SCHEDULER_MAX_ATTEMPTS": "2",
    "SITEMAP_SCHEDULER_CONCURRENCY": "24",
    "SITEMAP_IMPORT_SCHEDULER_CONCURRENCY": "8",
}
"""Settings for a short demo.

The site that does not answer fails while the user is watching, and no site waits for a free worker
slot.
"""


@contextmanager
def temporary_settings(settings: Settings, environ: Mapping[str, str]) -> Iterator[Settings]:
    """Yield settings for a database in a temporary folder, and delete both on exit.

    `environ` contains the variables that direct fetches to the town. The demo uses the default
    settings. Of the user's settings it keeps only the path of the PostgreSQL binaries.
    """
    folder = Path(tempfile.mkdtemp(prefix="scrapersky-demo-"))
    # When run as root, PostgreSQL runs as another user, who needs to traverse this folder.
    folder.chmod(0o711)
    ours = load_settings(
        SettingsSource(environ={**environ, **DEMO_PACE}, env_file=None),
        scrapersky_data_dir=folder / "data",
        scrapersky_pg_bin=settings.scrapersky_pg_bin,
        retry_base_seconds=1,
        worker_dead_after_seconds=60,  # no other worker could take over from a slow machine
        shutdown_grace_seconds=0.5,
    )
    try:
        yield ours
    finally:
        build_embedded_postgres(ours).destroy()
        shutil.rmtree(folder)


FAST_CHORES = (backfill.REFRESH_LEADS_CHORE, completion.CHORE)
DEMO_CHORES = tuple(
    replace(each, every=timedelta(seconds=1)) if each in FAST_CHORES else each for each in CHORES
)
"""Chores of the demo. The ones that normally run every minute to complete leads of failed sites run
every second.
"""


StayOpen = Callable[[Settings], Awaitable[None]]
"""Callback that keeps the town open after the report. It is called with the demo's settings."""


async def run_demo(settings: Settings, console: Console, stay: StayOpen | None = None) -> int:
    """Run the demo and return its exit code.

    The code is 0 if every site finished as expected, 1 if not, and 128 plus the signal number if
    interrupted (130 for Ctrl-C).
    """
    demo = asyncio.create_task(_run(settings, console, stay), name="demo")
    with cancel_on_signals(demo) as caught:
        try:
            return await demo
        except asyncio.CancelledError:
            if not caught:
                raise
            console.print("Interrupted. Everything was stopped and removed.")
            return 128 + caught[0]


async def _run(settings: Settings, console: Console, stay: StayOpen | None) -> int:
    began = monotonic()

    def tell(outcome: DemoOutcome) -> int:
        report.print_report(console, outcome)
        return report.print_conclusion(console, outcome, seconds=monotonic() - began)

    with silence_logs(enabled=settings.log_level == "debug"):
        async with _run_town(settings, console) as (outcome, ours):
            if stay is not None:
                ended = tell(outcome)
                await stay(ours)
                return ended
    return tell(outcome)


@asynccontextmanager
async def _run_town(
    settings: Settings, console: Console
) -> AsyncIterator[tuple[DemoOutcome, Settings]]:
    """Process the town and yield the outcome.

    The town, the provider, the database and the workers keep running until the block exits.
    """
    async with Town() as town, PlacesProvider(build_places(town.sites), [build_area()]) as provider:
        report.print_introduction(console, town.sites)
        environ = {**provider.environment(), **town.environment()}
        with temporary_settings(settings, environ) as ours:
            console.print("Starting a temporary PostgreSQL.")
            async with (
                open_database(ours) as database,
                run_scheduler(database, ours, STAGES, DEMO_CHORES),
            ):
                search = await _start_search(database, ours, console)
                with open_display(console) as show:
                    await watch_progress(database, show)
                sites = await load_results(database, town.sites)
                findings = await load_findings(database, search, provider.bill)
                yield DemoOutcome(sites, findings), ours


async def _start_search(database: Database, settings: Settings, console: Console) -> SearchOutcome:
    console.print(f"Searching for {SEARCH_TERM} in {TOWN_NAME} (local fake provider).")
    search = await wait_until_ended(database, await start_search(database, settings))
    console.print(report.describe_search(search), highlight=False, soft_wrap=True)
    return search
