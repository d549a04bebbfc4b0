"""Replay and discard many dead letters; requeue, cancel and reset many rows of a stage."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.http.lists import BulkAsked, BulkOut, Group
from scrapersky.http.lists.acting import Deed, carry_out, on_rows
from scrapersky.models import Actor, record
from scrapersky.operations.listing import LETTERS, rows_of
from scrapersky.pipeline import bulk_acts
from scrapersky.pipeline.bulk_acts import Act, Manner, count_letters
from scrapersky.pipeline.closing import is_open
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import DeadLetter
from scrapersky.settings import Settings


async def replay_letters(
    session: AsyncSession, actor: Actor, stages: Sequence[AnyStage], asked: BulkAsked
) -> BulkOut:
    """Give the rows of open letters a new start, with all their attempts."""
    letters = asked.conditions(LETTERS, actor)

    async def count(stage: AnyStage, manner: Manner) -> list[Group]:
        found = await count_letters(session, stage, letters, manner)
        return [Group(stage=stage.name, error_class=kind, count=n) for kind, n in found.items()]

    async def do(stage: AnyStage, manner: Manner) -> list[UUID]:
        return await bulk_acts.replay(session, stage, letters, manner=manner)

    return await carry_out(session, actor, Deed("dead_letter.replay", count, do), stages, asked)


async def discard_letters(session: AsyncSession, actor: Actor, asked: BulkAsked) -> BulkOut:
    """Close open letters; their rows stay failed."""
    letters = asked.conditions(LETTERS, actor)
    kinds = (DeadLetter.stage, DeadLetter.error_class)
    counted = select(*kinds, func.count()).where(is_open(), *letters).group_by(*kinds)
    groups = [
        Group(stage=stage, error_class=kind, count=n)
        for stage, kind, n in await session.execute(counted)
    ]
    closed = None
    if not asked.dry_run:
        closed = len(await bulk_acts.discard(session, letters, manner=asked.manner(actor)))
        record(session, actor, "dead_letter.discard", None, **asked.as_details(), updated=closed)
    return asked.answer(groups, closed)


async def act_on_rows(
    session: AsyncSession,
    actor: Actor,
    stage: AnyStage,
    act: Act,
    asked: BulkAsked,
    settings: Settings,
) -> BulkOut:
    """Requeue, cancel or reset rows of any stage."""
    name = f"stage.rows.{act.name}"
    deed = on_rows(session, actor, act, asked, name=name, listing=rows_of, settings=settings)
    return await carry_out(session, actor, deed, [stage], asked)
