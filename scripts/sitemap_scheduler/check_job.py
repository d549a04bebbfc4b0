"""Show one job."""

from __future__ import annotations

import json
from typing import Annotated, Any
from uuid import UUID

import in_venv  # noqa: F401 (first: what follows is installed in .venv)
import typer
from by_hand import run_script, say
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.jobs import service as job_service
from scrapersky.models import Job
from scrapersky.models.jobs import SITEMAPS_COUNT


def check_job(
    job_id: Annotated[UUID, typer.Option("--id", help="As it was answered when it was asked for.")],
) -> int:
    """Show a job's type, status and result."""

    async def step(session: AsyncSession, everything: CommandContext) -> Job:
        return await job_service.get(session, everything.actor, job_id)

    def show(job: Job) -> None:
        say(f"Job ID: {job.id}")
        say(f"Type: {job.job_type}")
        say(f"Status: {job.status}")
        say(f"Result Data: {json.dumps(job.result_data, ensure_ascii=False)}")
        _show_sitemaps(job.result_data or {})
        if job.error:
            say(f"Error: {job.error}")

    return run_in_transaction(step, show)


def _show_sitemaps(result: dict[str, Any]) -> None:
    if SITEMAPS_COUNT not in result:
        return
    listed, total = result["sitemaps"], result[SITEMAPS_COUNT]
    say(f"Sitemaps: {total}")
    for each in listed:
        say(f"  {each['id']} {each['type'] or 'unknown'} {each['url_count']} URLs {each['url']}")
    if total > len(listed):
        say(f"  and {total - len(listed)} more")


if __name__ == "__main__":
    run_script(check_job)
