"""`scrapersky scan`: one site, from its name to its stored URLs."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Annotated
from uuid import UUID

import typer

from scrapersky.cli.exits import Exit
from scrapersky.cli.output import note
from scrapersky.cli.scan_display import display
from scrapersky.cli.scan_report import Ended, exit_code, print_ended, print_ended_as_json
from scrapersky.cli.scan_run import ScanRun, running_engine_for_a_person
from scrapersky.cli.session import Opened, opened, run, settings_for_people
from scrapersky.jobs import service as job_service
from scrapersky.models import JOB_WORDS, Job
from scrapersky.settings import Settings
from scrapersky.sitemaps import service
from scrapersky.sitemaps.service import MAX_PAGES_LIMIT, site_of


def scan(
    domain: Annotated[str, typer.Argument(help="A domain or a URL, for example example.com.")],
    max_pages: Annotated[
        int | None,
        typer.Option(min=1, max=MAX_PAGES_LIMIT, help="Store at most so many URLs."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document and nothing else.")
    ] = False,
) -> int:
    """Find a site's sitemaps, store the URLs in them and show what was found."""
    settings = settings_for_people()
    site_of(domain, settings)  # refused before a database is started for it
    return run(_scan(settings, domain, max_pages, as_json))


async def _scan(settings: Settings, domain: str, max_pages: int | None, as_json: bool) -> int:
    began = monotonic()
    async with opened(settings) as everything:
        job = await _request(everything, domain, max_pages, quiet=as_json)
        try:
            await _run_to_end(everything, job, quiet=as_json)
        except asyncio.CancelledError:
            note(await _where_it_was_left(everything, job.id))
            return Exit.INTERRUPTED
        ended = await _read_ended(everything, job.id, seconds=monotonic() - began)
    print_ended_as_json(ended) if as_json else print_ended(ended)
    return exit_code(ended)


async def _request(everything: Opened, domain: str, max_pages: int | None, *, quiet: bool) -> Job:
    async with everything.database.transaction() as session:
        job, created = await service.request_scan(
            session, everything.actor, everything.settings, domain, max_pages
        )
    if not created and not quiet:
        note(f"Job {job.id} is scanning {job.subject} already; this shows how it goes on.")
    return job


async def _run_to_end(everything: Opened, job: Job, *, quiet: bool) -> None:
    with display(job.subject, quiet=quiet) as show:
        async with running_engine_for_a_person(everything) as engine:
            await ScanRun(engine, job, show).to_the_end()


async def _read_ended(everything: Opened, job_id: UUID, *, seconds: float) -> Ended:
    async with everything.database.reading() as session:
        job = await job_service.get(session, everything.actor, job_id)
        return Ended(job, tuple(await service.files_of_job(session, job)), seconds)


async def _where_it_was_left(everything: Opened, job_id: UUID) -> str:
    async with everything.database.reading() as session:
        job = await job_service.get(session, everything.actor, job_id)
    if job.status == JOB_WORDS.queued:
        return (
            f"Interrupted. Job {job_id} was handed back; it goes on when a worker or "
            "`scrapersky serve` runs."
        )
    if job.status == JOB_WORDS.processing:
        return f"Interrupted. Another process works job {job_id} and goes on with it."
    return f"Interrupted. Job {job_id} is {job.status}."
