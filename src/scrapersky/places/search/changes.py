"""Diff a search against the previous run of the same search."""

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

from scrapersky.models import JOB_STATUSES, Job, Place, PlaceSightingState, SearchPlace


class PlaceChangeKind(StrEnum):
    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"


KIND_ORDER = tuple(PlaceChangeKind)
ChangePosition = tuple[int, int, UUID]
"""Position of a change in the list, for the cursor."""


@dataclass(frozen=True)
class SearchChange:
    kind: PlaceChangeKind
    place: Place
    changes: dict[str, Any]
    spot: ChangePosition


async def find_previous_run(session: AsyncSession, job: Job) -> Job | None:
    """Return the last run of the same search that finished before this one was requested."""
    return await session.scalar(
        select(Job)
        .where(
            Job.tenant_id == job.tenant_id,
            Job.job_type == job.job_type,
            Job.subject == job.subject,
            Job.status == JOB_STATUSES.done,
            Job.created_at < job.created_at,
            Job.id != job.id,
        )
        .order_by(Job.created_at.desc(), Job.id.desc())
        .limit(1)
    )


def can_detect_gone(job: Job) -> bool:
    """Return whether missing places can be reported as gone: only if the whole area was covered."""
    return job.status == JOB_STATUSES.done and bool((job.result_data or {}).get("covered"))


async def list_changes(
    session: AsyncSession,
    before: Job,
    job: Job,
    *,
    kinds: Sequence[PlaceChangeKind],
    after: ChangePosition | None,
    limit: int,
) -> list[SearchChange]:
    wanted_kinds = [
        each for each in kinds if each is not PlaceChangeKind.GONE or can_detect_gone(job)
    ]
    if not wanted_kinds:
        return []
    rows = union_all(*(_select_changes(each, before, job) for each in wanted_kinds)).subquery()
    order = (rows.c.kind, rows.c.position, rows.c.place_id)
    statement = (
        select(rows.c.kind, rows.c.position, rows.c.changes, Place)
        .join(Place, Place.id == rows.c.place_id)
        .order_by(*order)
        .limit(limit)
    )
    if after is not None:
        statement = statement.where(tuple_(*order) > after)
    return [
        SearchChange(KIND_ORDER[kind], place, changes, (kind, position, place.id))
        for kind, position, changes, place in await session.execute(statement)
    ]


def _select_changes(kind: PlaceChangeKind, before: Job, job: Job) -> Select[Any]:
    """Select places of one search that the other has, or does not have."""
    mine, other = (before, job) if kind is PlaceChangeKind.GONE else (job, before)
    link, duplicate = aliased(SearchPlace), aliased(SearchPlace)
    in_both = exists().where(duplicate.search_id == other.id, duplicate.place_id == link.place_id)
    conditions: list[ColumnElement[bool]] = [link.search_id == mine.id]
    if kind is PlaceChangeKind.CHANGED:
        conditions += [in_both, link.sighted == PlaceSightingState.CHANGED]
    else:
        conditions.append(~in_both)
    changes = (
        link.changes if kind is PlaceChangeKind.CHANGED else cast(func.jsonb_build_object(), JSONB)
    )
    return select(
        literal(KIND_ORDER.index(kind), Integer).label("kind"),
        link.position.label("position"),
        link.place_id.label("place_id"),
        changes.label("changes"),
    ).where(*conditions)
