"""`scrapersky job`: list, show, cancel and retry jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.bulk import (
    AllOption,
    BulkCommandOptions,
    DryRun,
    NewerThan,
    NoteOption,
    OlderThan,
    PerMinute,
    Yes,
    build_filters,
    has_ids,
    run_bulk,
    run_for_each,
)
from scrapersky.cli.options import AGE_OPTIONS, AsJson, Limit, add_filter_options
from scrapersky.cli.output import (
    out,
    print_json,
)
from scrapersky.cli.rows import list_rows, print_rows
from scrapersky.cli.scan_report import ScanResult, print_result
from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.jobs import bulk
from scrapersky.jobs import service as job_service
from scrapersky.jobs.listing import JOBS
from scrapersky.jobs.schemas import job_out
from scrapersky.lists import BulkOut, BulkRequest, ListQuery
from scrapersky.lists.filters import FilterValues
from scrapersky.models import JOB_STATUSES, Job, SitemapFile
from scrapersky.sitemaps.schemas import scan_status
from scrapersky.sitemaps.service import list_job_files
from scrapersky.stages import STAGES

app = typer.Typer(help="List, cancel and retry jobs.", no_args_is_help=True)

JobId = Annotated[UUID, typer.Argument(help="Job id; see `scrapersky job list`.")]
JobIds = Annotated[list[UUID] | None, typer.Argument(help="Job ids.")]
OfStatus = Annotated[
    list[str] | None,
    typer.Option("--status", help=f"{', '.join(JOB_STATUSES.all)}. Repeatable."),
]
OfType = Annotated[list[str] | None, typer.Option("--type", help="Only this job type.")]
OfError = Annotated[str | None, typer.Option(help="Only rows with this text in the error.")]
OfDomain = Annotated[str | None, typer.Option("--domain", help="Only this domain.")]


@app.command("list")
@add_filter_options(JOBS, job_type="--type", **AGE_OPTIONS)
def list_jobs(given: FilterValues, limit: Limit = 20, as_json: AsJson = False) -> int:
    """List jobs, newest first."""
    query = ListQuery(given, limit=limit)
    return list_rows(JOBS, query, "job", job_out, as_json=as_json)


def _build_job_filters(
    status: list[str] | None,
    job_type: list[str] | None,
    domain: str | None,
    error: str | None,
    older_than: str | None,
    newer_than: str | None,
) -> dict[str, Any]:
    return {
        "status": status,
        "job_type": job_type,
        "domain": domain,
        "error": error,
        "created_until": older_than,
        "created_since": newer_than,
    }


@app.command()
def show(job_id: JobId, as_json: AsJson = False) -> int:
    """Show a job and its results so far."""

    async def step(
        session: AsyncSession, context: CommandContext
    ) -> tuple[Job, Sequence[SitemapFile]]:
        job = await job_service.get(session, context.actor, job_id)
        return job, await list_job_files(session, job)

    def print_result(result: tuple[Job, Sequence[SitemapFile]]) -> None:
        job, files = result
        print_json(scan_status(job, list(files))) if as_json else _print_job(job, files)

    return run_in_transaction(step, print_result)


def _print_job(job: Job, files: Sequence[SitemapFile]) -> None:
    print_rows(JOBS, "job", [job])
    out.print()
    if job.started_at is not None and job.finished_at is not None:
        seconds = (job.finished_at - job.started_at).total_seconds()
        print_result(ScanResult(job, tuple(files), seconds))


@app.command()
def cancel(
    job_id: JobIds = None,
    every: AllOption = False,
    of_status: OfStatus = None,
    job_type: OfType = None,
    domain: OfDomain = None,
    error: OfError = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    why: NoteOption = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Cancel jobs. Results stored so far are kept."""

    async def one(session: AsyncSession, context: CommandContext, named: UUID) -> Job:
        wait = context.settings.rescan_interval
        return await job_service.cancel(session, context.actor, named, next_scan_in=wait)

    async def many(
        session: AsyncSession, context: CommandContext, bulk_request: BulkRequest
    ) -> BulkOut:
        actor, settings = context.actor, context.settings
        return await bulk.cancel_jobs(session, actor, STAGES, bulk_request, settings)

    filters = _build_job_filters(of_status, job_type, domain, error, older_than, newer_than)
    if has_ids(job_id, filters, every=every):
        return run_for_each(one, job_id or [], tell=_print_outcome)
    bulk_request = BulkRequest(build_filters(JOBS, every=every, **filters), note=why)
    return run_bulk(
        many, bulk_request, BulkCommandOptions("cancelled", "job", yes=yes, dry_run=dry_run)
    )


@app.command()
def retry(
    job_id: JobIds = None,
    every: AllOption = False,
    of_status: OfStatus = None,
    job_type: OfType = None,
    domain: OfDomain = None,
    error: OfError = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    per_minute: PerMinute = None,
    why: NoteOption = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Queue failed or cancelled jobs again, from the start."""

    async def one(session: AsyncSession, context: CommandContext, named: UUID) -> Job:
        return await job_service.retry(session, context.actor, named, STAGES)

    async def many(
        session: AsyncSession, context: CommandContext, bulk_request: BulkRequest
    ) -> BulkOut:
        actor, settings = context.actor, context.settings
        return await bulk.retry_jobs(session, actor, STAGES, bulk_request, settings)

    filters = _build_job_filters(of_status, job_type, domain, error, older_than, newer_than)
    if has_ids(job_id, filters, every=every):
        return run_for_each(one, job_id or [], tell=_print_outcome)
    bulk_request = BulkRequest(
        build_filters(JOBS, every=every, **filters), note=why, per_minute=per_minute
    )
    return run_bulk(
        many, bulk_request, BulkCommandOptions("requeued", "job", yes=yes, dry_run=dry_run)
    )


def _print_outcome(job: Job) -> None:
    out.print(f"Job {job.id} for {escape(job.subject)} is {job.status}.", highlight=False)
