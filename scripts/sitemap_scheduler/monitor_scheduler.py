"""Watch the sitemap queue: what comes in, what is taken, what came of it. Ctrl-C ends it."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime
from time import monotonic
from typing import Annotated
from uuid import UUID

import in_venv  # noqa: F401 (first: what follows is installed in .venv)
import typer
from by_hand import run_script, say
from sqlalchemy import func, select

from scrapersky.cli.session import CommandContext, run_with_context
from scrapersky.models import Job, JobType
from scrapersky.pipeline.report import list_live_workers

LOOK_EVERY_SECONDS = 0.5
"""Changes are told at once; the counts only at every interval."""
NEWEST = 1_000
"""Jobs that are watched; what is older has ended, or is in the counts."""
ENDED = ("complete", "failed", "cancelled")


def monitor_scheduler(
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two counts.")] = 30,
    rounds: Annotated[int | None, typer.Option(min=1, help="End after so many counts.")] = None,
) -> int:
    """Show counts at every interval, and each job as it is detected and as it is processed."""

    async def command(everything: CommandContext) -> None:
        known = await _statuses(everything, since=None)
        counted = 0
        while True:
            counted += 1
            await _tell_counts(everything)
            if counted == rounds:
                return
            until = monotonic() + interval
            while monotonic() < until:
                await asyncio.sleep(min(LOOK_EVERY_SECONDS, interval))
                await _tell_changes(everything, known)

    return run_with_context(command)


async def _tell_counts(everything: CommandContext) -> None:
    async with everything.database.reading() as session:
        found = await session.execute(
            select(Job.status, func.count())
            .where(Job.job_type == JobType.SITEMAP)
            .group_by(Job.status)
        )
        counts = Counter(dict(found.tuples().all()))
        workers = len(await list_live_workers(session, everything.settings))
    words = ("pending", "processing", *ENDED)
    _tell(", ".join(f"{word} {counts[word]}" for word in words) + f"; workers {workers}")


async def _tell_changes(everything: CommandContext, known: dict[UUID, str]) -> None:
    for job_id, status in (await _statuses(everything, since=known)).items():
        before = known.get(job_id)
        known[job_id] = status
        async with everything.database.reading() as session:
            job = await session.get(Job, job_id)
        if job is None:
            continue
        if before is None:
            _tell(f"detected job {job_id} for {job.subject}")
        if status in ENDED:
            what = job.error or f"{(job.result_data or {}).get('urls', 0)} URLs"
            _tell(f"processed job {job_id} for {job.subject}: {status}, {what}")
        elif before is not None or status != "pending":
            _tell(f"job {job_id} for {job.subject} is {status}")


async def _statuses(everything: CommandContext, since: dict[UUID, str] | None) -> dict[UUID, str]:
    """Of the newest jobs, or of those among them that are new or have another status by now."""
    newest = select(Job.id, Job.status).where(Job.job_type == JobType.SITEMAP)
    async with everything.database.reading() as session:
        found = await session.execute(newest.order_by(Job.id.desc()).limit(NEWEST))
        now = dict(reversed(found.tuples().all()))
    return {each: word for each, word in now.items() if since is None or since.get(each) != word}


def _tell(text: str) -> None:
    say(f"{datetime.now(UTC):%H:%M:%S} {text}")


if __name__ == "__main__":
    run_script(monitor_scheduler)
