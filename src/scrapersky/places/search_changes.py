"""What a search found otherwise than the one before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    cast,
    exists,
    func,
    literal,
    select,
    tuple_,
    union_all,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from scrapersky.models import JOB_WORDS, Job, Place, SearchPlace, Sighted


class ChangeKind(StrEnum):
    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"


ORDER = tuple(ChangeKind)
Spot = tuple[int, int, UUID]
"""Where a page of the list ends."""


@dataclass(frozen=True)
class Change:
    kind: ChangeKind
    place: Place
    changes: dict[str, Any]
    spot: Spot


async def previous_run(session: AsyncSession, job: Job) -> Job | None:
    """The last one for the same subject that was done before this one was asked for."""
    return await session.scalar(
        select(Job)
        .where(
            Job.tenant_id == job.tenant_id,
            Job.job_type == job.job_type,
            Job.subject == job.subject,
            Job.status == JOB_WORDS.done,
            Job.created_at < job.created_at,
            Job.id != job.id,
        )
        .order_by(Job.created_at.desc(), Job.id.desc())
        .limit(1)
    )


def tells_what_is_gone(job: Job) -> bool:
    """A place that was not found is only gone when all of the area was looked at."""
    return job.status == JOB_WORDS.done and bool((job.result_data or {}).get("covered"))


async def changes_between(
    session: AsyncSession,
    before: Job,
    job: Job,
    *,
    kinds: Sequence[ChangeKind],
    after: Spot | None,
    limit: int,
) -> list[Change]:
    wanted = [each for each in kinds if each is not ChangeKind.GONE or tells_what_is_gone(job)]
    if not wanted:
        return []
    rows = union_all(*(_of_kind(each, before, job) for each in wanted)).subquery()
    order = (rows.c.kind, rows.c.position, rows.c.place_id)
    found = (
        select(rows.c.kind, rows.c.position, rows.c.changes, Place)
        .join(Place, Place.id == rows.c.place_id)
        .order_by(*order)
        .limit(limit)
    )
    if after is not None:
        found = found.where(tuple_(*order) > after)
    return [
        Change(ORDER[kind], place, changes, (kind, position, place.id))
        for kind, position, changes, place in await session.execute(found)
    ]


def _of_kind(kind: ChangeKind, before: Job, job: Job) -> Select[Any]:
    """Those of one search of which the other does, or does not, know."""
    mine, other = (before, job) if kind is ChangeKind.GONE else (job, before)
    link, twin = aliased(SearchPlace), aliased(SearchPlace)
    in_both = exists().where(twin.search_id == other.id, twin.place_id == link.place_id)
    conditions: list[ColumnElement[bool]] = [link.search_id == mine.id]
    if kind is ChangeKind.CHANGED:
        conditions += [in_both, link.sighted == Sighted.CHANGED]
    else:
        conditions.append(~in_both)
    changes = link.changes if kind is ChangeKind.CHANGED else cast(func.jsonb_build_object(), JSONB)
    return select(
        literal(ORDER.index(kind), Integer).label("kind"),
        link.position.label("position"),
        link.place_id.label("place_id"),
        changes.label("changes"),
    ).where(*conditions)
