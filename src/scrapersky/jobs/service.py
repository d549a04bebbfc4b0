"""Create, find, cancel and retry jobs, one or many. Imported as `job_service`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    SmallInteger,
    Text,
    Uuid,
    cast,
    func,
    literal,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.statements import unnest_rows
from scrapersky.errors import Conflict, NotFound
from scrapersky.models import JOB_STATUSES, Actor, Domain, Job, JobType, WebhookEvent, record
from scrapersky.models.jobs import CANCELLED, IS_ACTIVE_SQL
from scrapersky.models.webhook_events import emit_event, emit_events, has_subscribers
from scrapersky.models.webhook_payloads import build_job_data
from scrapersky.pipeline.bulk import RETRY, BulkOptions, matches_ids, restart_rows
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.settings import Settings

FINISHED_EVENT = WebhookEvent.JOB_FINISHED


async def emit_job_finished(
    session: AsyncSession, job: Job, status: str, *, error: str | None = None
) -> None:
    """Emit `job.finished` in the transaction that ends the job.

    Pass `error` if the row does not have it yet.
    """
    if await has_subscribers(session, job.tenant_id, FINISHED_EVENT):
        data = build_job_data(job, status=status, error=error or job.error)
        await emit_event(session, job.tenant_id, FINISHED_EVENT, job.id, data)


async def emit_jobs_cancelled(session: AsyncSession, job_ids: Sequence[UUID]) -> None:
    """Emit events for jobs that users cancelled in bulk."""
    these = matches_ids(Job.id, job_ids)
    tenants = (await session.scalars(select(Job.tenant_id).where(these).distinct())).all()
    subscribed = [each for each in tenants if await has_subscribers(session, each, FINISHED_EVENT)]
    if not subscribed:
        return
    statement = select(Job).where(these, Job.tenant_id.in_(subscribed)).order_by(Job.id)
    jobs = await session.scalars(statement.execution_options(populate_existing=True))
    payloads = [(each, build_job_data(each, status=CANCELLED, error=each.error)) for each in jobs]
    await emit_events(
        session, [(job.tenant_id, FINISHED_EVENT, job.id, data) for job, data in payloads]
    )


USER_PRIORITY = 1
SCHEDULER_PRIORITY = 5


@dataclass(frozen=True)
class NewJob:
    """Values of a job to create."""

    job_type: JobType
    stage: str
    """Stage that processes the job, woken after commit."""
    subject: str
    params: dict[str, Any]
    domain_id: UUID | None = None
    priority: int = USER_PRIORITY


async def create(session: AsyncSession, actor: Actor, new: NewJob) -> tuple[Job, bool]:
    """Create the job, or return the active one for the same subject, and whether it is new."""
    while True:
        job_id = await session.scalar(
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
                index_elements=[Job.tenant_id, Job.job_type, Job.subject], index_where=IS_ACTIVE_SQL
            )
            .returning(Job)
        )
        if job_id is not None:
            wake_after_commit(session, new.stage)
            return job_id, True
        active = await session.scalar(
            select(Job).where(
                Job.tenant_id == actor.tenant_id,
                Job.job_type == new.job_type,
                Job.subject == new.subject,
                is_active(),
            )
        )
        # The active job may have ended between the two statements; then insert again.
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
    """Return pending jobs in the order in which they will be claimed."""
    rows = await session.scalars(
        select(Job)
        .where(Job.job_type == job_type, Job.status == JOB_STATUSES.queued)
        .order_by(Job.priority, Job.due_at, Job.id)
        .limit(limit)
    )
    return rows.all()


async def update_status(
    session: AsyncSession, job: Job, *, progress: float | None = None, phase: str | None = None
) -> None:
    """Record a job's progress. The status itself is changed only by the engine."""
    if progress is not None:
        job.progress = max(job.progress, min(progress, 1.0))
    if phase is not None:
        job.phase = phase


async def cancel(
    session: AsyncSession, actor: Actor, job_id: UUID, *, next_scan_in: timedelta
) -> Job:
    """Cancel a job.

    A running job loses its lease; its worker stops at the next chunk or heartbeat.
    """
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
        raise Conflict(
            f"Job {job_id} is {job.status}. Only a pending or processing job can be cancelled."
        )
    await _postpone_scans(session, [job_id], next_scan_in)
    await emit_job_finished(session, cancelled, CANCELLED)
    record(session, actor, "job.cancel", job_id, subject=cancelled.subject)
    return cancelled


async def handle_cancelled_jobs(
    session: AsyncSession, job_ids: Sequence[UUID], settings: Settings
) -> None:
    """Postpone the next scans, so that cancelled work is not rescheduled a minute later, and emit
    events.
    """
    await _postpone_scans(session, job_ids, settings.rescan_interval)
    await emit_jobs_cancelled(session, job_ids)


async def _postpone_scans(session: AsyncSession, job_ids: Sequence[UUID], wait: timedelta) -> None:
    of_jobs = select(Job.domain_id).where(matches_ids(Job.id, job_ids), Job.domain_id.is_not(None))
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
    if job.status not in (JOB_STATUSES.failed, CANCELLED):
        raise Conflict(
            f"Job {job_id} is {job.status}. Only a failed or cancelled job can be retried."
        )
    await _check_no_active_job(session, job)
    stage, options = _find_stage(job, stages), BulkOptions(by=actor.user_id)
    restarted = await restart_rows(session, stage, RETRY, [Job.id == job_id], options=options)
    await session.refresh(job)
    if not restarted:
        raise Conflict(f"Job {job_id} was changed in the meantime and is now {job.status}.")
    record(session, actor, "job.retry", job_id, subject=job.subject)
    return job


async def _check_no_active_job(session: AsyncSession, job: Job) -> None:
    other = await session.scalar(
        select(Job.id).where(
            Job.tenant_id == job.tenant_id,
            Job.job_type == job.job_type,
            Job.subject == job.subject,
            is_active(),
        )
    )
    if other is not None:
        raise Conflict(f"Job {other} is already active for {job.subject}.")


def _find_stage(job: Job, stages: Sequence[AnyStage]) -> AnyStage:
    for stage in stages:
        if stage.model is Job and stage.only.get("job_type") == job.job_type:
            return stage
    raise Conflict(f"No stage processes jobs of type {job.job_type}.")


def is_active() -> ColumnElement[bool]:
    return Job.status.in_([JOB_STATUSES.queued, JOB_STATUSES.processing])


async def create_many(
    session: AsyncSession,
    actor: Actor,
    job_type: JobType,
    jobs: Sequence[NewJob],
    *,
    batch_id: UUID | None = None,
) -> dict[str, tuple[UUID, bool]]:
    """Create jobs like `create`, one per subject.

    Returns the job id and whether the job is new, by subject.
    """
    by_subject = {each.subject: each for each in sorted(jobs, key=lambda each: each.subject)}
    jobs_by_subject: dict[str, tuple[UUID, bool]] = {}
    while missing := [new for subject, new in by_subject.items() if subject not in jobs_by_subject]:
        inserted = await _insert_jobs(session, actor, job_type, missing, batch_id)
        jobs_by_subject |= {subject: (job_id, True) for subject, job_id in inserted.items()}
        if inserted:
            wake_after_commit(session, *{each.stage for each in missing})
        # Active jobs that end between the two statements are inserted in the next round.
        others = [each.subject for each in missing if each.subject not in inserted]
        active = await _find_active_jobs(session, actor, job_type, others)
        jobs_by_subject |= {subject: (job_id, False) for subject, job_id in active.items()}
    return jobs_by_subject


async def _insert_jobs(
    session: AsyncSession,
    actor: Actor,
    job_type: JobType,
    jobs: Sequence[NewJob],
    batch_id: UUID | None,
) -> dict[str, UUID]:
    input_rows = unnest_rows(
        id=(Uuid, [uuid7() for _ in jobs]),
        subject=(Text, [each.subject for each in jobs]),
        params=(Text, [json.dumps(each.params) for each in jobs]),
        domain_id=(Uuid, [each.domain_id for each in jobs]),
        priority=(SmallInteger, [each.priority for each in jobs]),
    )
    values: dict[str, Any] = {
        "id": input_rows.c.id,
        "subject": input_rows.c.subject,
        "params": cast(input_rows.c.params, JSONB),
        "domain_id": input_rows.c.domain_id,
        "priority": input_rows.c.priority,
        "tenant_id": literal(actor.tenant_id, Uuid),
        "created_by": literal(actor.user_id, Uuid),
        "job_type": literal(job_type.value, Text),
        "batch_id": literal(batch_id, Uuid),
    }
    inserted = await session.execute(
        insert(Job)
        .from_select(list(values), select(*values.values()), include_defaults=False)
        .on_conflict_do_nothing(
            index_elements=[Job.tenant_id, Job.job_type, Job.subject], index_where=IS_ACTIVE_SQL
        )
        .returning(Job.subject, Job.id)
    )
    return dict(inserted.all())


async def _find_active_jobs(
    session: AsyncSession, actor: Actor, job_type: JobType, subjects: Sequence[str]
) -> dict[str, UUID]:
    if not subjects:
        return {}
    result = await session.execute(
        select(Job.subject, Job.id).where(
            Job.tenant_id == actor.tenant_id,
            Job.job_type == job_type,
            Job.subject == func.any(cast(subjects, ARRAY(Text))),
            is_active(),
        )
    )
    return dict(result.all())
