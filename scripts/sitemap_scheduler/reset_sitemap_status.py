"""Have a site's newest job, or one job by its id, worked once more."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import in_venv  # noqa: F401 (first: what follows is installed in .venv)
import typer
from by_hand import newest_job, run_script, say

from scrapersky.cli.session import CommandContext, run_with_context
from scrapersky.errors import InvalidInput, NotFound
from scrapersky.jobs import service as job_service
from scrapersky.models import Job
from scrapersky.sitemaps.service import request_scan
from scrapersky.stages import STAGES


def reset_sitemap_status(
    domain: Annotated[str | None, typer.Option(help="The newest job of this site.")] = None,
    job_id: Annotated[UUID | None, typer.Option("--id", help="This job.")] = None,
) -> int:
    """A failed or cancelled job is pending again; a complete one is asked for anew."""
    if (domain is None) == (job_id is None):
        raise InvalidInput("Say either --domain DOMAIN or --id JOB_ID.")

    async def command(everything: CommandContext) -> int:
        job = await _named(everything, domain, job_id)
        was = job.status
        if was == "processing":
            say(f"Job {job.id} is being worked by {job.worker_id}; should that worker be dead,")
            say("the job is pending again by itself within seconds.")
            return 1
        again = job if was == "pending" else await _again(everything, job)
        say(f"Job ID: {again.id}")
        say(f"Status: {was} -> {again.status}")
        return 0

    return run_with_context(command)


async def _named(everything: CommandContext, domain: str | None, job_id: UUID | None) -> Job:
    if domain is not None:
        if (job := await newest_job(everything, domain)) is None:
            raise NotFound(f"Nobody has asked for a scan of {domain} yet.")
        return job
    assert job_id is not None
    async with everything.database.reading() as session:
        return await job_service.get(session, everything.actor, job_id)


async def _again(everything: CommandContext, job: Job) -> Job:
    async with everything.database.transaction() as session:
        if job.status == "complete":
            asked = (job.subject, job.params["max_pages"])
            again, _ = await request_scan(session, everything.actor, everything.settings, *asked)
            return again
        return await job_service.retry(session, everything.actor, job.id, STAGES)


if __name__ == "__main__":
    run_script(reset_sitemap_status)
