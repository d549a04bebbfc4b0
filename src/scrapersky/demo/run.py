"""Take the town through the real queue and tell what came of it; leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from time import monotonic

from rich.console import Console

from scrapersky.db.opening import open_database
from scrapersky.db.session import Database
from scrapersky.demo import report
from scrapersky.demo.beginning import Begun, begin, until_begun
from scrapersky.demo.display import display, quiet_logs
from scrapersky.demo.found import Outcome, read_found
from scrapersky.demo.interruption import cancelled_by_signals
from scrapersky.demo.place import own_settings
from scrapersky.demo.provider import PlacesProvider
from scrapersky.demo.register import LOOKED_FOR, TOWN, area, places_of
from scrapersky.demo.results import read_results
from scrapersky.demo.town import Town
from scrapersky.demo.watching import watch
from scrapersky.harvest import catching_up, completing
from scrapersky.pipeline.scheduler import running_scheduler
from scrapersky.settings import Settings
from scrapersky.stages import CHORES, STAGES

HASTY = (catching_up.LEADS, completing.CHORE)
OUR_CHORES = tuple(
    replace(each, every=timedelta(seconds=1)) if each in HASTY else each for each in CHORES
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

    def tell(outcome: Outcome) -> int:
        report.tell(console, outcome)
        return report.conclude(console, outcome, seconds=monotonic() - began)

    with quiet_logs(wanted=settings.log_level == "debug"):
        async with _town_at_work(settings, console) as (outcome, ours):
            if stay is not None:
                ended = tell(outcome)
                await stay(ours)
                return ended
    return tell(outcome)


@asynccontextmanager
async def _town_at_work(
    settings: Settings, console: Console
) -> AsyncIterator[tuple[Outcome, Settings]]:
    """What came of the search and of every site; the town and those who work it stay for as long as
    the block."""
    async with Town() as town, PlacesProvider(places_of(town.sites), [area()]) as provider:
        report.introduce(console, town.sites)
        environ = {**provider.environment(), **town.environment()}
        with own_settings(settings, environ) as ours:
            console.print("Starting a PostgreSQL of its own in a temporary folder.")
            async with (
                open_database(ours) as database,
                running_scheduler(database, ours, STAGES, OUR_CHORES),
            ):
                begun = await _begun(database, ours, console)
                with display(console) as show:
                    await watch(database, show)
                sites = await read_results(database, town.sites)
                found = await read_found(database, begun, provider.bill)
                yield Outcome(sites, found), ours


async def _begun(database: Database, settings: Settings, console: Console) -> Begun:
    console.print(f"Searching for {LOOKED_FOR} in {TOWN}, at a provider on this machine.")
    begun = await until_begun(database, await begin(database, settings))
    console.print(report.sentence_of(begun), highlight=False, soft_wrap=True)
    return begun
