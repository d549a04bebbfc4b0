"""List the sitemap jobs that wait, in the order they will be taken."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import in_venv  # noqa: F401 (first: what follows is installed in .venv)
import typer
from by_hand import run_script, say
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.jobs import service as job_service
from scrapersky.models import Job, JobType


def debug_pending_jobs(
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 10,
) -> int:
    """Show what waits, with what was asked."""

    async def step(session: AsyncSession, everything: CommandContext) -> Sequence[Job]:
        return await job_service.get_pending_jobs(session, JobType.SITEMAP, limit=limit)

    def show(jobs: Sequence[Job]) -> None:
        say(f"Found {len(jobs)} pending sitemap jobs")
        for each in jobs:
            say()
            say(f"ID: {each.id}")
            say(f"Status: {each.status}")
            say(f"Params: {json.dumps(each.params, ensure_ascii=False)}")
            say(f"Domain found: {each.params.get('domain') or 'none'}")

    return run_in_transaction(step, show)


if __name__ == "__main__":
    run_script(debug_pending_jobs)
