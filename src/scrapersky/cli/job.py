"""`scrapersky job`: what was asked for; look, cancel, retry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.options import AsJson, Limit
from scrapersky.cli.output import out, print_json, print_table, status, table, when
from scrapersky.cli.scan_report import Ended, print_ended
from scrapersky.cli.session import Opened, run_in_transaction
from scrapersky.jobs import service as job_service
from scrapersky.jobs.schemas import job_out
from scrapersky.models import Job, SitemapFile
from scrapersky.sitemaps.schemas import scan_status
from scrapersky.sitemaps.service import files_of_job, site_of
from scrapersky.stages import STAGES

app = typer.Typer(help="See, cancel or retry jobs.", no_args_is_help=True)

JobId = Annotated[UUID, typer.Argument(help="See `scrapersky job list`.")]
OfStatus = Annotated[
    str | None, typer.Option("--status", help="pending, processing, complete, failed, cancelled.")
]
OfDomain = Annotated[str | None, typer.Option("--domain", help="Only of this site.")]


@app.command("list")
def list_jobs(
    of_status: OfStatus = None, domain: OfDomain = None, limit: Limit = 20, as_json: AsJson = False
) -> int:
    """List jobs, newest first."""

    async def step(session: AsyncSession, everything: Opened) -> Sequence[Job]:
        wanted = select(Job).where(Job.tenant_id == everything.actor.tenant_id)
        if of_status is not None:
            wanted = wanted.where(Job.status == of_status)
        if domain is not None:
            key = site_of(domain, everything.settings).key
            wanted = wanted.where(Job.params["domain"].as_string() == key)
        newest_first = wanted.order_by(Job.created_at.desc(), Job.id.desc()).limit(limit)
        return (await session.scalars(newest_first)).all()

    def show(jobs: Sequence[Job]) -> None:
        print_json([job_out(each) for each in jobs]) if as_json else _print_jobs(jobs)

    return run_in_transaction(step, show)


def _print_jobs(jobs: Sequence[Job]) -> None:
    if not jobs:
        out.print("No jobs.")
        return
    made = table("Job", "Type", "Subject", "Status", "Attempts", "Asked", "Error")
    for each in jobs:
        asked, error = when(each.created_at), escape(each.error or "")
        words = (each.job_type, escape(each.subject), status(each.status), str(each.attempts))
        made.add_row(str(each.id), *words, asked, error)
    print_table(made)


@app.command()
def show(job_id: JobId, as_json: AsJson = False) -> int:
    """Show one job and what it has found."""

    async def step(session: AsyncSession, everything: Opened) -> tuple[Job, Sequence[SitemapFile]]:
        job = await job_service.get(session, everything.actor, job_id)
        return job, await files_of_job(session, job)

    def shown(found: tuple[Job, Sequence[SitemapFile]]) -> None:
        job, files = found
        print_json(scan_status(job, list(files))) if as_json else _print_job(job, files)

    return run_in_transaction(step, shown)


def _print_job(job: Job, files: Sequence[SitemapFile]) -> None:
    _print_jobs([job])
    out.print()
    if job.started_at is not None and job.finished_at is not None:
        seconds = (job.finished_at - job.started_at).total_seconds()
        print_ended(Ended(job, tuple(files), seconds))


@app.command()
def cancel(job_id: JobId) -> int:
    """End a job; what it has stored stays."""

    async def step(session: AsyncSession, everything: Opened) -> Job:
        wait = everything.settings.rescan_interval
        return await job_service.cancel(session, everything.actor, job_id, next_scan_in=wait)

    return run_in_transaction(step, _print_outcome)


@app.command()
def retry(job_id: JobId) -> int:
    """Queue a failed or cancelled job again, from the start."""

    async def step(session: AsyncSession, everything: Opened) -> Job:
        return await job_service.retry(session, everything.actor, job_id, STAGES)

    return run_in_transaction(step, _print_outcome)


def _print_outcome(job: Job) -> None:
    out.print(f"Job {job.id} for {escape(job.subject)} is {job.status}.", highlight=False)
