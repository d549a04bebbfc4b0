"""Pause, resume and tune stages; reset hosts; replay and discard dead letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import Conflict, InvalidInput, NotFound
from scrapersky.lists import BulkGroup, BulkOut, BulkRequest, build_owner_condition
from scrapersky.lists.bulk import BulkOperation, build_row_operation, execute
from scrapersky.models import Actor, Role, record
from scrapersky.operations.listing import DEAD_LETTER_LISTING, build_stage_listing
from scrapersky.pipeline import bulk
from scrapersky.pipeline.bulk import BulkOptions, StatusTransition, count_letters, is_letter_open
from scrapersky.pipeline.flow import CHANGEABLE_FIELDS
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState, Host, HostSlot, StageControl
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.settings import Pace, Settings


async def replay_dead_letters(
    session: AsyncSession, actor: Actor, stages: Sequence[AnyStage], bulk_request: BulkRequest
) -> BulkOut:
    """Requeue the rows of open dead letters with all their attempts, and close the letters."""
    letters = bulk_request.conditions(DEAD_LETTER_LISTING, actor)

    async def count(stage: AnyStage, options: BulkOptions) -> list[BulkGroup]:
        by_class = await count_letters(session, stage, letters, options)
        return [
            BulkGroup(stage=stage.name, error_class=kind, count=n) for kind, n in by_class.items()
        ]

    async def do(stage: AnyStage, options: BulkOptions) -> list[UUID]:
        return await bulk.replay_letters(session, stage, letters, options=options)

    return await execute(
        session, actor, BulkOperation("dead_letter.replay", count, do), stages, bulk_request
    )


async def discard_dead_letters(
    session: AsyncSession, actor: Actor, bulk_request: BulkRequest
) -> BulkOut:
    """Close open dead letters. Their rows stay failed."""
    letters = bulk_request.conditions(DEAD_LETTER_LISTING, actor)
    kinds = (DeadLetter.stage, DeadLetter.error_class)
    counted = select(*kinds, func.count()).where(is_letter_open(), *letters).group_by(*kinds)
    groups = [
        BulkGroup(stage=stage, error_class=kind, count=n)
        for stage, kind, n in await session.execute(counted)
    ]
    closed = None
    if not bulk_request.dry_run:
        closed = len(
            await bulk.discard_letters(session, letters, options=bulk_request.build_options(actor))
        )
        record(
            session, actor, "dead_letter.discard", None, **bulk_request.to_details(), updated=closed
        )
    return bulk_request.build_response(groups, closed)


async def act_on_rows(
    session: AsyncSession,
    actor: Actor,
    stage: AnyStage,
    act: StatusTransition,
    bulk_request: BulkRequest,
    settings: Settings,
) -> BulkOut:
    """Requeue, cancel or reset rows of any stage."""
    name = f"stage.rows.{act.name}"
    operation = build_row_operation(
        session, actor, act, bulk_request, name=name, listing=build_stage_listing, settings=settings
    )
    return await execute(session, actor, operation, [stage], bulk_request)


MAX_PACE: Mapping[str, float] = {
    "interval_minutes": 24 * 60,
    "batch_size": 10_000,
    "concurrency": 1_000,
    "high_water": 100_000_000,
}
"""Upper bounds of plausible values. Anything larger is a typo."""
INTEGER_FIELDS = {each.name for each in fields(Pace) if each.type == "int"}


async def change_pace(
    session: AsyncSession, actor: Actor, stage: AnyStage, changes: Mapping[str, Any]
) -> dict[str, Any]:
    """Change a stage's pace, and return all of its changes.

    Every process applies them with its next housekeeping. None restores the value from the
    settings. Fields that are not given stay as they are.
    """
    _check_pace(changes)
    control = await session.get(StageControl, stage.name, with_for_update=True)
    kept = {**((control.pace if control else None) or {}), **changes}
    pace = {name: value for name, value in kept.items() if value is not None}
    values = {"pace": pace or None}
    # Leave `updated_at` as it is: it records since when the stage has been paused.
    await session.execute(
        insert(StageControl)
        .values(stage=stage.name, changed_by=actor.user_id, **values)
        .on_conflict_do_update(index_elements=[StageControl.stage], set_=values)
    )
    record(session, actor, "stage.pace", stage.name, changes=dict(changes))
    return pace


def _check_pace(changes: Mapping[str, Any]) -> None:
    if not changes:
        raise InvalidInput(
            f"Nothing to change. Set at least one of {', '.join(CHANGEABLE_FIELDS)}."
        )
    for name, value in changes.items():
        if name not in CHANGEABLE_FIELDS:
            raise InvalidInput(
                f"{name} cannot be changed at run time. These can: {', '.join(CHANGEABLE_FIELDS)}."
            )
        if value is not None and not _is_valid_pace(name, value):
            kind = "a whole number" if name in INTEGER_FIELDS else "a number"
            raise InvalidInput(f"{name} must be {kind} above 0, up to {MAX_PACE[name]:,}.")


def _is_valid_pace(name: str, value: Any) -> bool:
    type_ = int if name in INTEGER_FIELDS else (int, float)
    is_number = isinstance(value, type_) and not isinstance(value, bool)
    return is_number and 0 < value <= MAX_PACE[name]


def select_hosts(*, left_alone: bool = False) -> Select[Any]:
    """Select hosts with their requests in flight, optionally only those whose circuit is open."""
    in_flight = (
        select(func.count())
        .where(HostSlot.host == Host.host, HostSlot.expires_at > func.now())
        .scalar_subquery()
    )
    statement = select(Host, in_flight.label("in_flight"))
    return statement.where(Host.circuit_open_until > func.now()) if left_alone else statement


async def list_hosts(
    session: AsyncSession, *, left_alone: bool, after: str = "", limit: int = 100
) -> Sequence[tuple[Host, int]]:
    result = await session.execute(
        select_hosts(left_alone=left_alone)
        .where(Host.host > after)
        .order_by(Host.host)
        .limit(limit)
    )
    return [(host, int(in_flight)) for host, in_flight in result]


async def reset_host(session: AsyncSession, actor: Actor, host: str) -> tuple[Host, int]:
    """Close the host's circuit and clear its failures. The next request is sent immediately."""
    host_id = await session.scalar(
        update(Host)
        .where(Host.host == host)
        .values(failures=0, circuit_open_until=None, circuit_reason=None, next_slot_at=func.now())
        .returning(Host.host)
    )
    if host_id is None:
        raise NotFound(f"No request has been sent to {host}.")
    record(session, actor, "host.ask_again", host)
    row, in_flight = (await session.execute(select_hosts().where(Host.host == host))).one()
    return row, int(in_flight)


def find_stage(stages: tuple[AnyStage, ...], name: str) -> AnyStage:
    for stage in stages:
        if name == stage.name or name in stage.aliases:
            return stage
    known = ", ".join(stage.name for stage in stages)
    raise NotFound(f"There is no stage {name}. The stages are {known}.")


async def set_paused(
    session: AsyncSession, actor: Actor, stage: AnyStage, *, paused: bool, note: str | None = None
) -> None:
    """Pause or resume a stage.

    Takes effect with the next claim in every process; rows in processing continue.
    """
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


def wake_stage(session: AsyncSession, actor: Actor, stage: AnyStage) -> None:
    """Wake every consumer of the stage immediately."""
    record(session, actor, "stage.run", stage.name)
    wake_after_commit(session, stage.name)


def select_dead_letters(actor: Actor) -> Select[DeadLetter]:
    """Select the tenant's dead letters.

    Those of rows without a tenant belong to the default tenant.
    """
    return select(DeadLetter).where(build_owner_condition(DeadLetter, actor))


async def get_dead_letter(session: AsyncSession, actor: Actor, letter_id: UUID) -> DeadLetter:
    letter = await session.scalar(select_dead_letters(actor).where(DeadLetter.id == letter_id))
    if letter is None:
        raise NotFound(f"There is no dead letter {letter_id}.")
    return letter


def can_read_traceback(actor: Actor) -> bool:
    """Return whether the actor may read tracebacks.

    They reveal files and programs of the machine, so only its operators may.
    """
    return actor.is_operator and actor.role.includes(Role.CURATOR)


async def replay_dead_letter(
    session: AsyncSession, actor: Actor, letter_id: UUID, stages: tuple[AnyStage, ...]
) -> DeadLetter:
    """Requeue the row with all its attempts, and close the letter."""
    letter = await get_dead_letter(session, actor, letter_id)
    stage = find_stage(stages, letter.stage)
    which, options = [DeadLetter.id == letter_id], BulkOptions(by=actor.user_id)
    replayed = await bulk.replay_letters(session, stage, which, options=options)
    await session.refresh(letter)
    if not replayed:
        _check_dead_letter_open(letter)
        raise Conflict(
            f"The row of dead letter {letter_id} is no longer failed, or another row for the same "
            "subject is active. Discard the letter."
        )
    record(session, actor, "dead_letter.replay", letter.id, row_id=str(letter.row_id))
    return letter


async def discard_dead_letter(
    session: AsyncSession, actor: Actor, letter_id: UUID, *, note: str | None = None
) -> DeadLetter:
    """Close the letter; the row stays failed."""
    letter = await _get_open_dead_letter(session, actor, letter_id)
    letter.state = DeadLetterState.DISCARDED
    letter.closed_at = func.now()
    letter.closed_by = actor.user_id
    letter.note = note
    record(session, actor, "dead_letter.discard", letter.id, note=note)
    await session.flush()
    await session.refresh(letter)
    return letter


async def _get_open_dead_letter(session: AsyncSession, actor: Actor, letter_id: UUID) -> DeadLetter:
    """Load and lock an open dead letter.

    If two people close it concurrently, the second one gets a conflict.
    """
    letter = await session.scalar(
        select_dead_letters(actor).where(DeadLetter.id == letter_id).with_for_update()
    )
    if letter is None:
        raise NotFound(f"There is no dead letter {letter_id}.")
    _check_dead_letter_open(letter)
    return letter


def _check_dead_letter_open(letter: DeadLetter) -> None:
    if letter.state != DeadLetterState.OPEN:
        raise Conflict(f"Dead letter {letter.id} was already {letter.state}.")
