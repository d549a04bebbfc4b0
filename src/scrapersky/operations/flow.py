"""Change a stage's pace while it runs; look at hosts, and ask one again that is left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import Select, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import InvalidInput, NotFound
from scrapersky.models import Actor, record
from scrapersky.pipeline.flow import CHANGEABLE
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import Host, HostSlot, StageControl
from scrapersky.settings import Pace

LIMITS: Mapping[str, float] = {
    "interval_minutes": 24 * 60,
    "batch_size": 10_000,
    "concurrency": 1_000,
    "high_water": 100_000_000,
}
"""The most that can be meant; more is a slip of the finger."""
WHOLE = {each.name for each in fields(Pace) if each.type == "int"}


async def change_pace(
    session: AsyncSession, actor: Actor, stage: AnyStage, changes: Mapping[str, Any]
) -> dict[str, Any]:
    """Every process takes it with its next heartbeat. None takes a change back: as the settings
    say. What is not named stays as it is. Answers all that is changed now."""
    _check(changes)
    control = await session.get(StageControl, stage.name, with_for_update=True)
    kept = {**((control.pace if control else None) or {}), **changes}
    pace = {name: value for name, value in kept.items() if value is not None}
    values = {"pace": pace or None}
    # Without `updated_at`, which tells since when the stage is paused.
    await session.execute(
        insert(StageControl)
        .values(stage=stage.name, changed_by=actor.user_id, **values)
        .on_conflict_do_update(index_elements=[StageControl.stage], set_=values)
    )
    record(session, actor, "stage.pace", stage.name, changes=dict(changes))
    return pace


def _check(changes: Mapping[str, Any]) -> None:
    if not changes:
        raise InvalidInput(f"Say what to change: {', '.join(CHANGEABLE)}.")
    for name, value in changes.items():
        if name not in CHANGEABLE:
            raise InvalidInput(
                f"{name} cannot be changed while the program runs; {', '.join(CHANGEABLE)} can."
            )
        if value is not None and not _is_possible(name, value):
            kind = "a whole number" if name in WHOLE else "a number"
            raise InvalidInput(f"{name} must be {kind} above 0, up to {LIMITS[name]:,}.")


def _is_possible(name: str, value: Any) -> bool:
    wanted = int if name in WHOLE else (int, float)
    is_number = isinstance(value, wanted) and not isinstance(value, bool)
    return is_number and 0 < value <= LIMITS[name]


def hosts(*, left_alone: bool = False) -> Select[Any]:
    """Hosts with the requests under way at each; or only those whose circuit is open."""
    in_flight = (
        select(func.count())
        .where(HostSlot.host == Host.host, HostSlot.expires_at > func.now())
        .scalar_subquery()
    )
    found = select(Host, in_flight.label("in_flight"))
    return found.where(Host.circuit_open_until > func.now()) if left_alone else found


async def list_hosts(
    session: AsyncSession, *, left_alone: bool, after: str = "", limit: int = 100
) -> Sequence[tuple[Host, int]]:
    found = await session.execute(
        hosts(left_alone=left_alone).where(Host.host > after).order_by(Host.host).limit(limit)
    )
    return [(host, int(in_flight)) for host, in_flight in found]


async def ask_again(session: AsyncSession, actor: Actor, host: str) -> tuple[Host, int]:
    """Close the host's circuit and forget its failures: the next request goes out."""
    asked = await session.scalar(
        update(Host)
        .where(Host.host == host)
        .values(failures=0, circuit_open_until=None, circuit_reason=None, next_slot_at=func.now())
        .returning(Host.host)
    )
    if asked is None:
        raise NotFound(f"No request has been made to {host}.")
    record(session, actor, "host.ask_again", host)
    row, in_flight = (await session.execute(hosts().where(Host.host == host))).one()
    return row, int(in_flight)
