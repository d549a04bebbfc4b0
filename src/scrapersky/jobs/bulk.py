"""Cancel and retry jobs in bulk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.jobs.listing import JOBS
from scrapersky.lists import BulkOut, BulkRequest
from scrapersky.lists.bulk import build_row_operation, execute
from scrapersky.models import Actor, Job
from scrapersky.pipeline.bulk import CANCEL, RETRY, StatusTransition
from scrapersky.pipeline.stage import AnyStage
from scrapersky.settings import Settings


async def cancel_jobs(
    session: AsyncSession,
    actor: Actor,
    stages: Sequence[AnyStage],
    bulk_request: BulkRequest,
    settings: Settings,
) -> BulkOut:
    """Cancel jobs. Running ones lose their lease; their workers stop at the next chunk or
    heartbeat.
    """
    bulk = replace(bulk_request, also_processing=True)
    return await _run_bulk_action(session, actor, stages, CANCEL, bulk, settings)


async def retry_jobs(
    session: AsyncSession,
    actor: Actor,
    stages: Sequence[AnyStage],
    bulk_request: BulkRequest,
    settings: Settings,
) -> BulkOut:
    """Queue failed and cancelled jobs from the start; only the newest per subject."""
    return await _run_bulk_action(session, actor, stages, RETRY, bulk_request, settings)


async def _run_bulk_action(
    session: AsyncSession,
    actor: Actor,
    stages: Sequence[AnyStage],
    act: StatusTransition,
    bulk_request: BulkRequest,
    settings: Settings,
) -> BulkOut:
    operation = build_row_operation(
        session,
        actor,
        act,
        bulk_request,
        name=f"job.{act.name}",
        listing=lambda _: JOBS,
        settings=settings,
    )
    working_jobs = [stage for stage in stages if stage.model is Job]
    return await execute(session, actor, operation, working_jobs, bulk_request)
