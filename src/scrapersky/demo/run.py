"""Take the town through the real queue and tell what came of it; leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from time import monotonic

from rich.console import Console

from scrapersky.accounts.service import system_actor
from scrapersky.db.opening import open_database
from scrapersky.db.session import Database
from scrapersky.demo import report
from scrapersky.demo.display import display, quiet_logs
from scrapersky.demo.interruption import cancelled_by_signals
from scrapersky.demo.place import own_settings
from scrapersky.demo.results import Result, read_results
from scrapersky.demo.site import TownSite
from scrapersky.demo.town import Town
from scrapersky.demo.watching import watch
from scrapersky.domains.intake import HAND_IN
from scrapersky.harvest import catching_up
from scrapersky.http.intake import Given, take
from scrapersky.http.intake.taking import Asker
from scrapersky.pipeline.scheduler import running_scheduler
from scrapersky.settings import Settings
from scrapersky.stages import CHORES, STAGES

OUR_CHORES = tuple(
    replace(each, every=timedelta(seconds=1)) if each is catching_up.LEADS else each
    for each in CHORES
)
"""What is done once a minute for those who are given up is done while people watch."""


Stay = Callable[[Settings], Awaitable[None]]
"""What to do with the town once everything is told, until it ends; with the demo's settings."""


async def run_demo(settings: Settings, console: Console, stay: Stay | None = None) -> int:
    """0 when every site ended as the town expects it, 1 when not, 130 when interrupted."""
    demo = asyncio.create_task(_demo(settings, console, stay), name="demo")
    with cancelled_by_signals(demo) as caught:
        try:
            return await demo
        except asyncio.CancelledError:
            if not caught:
                raise
            console.print("Interrupted; everything was stopped and removed.")
            return 128 + caught[0]


async def _demo(settings: Settings, console: Console, stay: Stay | None) -> int:
    began = monotonic()

    def tell(results: list[Result]) -> int:
        report.tell(console, results)
        return report.conclude(console, results, seconds=monotonic() - began)

    with quiet_logs(wanted=settings.log_level == "debug"):
        async with _town_at_work(settings, console) as (results, ours):
            if stay is not None:
                ended = tell(results)
                await stay(ours)
                return ended
    return tell(results)


@asynccontextmanager
async def _town_at_work(
    settings: Settings, console: Console
) -> AsyncIterator[tuple[list[Result], Settings]]:
    """What came of every site; the town and those who work it stay for as long as the block."""
    async with Town() as town:
        report.introduce(console, town.sites)
        with own_settings(settings, town) as ours:
            console.print("Starting a PostgreSQL of its own in a temporary folder.")
            async with (
                open_database(ours) as database,
                running_scheduler(database, ours, STAGES, OUR_CHORES),
            ):
                await hand_in(database, ours, town.sites)
                with display(console) as show:
                    await watch(database, show)
                yield await read_results(database, town.sites), ours


async def hand_in(database: Database, settings: Settings, sites: Sequence[TownSite]) -> None:
    """The names of the sites, as anybody hands in a list; all the rest is the stages' work."""
    given = [Given(line, site.name) for line, site in enumerate(sites, start=1)]
    async with database.transaction() as session:
        actor = await system_actor(session, settings)
        await take(Asker(session, actor, settings, queue=True), HAND_IN, given)
