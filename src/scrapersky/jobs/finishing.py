"""Tell receivers that a job has ended, however it did."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import Job, WebhookEvent
from scrapersky.models.announced import job_data
from scrapersky.models.announcing import announce, announce_many, is_heard
from scrapersky.models.jobs import CANCELLED
from scrapersky.pipeline.bulk_acts import is_one_of

FINISHED = WebhookEvent.JOB_FINISHED


async def announce_finished(
    session: AsyncSession, job: Job, status: str, *, error: str | None = None
) -> None:
    """In the transaction that ends the job; the error where it is not in the row yet."""
    if await is_heard(session, job.tenant_id, FINISHED):
        told = job_data(job, status=status, error=error or job.error)
        await announce(session, job.tenant_id, FINISHED, job.id, told)


async def announce_cancelled(session: AsyncSession, job_ids: Sequence[UUID]) -> None:
    """Of jobs that people took out of the queue, many at once."""
    these = is_one_of(Job.id, job_ids)
    tenants = (await session.scalars(select(Job.tenant_id).where(these).distinct())).all()
    heard = [each for each in tenants if await is_heard(session, each, FINISHED)]
    if not heard:
        return
    wanted = select(Job).where(these, Job.tenant_id.in_(heard)).order_by(Job.id)
    jobs = await session.scalars(wanted.execution_options(populate_existing=True))
    told = [(each, job_data(each, status=CANCELLED, error=each.error)) for each in jobs]
    await announce_many(session, [(job.tenant_id, FINISHED, job.id, data) for job, data in told])
