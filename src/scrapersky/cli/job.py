"""`scrapersky job`: what was asked for; look, cancel, retry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.list_options import AGES, narrowed_by
from scrapersky.cli.many import (
    DryRun,
    Every,
    NewerThan,
    OlderThan,
    PerMinute,
    Way,
    Why,
    Yes,
    are_named,
    do_to_each,
    do_to_many,
    narrowed,
)
from scrapersky.cli.options import AsJson, Limit
from scrapersky.cli.output import out, print_json, print_table, status, table, when
from scrapersky.cli.scan_report import Ended, print_ended
from scrapersky.cli.session import Opened, run_in_transaction
from scrapersky.http.lists import Asked, BulkAsked, BulkOut
from scrapersky.http.lists.filters import Given
from scrapersky.jobs import bulk
from scrapersky.jobs import service as job_service
from scrapersky.jobs.listing import JOBS
from scrapersky.jobs.schemas import job_out
from scrapersky.models import JOB_WORDS, Job, SitemapFile
from scrapersky.sitemaps.schemas import scan_status
from scrapersky.sitemaps.service import files_of_job
from scrapersky.stages import STAGES

app = typer.Typer(help="See, cancel or retry jobs.", no_args_is_help=True)

JobId = Annotated[UUID, typer.Argument(help="See `scrapersky job list`.")]
JobIds = Annotated[list[UUID] | None, typer.Argument(help="One or several.")]
OfStatus = Annotated[
    list[str] | None,
    typer.Option("--status", help=f"{', '.join(JOB_WORDS.all)}; several may be given."),
]
OfType = Annotated[list[str] | None, typer.Option("--type", help="Only of this type.")]
OfError = Annotated[str | None, typer.Option(help="Only with this in the error.")]
OfDomain = Annotated[str | None, typer.Option("--domain", help="Only of this site.")]


@app.command("list")
@narrowed_by(JOBS, job_type="--type", **AGES)
def list_jobs(given: Given, limit: Limit = 20, as_json: AsJson = False) -> int:
    """List jobs, newest first."""
    asked = Asked(given, limit=limit)

    async def step(session: AsyncSession, everything: Opened) -> Sequence[Job]:
        return (await JOBS.show(session, everything.actor, asked)).rows

    def show(jobs: Sequence[Job]) -> None:
        print_json([job_out(each) for each in jobs]) if as_json else _print_jobs(jobs)

    return run_in_transaction(step, show)


def _given(
    status: list[str] | None,
    job_type: list[str] | None,
    domain: str | None,
    error: str | None,
    older_than: str | None,
    newer_than: str | None,
) -> dict[str, Any]:
    """What was typed, as the list's filters are called."""
    return {
        "status": status,
        "job_type": job_type,
        "domain": domain,
        "error": error,
        "created_until": older_than,
        "created_since": newer_than,
    }


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
def cancel(
    job_id: JobIds = None,
    every: Every = False,
    of_status: OfStatus = None,
    job_type: OfType = None,
    domain: OfDomain = None,
    error: OfError = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    why: Why = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """End jobs; what they have stored stays."""

    async def one(session: AsyncSession, everything: Opened, named: UUID) -> Job:
        wait = everything.settings.rescan_interval
        return await job_service.cancel(session, everything.actor, named, next_scan_in=wait)

    async def many(session: AsyncSession, everything: Opened, asked: BulkAsked) -> BulkOut:
        actor, settings = everything.actor, everything.settings
        return await bulk.cancel_jobs(session, actor, STAGES, asked, settings)

    given = _given(of_status, job_type, domain, error, older_than, newer_than)
    if are_named(job_id, given, every=every):
        return do_to_each(one, job_id or [], tell=_print_outcome)
    asked = BulkAsked(narrowed(JOBS, every=every, **given), note=why)
    return do_to_many(many, asked, Way("cancelled", "job", yes=yes, dry_run=dry_run))


@app.command()
def retry(
    job_id: JobIds = None,
    every: Every = False,
    of_status: OfStatus = None,
    job_type: OfType = None,
    domain: OfDomain = None,
    error: OfError = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    per_minute: PerMinute = None,
    why: Why = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Queue failed or cancelled jobs again, from the start."""

    async def one(session: AsyncSession, everything: Opened, named: UUID) -> Job:
        return await job_service.retry(session, everything.actor, named, STAGES)

    async def many(session: AsyncSession, everything: Opened, asked: BulkAsked) -> BulkOut:
        actor, settings = everything.actor, everything.settings
        return await bulk.retry_jobs(session, actor, STAGES, asked, settings)

    given = _given(of_status, job_type, domain, error, older_than, newer_than)
    if are_named(job_id, given, every=every):
        return do_to_each(one, job_id or [], tell=_print_outcome)
    asked = BulkAsked(narrowed(JOBS, every=every, **given), note=why, per_minute=per_minute)
    return do_to_many(many, asked, Way("queued again", "job", yes=yes, dry_run=dry_run))


def _print_outcome(job: Job) -> None:
    out.print(f"Job {job.id} for {escape(job.subject)} is {job.status}.", highlight=False)
