"""Count a stage's rows by status without reading a large table through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ARRAY, Float, Text, and_, cast, column, func, select, table, true
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.direct import written_out
from scrapersky.pipeline.claims import claims_of
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState

EXACT_UP_TO = 10_000
"""Tables with more rows are not counted: the planner's statistics tell about how many there are."""

_tables = table("pg_class", column("oid"), column("reltuples", Float))
_statistics = table(
    "pg_stats",
    column("schemaname", Text),
    column("tablename", Text),
    column("attname", Text),
    column("most_common_vals"),
    column("most_common_freqs", ARRAY(Float)),
)


@dataclass(frozen=True)
class Counts:
    """Rows by status; those of `estimated` are about right only."""

    by_status: Mapping[str, int]
    estimated: tuple[str, ...] = ()


async def count_rows(
    session: AsyncSession, stage: AnyStage, *, queued: int, in_flight: int
) -> Counts:
    """Exact while the table is small; after that, what has an index of its own stays exact."""
    if (small := await _counted(session, stage)) is not None:
        return Counts(small)
    words = stage.words
    failed = await _count_failed(session, stage)
    known = {words.queued: queued, words.processing: in_flight, words.failed: failed}
    estimates = await _estimated(session, stage)
    guessed = {word: count for word, count in estimates.items() if word not in known}
    exact = {word: count for word, count in known.items() if count}
    return Counts({**guessed, **exact}, tuple(sorted(guessed)))


async def count_open_letters(session: AsyncSession, stage: AnyStage) -> int:
    is_open = DeadLetter.state == DeadLetterState.OPEN.value
    counted = select(func.count()).select_from(DeadLetter)
    return int(await session.scalar(counted.where(DeadLetter.stage == stage.name, is_open)) or 0)


async def _count_failed(session: AsyncSession, stage: AnyStage) -> int:
    failed = stage.queue.status == written_out(stage.words.failed)
    counted = select(func.count()).select_from(stage.model)
    return int(await session.scalar(counted.where(failed, *claims_of(stage).only())) or 0)


async def _counted(session: AsyncSession, stage: AnyStage) -> dict[str, int] | None:
    """None when there are too many."""
    ours = and_(true(), *claims_of(stage).only())
    look = select(stage.queue.status.label("status"), ours.label("ours"))
    some = look.select_from(stage.model).limit(EXACT_UP_TO + 1).subquery()
    counted = select(some.c.status, func.count(), func.count().filter(some.c.ours))
    found = (await session.execute(counted.group_by(some.c.status))).all()
    if sum(row[1] for row in found) > EXACT_UP_TO:
        return None
    return {status: count for status, _, count in found if count}


async def _estimated(session: AsyncSession, stage: AnyStage) -> dict[str, int]:
    """From what ANALYZE last saw; nothing when it has not been there yet."""
    name = str(stage.model.__tablename__)
    rows = await session.scalar(
        select(_tables.c.reltuples).where(_tables.c.oid == func.to_regclass(name))
    )
    share = 1.0
    for other, word in stage.only.items():
        share *= (await _shares(session, name, other)).get(word, 0.0)
    shares = await _shares(session, name, stage.queue.status.key)
    whole = max(rows or 0.0, 0.0) * share
    return {word: round(whole * part) for word, part in shares.items()}


async def _shares(session: AsyncSession, name: str, attribute: str) -> dict[str, float]:
    words: Any = cast(cast(_statistics.c.most_common_vals, Text), ARRAY(Text))
    found = await session.execute(
        select(words, _statistics.c.most_common_freqs).where(
            _statistics.c.schemaname == func.current_schema(),
            _statistics.c.tablename == name,
            _statistics.c.attname == attribute,
        )
    )
    row = found.first()
    return dict(zip(row[0] or (), row[1] or (), strict=True)) if row else {}
