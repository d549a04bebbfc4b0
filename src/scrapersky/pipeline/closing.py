"""Close dead letters: they stay, with who closed them, when and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, func, or_, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.direct import written_out
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState


async def close(
    session: AsyncSession,
    stage: AnyStage,
    rows: Sequence[UUID],
    *,
    state: DeadLetterState,
    by: UUID | None = None,
    note: str | None = None,
) -> int:
    """Close the open dead letters of these rows."""
    which = (is_of(stage), DeadLetter.row_id == func.any(list(rows)))
    return await _close(session, which, {"state": state, "closed_by": by, "note": note})


async def close_these(
    session: AsyncSession,
    letters: Sequence[UUID],
    *,
    state: DeadLetterState,
    by: UUID | None = None,
    note: str | None = None,
) -> int:
    """Close those of these dead letters that are open."""
    which = (DeadLetter.id == func.any(list(letters)),)
    return await _close(session, which, {"state": state, "closed_by": by, "note": note})


async def _close(
    session: AsyncSession, which: Sequence[ColumnElement[bool]], values: dict[str, Any]
) -> int:
    """It stays, with who closed it and when: letters are history."""
    closed = await session.execute(
        update(DeadLetter)
        .where(*which, is_open())
        .values(closed_at=func.now(), **values)
        .execution_options(synchronize_session=False)
    )
    return int(closed.rowcount)  # type: ignore[attr-defined]


def is_open() -> ColumnElement[bool]:
    return DeadLetter.state == written_out(DeadLetterState.OPEN.value)


def is_of(stage: AnyStage) -> ColumnElement[bool]:
    """Under the name the stage has or one it had."""
    return or_(*(DeadLetter.stage == written_out(name) for name in (stage.name, *stage.aliases)))
