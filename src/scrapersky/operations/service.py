"""Pause and resume stages; replay and discard dead letters."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Select, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import Conflict, NotFound
from scrapersky.models import Actor
from scrapersky.pipeline import dead_letters
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState, StageControl
from scrapersky.pipeline.wake import wake_after_commit


def find_stage(stages: tuple[AnyStage, ...], name: str) -> AnyStage:
    for stage in stages:
        if name == stage.name or name in stage.aliases:
            return stage
    known = ", ".join(stage.name for stage in stages)
    raise NotFound(f"There is no stage {name}; the stages are {known}.")


async def set_paused(
    session: AsyncSession, actor: Actor, stage: AnyStage, *, paused: bool, note: str | None = None
) -> None:
    """Takes effect with the next claim, in every process; rows being worked go on."""
    values = {"paused": paused, "note": note, "changed_by": actor.user_id}
    await session.execute(
        insert(StageControl)
        .values(stage=stage.name, **values)
        .on_conflict_do_update(
            index_elements=[StageControl.stage], set_={**values, "updated_at": func.now()}
        )
    )
    if not paused:
        wake_after_commit(session, stage.name)


def run_now(session: AsyncSession, stage: AnyStage) -> None:
    """Have every consumer of the stage look at its queue at once."""
    wake_after_commit(session, stage.name)


def letters_of(actor: Actor) -> Select[DeadLetter]:
    """The tenant's, and those of rows that belong to nobody."""
    mine = or_(DeadLetter.tenant_id == actor.tenant_id, DeadLetter.tenant_id.is_(None))
    return select(DeadLetter).where(mine)


async def get_letter(session: AsyncSession, actor: Actor, letter_id: UUID) -> DeadLetter:
    letter = await session.scalar(letters_of(actor).where(DeadLetter.id == letter_id))
    if letter is None:
        raise NotFound(f"There is no dead letter {letter_id}.")
    return letter


async def replay(
    session: AsyncSession, actor: Actor, letter_id: UUID, stages: tuple[AnyStage, ...]
) -> DeadLetter:
    """Give the row a new start, with all its attempts."""
    letter = await _open_letter(session, actor, letter_id)
    stage = find_stage(stages, letter.stage)
    if not await dead_letters.requeue(session, stage, [letter.row_id], by=actor.user_id):
        raise Conflict(
            f"The row of dead letter {letter_id} is not failed any more; discard the letter."
        )
    await session.refresh(letter)
    return letter


async def discard(
    session: AsyncSession, actor: Actor, letter_id: UUID, *, note: str | None = None
) -> DeadLetter:
    """Close the letter; the row stays failed."""
    letter = await _open_letter(session, actor, letter_id)
    letter.state = DeadLetterState.DISCARDED
    letter.closed_at = func.now()
    letter.closed_by = actor.user_id
    letter.note = note
    await session.flush()
    await session.refresh(letter)
    return letter


async def _open_letter(session: AsyncSession, actor: Actor, letter_id: UUID) -> DeadLetter:
    """Locked, so that of two people who replay the same letter one is told."""
    letter = await session.scalar(
        letters_of(actor).where(DeadLetter.id == letter_id).with_for_update()
    )
    if letter is None:
        raise NotFound(f"There is no dead letter {letter_id}.")
    if letter.state != DeadLetterState.OPEN:
        raise Conflict(f"Dead letter {letter_id} was {letter.state} already.")
    return letter
