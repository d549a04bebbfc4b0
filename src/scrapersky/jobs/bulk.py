"""Cancel and retry many jobs at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.http.lists import BulkAsked, BulkOut
from scrapersky.http.lists.acting import carry_out, on_rows
from scrapersky.jobs.listing import JOBS
from scrapersky.models import Actor, Job
from scrapersky.pipeline.bulk_acts import CANCEL, RETRY, Act
from scrapersky.pipeline.stage import AnyStage
from scrapersky.settings import Settings


async def cancel_jobs(
    session: AsyncSession,
    actor: Actor,
    stages: Sequence[AnyStage],
    asked: BulkAsked,
    settings: Settings,
) -> BulkOut:
    """Running ones too: they lose their token, and their workers stop at the next chunk or beat."""
    wanted = replace(asked, also_processing=True)
    return await _act(session, actor, stages, CANCEL, wanted, settings)


async def retry_jobs(
    session: AsyncSession,
    actor: Actor,
    stages: Sequence[AnyStage],
    asked: BulkAsked,
    settings: Settings,
) -> BulkOut:
    """Failed and cancelled ones, from the start; of several for the same subject the newest."""
    return await _act(session, actor, stages, RETRY, asked, settings)


async def _act(
    session: AsyncSession,
    actor: Actor,
    stages: Sequence[AnyStage],
    act: Act,
    asked: BulkAsked,
    settings: Settings,
) -> BulkOut:
    deed = on_rows(
        session,
        actor,
        act,
        asked,
        name=f"job.{act.name}",
        listing=lambda _: JOBS,
        settings=settings,
    )
    working_jobs = [stage for stage in stages if stage.model is Job]
    return await carry_out(session, actor, deed, working_jobs, asked)
