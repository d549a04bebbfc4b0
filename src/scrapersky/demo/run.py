"""Scan the town through the real queue and tell what came of it; leaves nothing behind."""

from __future__ import annotations

import asyncio
from time import monotonic
from uuid import UUID

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
from scrapersky.pipeline.scheduler import running_scheduler
from scrapersky.settings import Settings
from scrapersky.sitemaps import service
from scrapersky.stages import CHORES, STAGES


async def run_demo(settings: Settings, console: Console) -> int:
    """0 when every site ended as the town expects it, 1 when not, 130 when interrupted."""
    demo = asyncio.create_task(_demo(settings, console), name="demo")
    with cancelled_by_signals(demo) as caught:
        try:
            return await demo
        except asyncio.CancelledError:
            if not caught:
                raise
            console.print("Interrupted; everything was stopped and removed.")
            return 128 + caught[0]


async def _demo(settings: Settings, console: Console) -> int:
    began = monotonic()
    with quiet_logs(wanted=settings.log_level == "debug"):
        results = await _scan_town(settings, console)
    report.tell(console, results)
    return report.conclude(console, results, seconds=monotonic() - began)


async def _scan_town(settings: Settings, console: Console) -> list[Result]:
    async with Town() as town:
        report.introduce(console, town.sites)
        with own_settings(settings, town) as ours:
            console.print("Starting a PostgreSQL of its own in a temporary folder.")
            async with (
                open_database(ours) as database,
                running_scheduler(database, ours, STAGES, CHORES),
            ):
                jobs = [await _request(database, ours, site) for site in town.sites]
                with display(console) as show:
                    await watch(database, jobs, show)
                return await read_results(database, town.sites, jobs)


async def _request(database: Database, settings: Settings, site: TownSite) -> UUID:
    async with database.transaction() as session:
        actor = await system_actor(session, settings)
        job, _ = await service.request_scan(session, actor, settings, site.name, None)
        return job.id
