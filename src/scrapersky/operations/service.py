"""Pause and resume stages; replay and discard dead letters."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import Conflict, NotFound
from scrapersky.http.lists import owned_by
from scrapersky.models import Actor, Role, record
from scrapersky.pipeline import bulk_acts
from scrapersky.pipeline.bulk_acts import Manner
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
    record(session, actor, "stage.pause" if paused else "stage.resume", stage.name, note=note)
    if not paused:
        wake_after_commit(session, stage.name)


def run_now(session: AsyncSession, actor: Actor, stage: AnyStage) -> None:
    """Have every consumer of the stage look at its queue at once."""
    record(session, actor, "stage.run", stage.name)
    wake_after_commit(session, stage.name)


def letters_of(actor: Actor) -> Select[DeadLetter]:
    """The tenant's; those of rows that are nobody's are the default tenant's."""
    return select(DeadLetter).where(owned_by(DeadLetter, actor))


async def get_letter(session: AsyncSession, actor: Actor, letter_id: UUID) -> DeadLetter:
    letter = await session.scalar(letters_of(actor).where(DeadLetter.id == letter_id))
    if letter is None:
        raise NotFound(f"There is no dead letter {letter_id}.")
    return letter


def can_read_traceback(actor: Actor) -> bool:
    """Tracebacks tell of files and programs of the machine: they are for who runs it."""
    return actor.is_operator and actor.role.includes(Role.CURATOR)


async def replay(
    session: AsyncSession, actor: Actor, letter_id: UUID, stages: tuple[AnyStage, ...]
) -> DeadLetter:
    """Give the row a new start, with all its attempts."""
    letter = await get_letter(session, actor, letter_id)
    stage = find_stage(stages, letter.stage)
    which, manner = [DeadLetter.id == letter_id], Manner(by=actor.user_id)
    taken = await bulk_acts.replay(session, stage, which, manner=manner)
    await session.refresh(letter)
    if not taken:
        _refuse_closed(letter)
        raise Conflict(
            f"The row of dead letter {letter_id} is not failed any more, or another one is active "
            "for the same; discard the letter."
        )
    record(session, actor, "dead_letter.replay", letter.id, row_id=str(letter.row_id))
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
    record(session, actor, "dead_letter.discard", letter.id, note=note)
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
    _refuse_closed(letter)
    return letter


def _refuse_closed(letter: DeadLetter) -> None:
    if letter.state != DeadLetterState.OPEN:
        raise Conflict(f"Dead letter {letter.id} was {letter.state} already.")
