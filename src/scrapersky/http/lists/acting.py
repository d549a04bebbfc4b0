"""Carry out a bulk act stage by stage, within the request's transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.http.lists.bulk import BulkAsked, BulkOut, Group
from scrapersky.http.lists.listing import Listing
from scrapersky.models import Actor, record
from scrapersky.pipeline.bulk_acts import (
    CANCEL,
    Act,
    Manner,
    cancel,
    count_rows,
    last_due,
    start_over,
)
from scrapersky.pipeline.stage import AnyStage
from scrapersky.settings import Settings


@dataclass(frozen=True)
class Deed:
    """An act on what somebody chose: how much of a stage it would take, and taking it."""

    name: str
    """For the audit log: `job.cancel`."""
    count: Callable[[AnyStage, Manner], Awaitable[list[Group]]]
    do: Callable[[AnyStage, Manner], Awaitable[list[UUID]]]


async def carry_out(
    session: AsyncSession, actor: Actor, deed: Deed, stages: Sequence[AnyStage], asked: BulkAsked
) -> BulkOut:
    """Count, and unless that was all that was wanted, act; both are in the answer."""
    manner = asked.manner(actor)
    groups = [group for stage in stages for group in await deed.count(stage, manner)]
    updated, latest = 0, None
    for stage in () if asked.dry_run else stages:
        ids = await deed.do(stage, replace(manner, limit=manner.limit - updated))
        updated += len(ids)
        if manner.per_minute is not None:
            latest = _later(latest, await last_due(session, stage, ids))
    if not asked.dry_run:
        names = ", ".join(each.name for each in stages)
        record(session, actor, deed.name, names, **asked.as_details(), updated=updated)
    answer = asked.answer(groups, None if asked.dry_run else updated)
    return answer.model_copy(update={"last_due_at": latest})


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((each for each in (one, other) if each is not None), default=None)


def on_rows(
    session: AsyncSession,
    actor: Actor,
    act: Act,
    asked: BulkAsked,
    *,
    name: str,
    listing: Callable[[AnyStage], Listing],
    settings: Settings,
) -> Deed:
    """An act on rows of stages, chosen as the list that shows them does."""

    async def count(stage: AnyStage, manner: Manner) -> list[Group]:
        where = asked.conditions(listing(stage), actor)
        found = await count_rows(session, stage, act, where, manner)
        return [Group(stage=stage.name, status=word, count=n) for word, n in found.items()]

    async def do(stage: AnyStage, manner: Manner) -> list[UUID]:
        where = asked.conditions(listing(stage), actor)
        if act is CANCEL:
            return await cancel(session, stage, where, manner=manner, settings=settings)
        return await start_over(session, stage, act, where, manner=manner)

    return Deed(name, count, do)
