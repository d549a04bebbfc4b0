"""Work the sitemap queue, or one job, in this process and to the end."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import in_venv  # noqa: F401 (first: what follows is installed in .venv)
import typer
from by_hand import held_by_others, job_ids, process_pending, run_script, say

from scrapersky.cli.session import CommandContext, run_with_context
from scrapersky.errors import InvalidInput
from scrapersky.jobs import service as job_service
from scrapersky.pipeline.engine import run_engine
from scrapersky.sitemaps import discovery


def process_sitemap(
    trigger_scheduler: Annotated[
        bool, typer.Option("--trigger-scheduler", help="Everything that waits.")
    ] = False,
    job_id: Annotated[UUID | None, typer.Option("--id", help="This job alone.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many at a time.")] = None,
    wait_seconds: Annotated[
        float, typer.Option(min=0, help="How long to wait for jobs that others are at.")
    ] = 60,
) -> int:
    """Have pending jobs worked now; jobs that another process holds are waited for."""
    if trigger_scheduler == (job_id is not None):
        raise InvalidInput("Say either --trigger-scheduler or --id JOB_ID.")

    async def all_of_them(everything: CommandContext) -> int:
        asked = await job_ids(everything, "pending", "processing")
        report = await process_pending(everything, limit)
        left = await held_by_others(everything, asked, seconds=wait_seconds)
        ours = report.as_fields() if report else {}
        say(f"Processed {ours.get('found', 0)} of {len(asked)} sitemap jobs here")
        if left:
            say(f"{left} are still under way in other processes")
        return 1 if ours.get("failed") else 0

    async def one(everything: CommandContext) -> int:
        assert job_id is not None
        async with everything.database.reading() as session:
            job = await job_service.get(session, everything.actor, job_id)
        asked = (job.params["domain"], job.created_by, job.params["max_pages"])
        database, settings = everything.database, everything.settings
        async with run_engine(database, settings, [discovery.STAGE]) as engine:
            how = await discovery.process_domain_with_own_session(job.id, *asked, engine=engine)
        say(f"Job {job.id} for {job.subject}: {how}")
        return 0 if how == "completed" else 1

    return run_with_context(one if job_id is not None else all_of_them)


if __name__ == "__main__":
    run_script(process_sitemap)
