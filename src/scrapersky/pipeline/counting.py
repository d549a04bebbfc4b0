"""Rows by status of every stage at once, without reading a large table through."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ARRAY,
    Float,
    Select,
    Text,
    and_,
    cast,
    column,
    func,
    literal,
    select,
    table,
    true,
    union_all,
)
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.direct import written_out
from scrapersky.pipeline.claims import claims_of
from scrapersky.pipeline.queue_figures import QueueFigures
from scrapersky.pipeline.stage import AnyStage

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


Shares = Mapping[tuple[str, str], Mapping[str, float]]
"""How much of a table has which word in a column."""


async def count_rows(
    session: AsyncSession, stages: Sequence[AnyStage], figures: Mapping[str, QueueFigures]
) -> dict[str, Counts]:
    """Exact while a table is small; after that, what has an index of its own stays exact. One
    query, and two more when a table is large."""
    small = await _counted(session, stages)
    large = [each for each in stages if each.name not in small]
    if not large:
        return small
    failed = await _failed(session, large)
    rows, shares = await _statistics_of(session, large)
    for each in large:
        figure, words = figures[each.name], each.words
        known = {
            words.queued: figure.queued,
            words.processing: figure.in_flight,
            words.failed: failed[each.name],
        }
        small[each.name] = _joined(known, _estimated(each, rows, shares))
    return small


def _joined(known: Mapping[str, int], estimates: Mapping[str, int]) -> Counts:
    guessed = {word: count for word, count in estimates.items() if word not in known}
    exact = {word: count for word, count in known.items() if count}
    return Counts({**guessed, **exact}, tuple(sorted(guessed)))


async def _counted(session: AsyncSession, stages: Sequence[AnyStage]) -> dict[str, Counts]:
    """Only those whose table is small enough."""
    found = await session.execute(union_all(*(_first_rows(each) for each in stages)))
    seen, ours = defaultdict[str, int](int), defaultdict[str, dict[str, int]](dict)
    for stage, status, count, own in found:
        seen[stage] += count
        if own:
            ours[stage][status] = own
    few = [each.name for each in stages if seen[each.name] <= EXACT_UP_TO]
    return {name: Counts(ours[name]) for name in few}


def _first_rows(stage: AnyStage) -> Select[Any]:
    own = and_(true(), *claims_of(stage).only())
    look = select(stage.queue.status.label("status"), own.label("own"))
    some = look.select_from(stage.model).limit(EXACT_UP_TO + 1).subquery()
    return select(
        literal(stage.name), some.c.status, func.count(), func.count().filter(some.c.own)
    ).group_by(some.c.status)


async def _failed(session: AsyncSession, stages: Sequence[AnyStage]) -> dict[str, int]:
    counts = [
        select(literal(each.name), func.count())
        .select_from(each.model)
        .where(each.queue.status == written_out(each.words.failed), *claims_of(each).only())
        for each in stages
    ]
    return {name: int(count) for name, count in await session.execute(union_all(*counts))}


async def _statistics_of(
    session: AsyncSession, stages: Sequence[AnyStage]
) -> tuple[dict[str, float], Shares]:
    """What ANALYZE last saw; nothing of tables where it has not been yet."""
    words: Any = cast(cast(_statistics.c.most_common_vals, Text), ARRAY(Text))
    found = await session.execute(
        select(
            _statistics.c.tablename,
            _statistics.c.attname,
            _tables.c.reltuples,
            words,
            _statistics.c.most_common_freqs,
        )
        .join(_tables, _tables.c.oid == func.to_regclass(_statistics.c.tablename))
        .where(
            _statistics.c.schemaname == func.current_schema(),
            _statistics.c.tablename.in_({_table_of(each) for each in stages}),
            _statistics.c.attname.in_({name for each in stages for name in _columns_of(each)}),
        )
    )
    rows, shares = dict[str, float](), dict[tuple[str, str], dict[str, float]]()
    for name, attribute, tuples, common, parts in found:
        rows[name] = tuples
        shares[name, attribute] = dict(zip(common or (), parts or (), strict=True))
    return rows, shares


def _table_of(stage: AnyStage) -> str:
    return str(stage.model.__tablename__)


def _columns_of(stage: AnyStage) -> tuple[str, ...]:
    return stage.queue.status.key, *stage.only


def _estimated(stage: AnyStage, rows: Mapping[str, float], shares: Shares) -> dict[str, int]:
    name = _table_of(stage)
    whole = max(rows.get(name, 0.0), 0.0)
    for other, word in stage.only.items():
        whole *= shares.get((name, other), {}).get(word, 0.0)
    parts = shares.get((name, stage.queue.status.key), {})
    return {word: round(whole * part) for word, part in parts.items()}
