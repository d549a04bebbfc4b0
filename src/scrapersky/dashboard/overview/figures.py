"""Every stage's figures at one moment: one statement, however many stages there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Float,
    Integer,
    ScalarSelect,
    Select,
    and_,
    extract,
    func,
    literal,
    select,
    true,
    union_all,
)
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.direct import written_out
from scrapersky.pipeline.claims import claims_of
from scrapersky.pipeline.counting import EXACT_UP_TO
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState, StageControl

Where = list[ColumnElement[bool]]


@dataclass(frozen=True)
class StageFigures:
    """One stage right now, of one tenant or of all."""

    name: str
    now: datetime
    queued: int
    due: int
    oldest_due_seconds: float | None
    oldest_ready_seconds: float | None
    working: int
    failed: int
    done: int
    done_is_all: bool
    """Whether `done` was counted; else the table is too large for that."""
    letters: int
    """Open dead letters."""
    paused: bool
    paused_since: datetime | None
    pace: dict[str, Any] | None

    @property
    def paused_seconds(self) -> float | None:
        if not self.paused or self.paused_since is None:
            return None
        return (self.now - self.paused_since).total_seconds()


async def figures_of(
    session: AsyncSession, stages: Sequence[AnyStage], tenant_id: UUID | None, *, places: int
) -> list[StageFigures]:
    """In the order of the stages; of all tenants together when none is named. `places` are those
    of a host of which nothing else is known.

    The tenant's condition stands in the statement itself, for not every part of a union is seen
    by what keeps a session to its tenant.
    """
    every = union_all(*(_of_stage(each, tenant_id, places) for each in stages)).subquery()
    found = await session.execute(
        select(
            every,
            func.coalesce(StageControl.paused, False).label("paused"),
            StageControl.updated_at.label("paused_since"),
            StageControl.pace.label("pace"),
        ).outerjoin(StageControl, StageControl.stage == every.c.name)
    )
    by_name = {row.name: StageFigures(**row._mapping) for row in found}
    return [by_name[each.name] for each in stages]


def _of_stage(stage: AnyStage, tenant_id: UUID | None, places: int) -> Select[Any]:
    ours = _ours(stage, tenant_id)
    queued = _waiting(stage, ours)
    some = _counted(stage, ours)
    return select(
        literal(stage.name).label("name"),
        func.now().label("now"),
        queued.c.queued,
        queued.c.due,
        queued.c.oldest.label("oldest_due_seconds"),
        claims_of(stage).ready_seconds(places, *ours).label("oldest_ready_seconds"),
        _number_with(stage, stage.words.processing, ours).label("working"),
        _number_with(stage, stage.words.failed, ours).label("failed"),
        some.c.done,
        some.c.done_is_all,
        _letters(stage, tenant_id).label("letters"),
    ).select_from(queued.join(some, true()))


def _ours(stage: AnyStage, tenant_id: UUID | None) -> Where:
    fixed = [getattr(stage.model, k) == written_out(v) for k, v in stage.only.items()]
    model: Any = stage.model
    if tenant_id is not None and hasattr(model, "tenant_id"):
        fixed.append(model.tenant_id == tenant_id)
    return fixed


def _waiting(stage: AnyStage, ours: Where) -> Any:
    """Queued, due, and how long the oldest has been due: one look at the queue's own index."""
    due_at = stage.queue.due_at
    is_due: ColumnElement[bool] = due_at <= func.now()
    age = extract("epoch", func.now() - func.min(due_at).filter(is_due)).cast(Float)
    is_queued = stage.queue.status == written_out(stage.words.queued)
    return (
        select(
            func.count().label("queued"),
            func.count().filter(is_due).label("due"),
            age.label("oldest"),
        )
        .select_from(stage.model)
        .where(is_queued, *ours)
        .subquery()
    )


def _number_with(stage: AnyStage, word: str, ours: Where) -> ScalarSelect[int]:
    counted = select(func.count()).select_from(stage.model)
    return counted.where(stage.queue.status == written_out(word), *ours).scalar_subquery()


def _counted(stage: AnyStage, ours: Where) -> Any:
    """The done ones among the first rows; of a small table these are all."""
    look = select(stage.queue.status.label("status")).select_from(stage.model)
    some = look.where(*ours).limit(EXACT_UP_TO + 1).subquery()
    is_done = some.c.status == written_out(stage.words.done)
    return select(
        func.count().filter(is_done).cast(Integer).label("done"),
        (func.count() <= EXACT_UP_TO).cast(Boolean).label("done_is_all"),
    ).subquery()


def _letters(stage: AnyStage, tenant_id: UUID | None) -> ScalarSelect[int]:
    is_open = DeadLetter.state == written_out(DeadLetterState.OPEN.value)
    mine = true() if tenant_id is None else DeadLetter.tenant_id == tenant_id
    counted = select(func.count()).select_from(DeadLetter)
    return counted.where(and_(DeadLetter.stage == stage.name, is_open, mine)).scalar_subquery()
