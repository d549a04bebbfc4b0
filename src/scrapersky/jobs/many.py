"""Make many jobs with a few statements."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, SmallInteger, Text, Uuid, cast, func, literal, select
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.arrays import table_of
from scrapersky.db.base import uuid7
from scrapersky.jobs.service import NewJob, is_active
from scrapersky.models import Actor, Job, JobType
from scrapersky.models.jobs import ACTIVE
from scrapersky.pipeline.wake import wake_after_commit

__all__ = ["create_many", "table_of"]


async def create_many(
    session: AsyncSession,
    actor: Actor,
    job_type: JobType,
    jobs: Sequence[NewJob],
    *,
    batch_id: UUID | None = None,
) -> dict[str, tuple[UUID, bool]]:
    """Subject → its job's id, and whether the job was made now or is one that was active before.

    The same rules as for one job, and no subject twice.
    """
    wanted = {each.subject: each for each in sorted(jobs, key=lambda each: each.subject)}
    found: dict[str, tuple[UUID, bool]] = {}
    while missing := [new for subject, new in wanted.items() if subject not in found]:
        made = await _insert(session, actor, job_type, missing, batch_id)
        found |= {subject: (job_id, True) for subject, job_id in made.items()}
        if made:
            wake_after_commit(session, *{each.stage for each in missing})
        # Those that end between the two statements leave room for ours in the next round.
        others = [each.subject for each in missing if each.subject not in made]
        active = await _active(session, actor, job_type, others)
        found |= {subject: (job_id, False) for subject, job_id in active.items()}
    return found


async def _insert(
    session: AsyncSession,
    actor: Actor,
    job_type: JobType,
    jobs: Sequence[NewJob],
    batch_id: UUID | None,
) -> dict[str, UUID]:
    given = table_of(
        id=(Uuid, [uuid7() for _ in jobs]),
        subject=(Text, [each.subject for each in jobs]),
        params=(Text, [json.dumps(each.params) for each in jobs]),
        domain_id=(Uuid, [each.domain_id for each in jobs]),
        priority=(SmallInteger, [each.priority for each in jobs]),
    )
    values: dict[str, Any] = {
        "id": given.c.id,
        "subject": given.c.subject,
        "params": cast(given.c.params, JSONB),
        "domain_id": given.c.domain_id,
        "priority": given.c.priority,
        "tenant_id": literal(actor.tenant_id, Uuid),
        "created_by": literal(actor.user_id, Uuid),
        "job_type": literal(job_type.value, Text),
        "batch_id": literal(batch_id, Uuid),
    }
    made = await session.execute(
        insert(Job)
        .from_select(list(values), select(*values.values()), include_defaults=False)
        .on_conflict_do_nothing(
            index_elements=[Job.tenant_id, Job.job_type, Job.subject], index_where=ACTIVE
        )
        .returning(Job.subject, Job.id)
    )
    return dict(made.all())


async def _active(
    session: AsyncSession, actor: Actor, job_type: JobType, subjects: Sequence[str]
) -> dict[str, UUID]:
    if not subjects:
        return {}
    found = await session.execute(
        select(Job.subject, Job.id).where(
            Job.tenant_id == actor.tenant_id,
            Job.job_type == job_type,
            Job.subject == func.any(cast(subjects, ARRAY(Text))),
            is_active(),
        )
    )
    return dict(found.all())
