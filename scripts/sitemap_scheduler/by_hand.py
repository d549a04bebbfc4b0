"""What the scripts beside this share: how one is run, and working the sitemap queue by hand."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from uuid import UUID

import typer
from sqlalchemy import select

from scrapersky.cli.errors import run_command
from scrapersky.cli.output import out
from scrapersky.cli.session import CommandContext, silence_logger
from scrapersky.lists.imports.sites import parse_site
from scrapersky.models import Job, JobType
from scrapersky.pipeline.engine import run_engine
from scrapersky.pipeline.vitals import RunReport
from scrapersky.sitemaps import discovery
from scrapersky.sitemaps.service import get_domain_by_name

LOOK_EVERY_SECONDS = 0.2


def run_script(command: Callable[..., int]) -> None:
    """Parse what was typed and run it; what goes wrong becomes a sentence and an exit code."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command)
    sys.exit(run_command(lambda: app(standalone_mode=False)))


def say(text: str = "") -> None:
    out.print(text, markup=False, highlight=False, soft_wrap=True)


async def process_pending(everything: CommandContext, limit: int | None) -> RunReport | None:
    """Work what waits in this process, at most `limit` jobs at a time."""
    silence_logger("scrapersky.pipeline", everything.settings)
    async with run_engine(everything.database, everything.settings, [discovery.STAGE]) as engine:
        return await discovery.process_pending_sitemaps(limit, engine=engine)


async def job_ids(everything: CommandContext, *statuses: str) -> Sequence[UUID]:
    mine = (Job.tenant_id == everything.actor.tenant_id, Job.job_type == JobType.SITEMAP)
    async with everything.database.reading() as session:
        found = await session.scalars(select(Job.id).where(*mine, Job.status.in_(statuses)))
        return found.all()


async def held_by_others(
    everything: CommandContext, jobs: Sequence[UUID], *, seconds: float
) -> int:
    """Wait for jobs that another process took before us; how many are still under way then."""
    held = set(jobs)
    try:
        async with asyncio.timeout(seconds):
            while held := held & set(await job_ids(everything, "processing")):  # noqa: ASYNC110
                await asyncio.sleep(LOOK_EVERY_SECONDS)  # others' work tells us nothing
    except TimeoutError:
        return len(held)
    return 0


async def newest_job(everything: CommandContext, domain: str) -> Job | None:
    key = parse_site(domain, everything.settings).key
    async with everything.database.reading() as session:
        known = await get_domain_by_name(session, everything.actor, key)
        of_domain = (Job.domain_id == known.id, Job.job_type == JobType.SITEMAP)
        newest = select(Job).where(*of_domain).order_by(Job.created_at.desc(), Job.id.desc())
        return await session.scalar(newest.limit(1))
