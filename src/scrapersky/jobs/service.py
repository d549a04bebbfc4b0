"""Make, find, cancel and retry jobs. Imported as `job_service`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.errors import Conflict, NotFound
from scrapersky.jobs.finishing import announce_cancelled, announce_finished
from scrapersky.models import JOB_WORDS, Actor, Domain, Job, JobType, record
from scrapersky.models.jobs import ACTIVE, CANCELLED
from scrapersky.pipeline.bulk_acts import RETRY, Manner, is_one_of, start_over
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.settings import Settings

ASKED_BY_PEOPLE = 1
ASKED_BY_SCHEDULERS = 5


@dataclass(frozen=True)
class NewJob:
    """What is asked for."""

    job_type: JobType
    stage: str
    """The stage that works it, to be woken."""
    subject: str
    params: dict[str, Any]
    domain_id: UUID | None = None
    priority: int = ASKED_BY_PEOPLE


async def create(session: AsyncSession, actor: Actor, new: NewJob) -> tuple[Job, bool]:
    """Add the job, or find the one that is active for the same subject; says which."""
    while True:
        made = await session.scalar(
            insert(Job)
            .values(
                id=uuid7(),
                tenant_id=actor.tenant_id,
                created_by=actor.user_id,
                job_type=new.job_type,
                subject=new.subject,
                params=new.params,
                domain_id=new.domain_id,
                priority=new.priority,
            )
            .on_conflict_do_nothing(
                index_elements=[Job.tenant_id, Job.job_type, Job.subject], index_where=ACTIVE
            )
            .returning(Job)
        )
        if made is not None:
            wake_after_commit(session, new.stage)
            return made, True
        active = await session.scalar(
            select(Job).where(
                Job.tenant_id == actor.tenant_id,
                Job.job_type == new.job_type,
                Job.subject == new.subject,
                is_active(),
            )
        )
        # It may have ended between the two statements; then there is room for ours.
        if active is not None:
            return active, False


async def get(session: AsyncSession, actor: Actor, job_id: UUID) -> Job:
    job = await session.scalar(
        select(Job).where(Job.id == job_id, Job.tenant_id == actor.tenant_id)
    )
    if job is None:
        raise NotFound(f"There is no job {job_id}.")
    return job


async def get_pending_jobs(
    session: AsyncSession, job_type: JobType, *, limit: int = 10
) -> Sequence[Job]:
    """What waits, in the order it will be taken."""
    found = await session.scalars(
        select(Job)
        .where(Job.job_type == job_type, Job.status == JOB_WORDS.queued)
        .order_by(Job.priority, Job.due_at, Job.id)
        .limit(limit)
    )
    return found.all()


async def update_status(
    session: AsyncSession, job: Job, *, progress: float | None = None, phase: str | None = None
) -> None:
    """Note how far a job has come, for those who watch. The engine alone changes its status."""
    if progress is not None:
        job.progress = max(job.progress, min(progress, 1.0))
    if phase is not None:
        job.phase = phase


async def cancel(
    session: AsyncSession, actor: Actor, job_id: UUID, *, next_scan_in: timedelta
) -> Job:
    """A running job loses its token: its worker stops at the next chunk or beat."""
    cancelled = await session.scalar(
        update(Job)
        .where(Job.id == job_id, Job.tenant_id == actor.tenant_id, is_active())
        .values(
            status=CANCELLED,
            lease_token=None,
            lease_expires_at=None,
            worker_id=None,
            finished_at=func.now(),
            error="Cancelled.",
        )
        .returning(Job)
        .execution_options(synchronize_session=False)
    )
    if cancelled is None:
        job = await get(session, actor, job_id)
        raise Conflict(f"Job {job_id} is {job.status}; only a pending or processing one can end.")
    await _postpone(session, [job_id], next_scan_in)
    await announce_finished(session, cancelled, CANCELLED)
    record(session, actor, "job.cancel", job_id, subject=cancelled.subject)
    return cancelled


async def postpone_domains(
    session: AsyncSession, job_ids: Sequence[UUID], settings: Settings
) -> None:
    """What a person cancelled must not come back by itself a minute later."""
    await _postpone(session, job_ids, settings.rescan_interval)
    await announce_cancelled(session, job_ids)


async def _postpone(session: AsyncSession, job_ids: Sequence[UUID], wait: timedelta) -> None:
    of_jobs = select(Job.domain_id).where(is_one_of(Job.id, job_ids), Job.domain_id.is_not(None))
    await session.execute(
        update(Domain)
        .where(Domain.id.in_(of_jobs))
        .values(next_scan_at=func.now() + wait)
        .execution_options(synchronize_session=False)
    )


async def retry(
    session: AsyncSession, actor: Actor, job_id: UUID, stages: Sequence[AnyStage]
) -> Job:
    """Queue a failed or cancelled job again, from the start."""
    job = await get(session, actor, job_id)
    if job.status not in (JOB_WORDS.failed, CANCELLED):
        raise Conflict(f"Job {job_id} is {job.status}; only a failed or cancelled one is retried.")
    await _refuse_second_active(session, job)
    stage, manner = _stage_of(job, stages), Manner(by=actor.user_id)
    taken = await start_over(session, stage, RETRY, [Job.id == job_id], manner=manner)
    await session.refresh(job)
    if not taken:
        raise Conflict(f"Job {job_id} is {job.status} by now; somebody else was faster.")
    record(session, actor, "job.retry", job_id, subject=job.subject)
    return job


async def _refuse_second_active(session: AsyncSession, job: Job) -> None:
    other = await session.scalar(
        select(Job.id).where(
            Job.tenant_id == job.tenant_id,
            Job.job_type == job.job_type,
            Job.subject == job.subject,
            is_active(),
        )
    )
    if other is not None:
        raise Conflict(f"Job {other} is active for {job.subject} already.")


def _stage_of(job: Job, stages: Sequence[AnyStage]) -> AnyStage:
    for stage in stages:
        if stage.model is Job and stage.only.get("job_type") == job.job_type:
            return stage
    raise Conflict(f"No stage works jobs of type {job.job_type}.")


def is_active() -> ColumnElement[bool]:
    return Job.status.in_([JOB_WORDS.queued, JOB_WORDS.processing])
