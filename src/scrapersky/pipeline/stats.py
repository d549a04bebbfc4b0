"""Per-stage counts by status, events of the last hour and durations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
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

from scrapersky.db.statements import inline_text
from scrapersky.pipeline.claims import get_statements
from scrapersky.pipeline.queue_stats import QueueStats
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import EventKind, StageEvent

MAX_EXACT_ROWS = 10_000
"""Tables with more rows are not counted. Their counts are estimated from the planner's statistics.
"""

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
class StatusCounts:
    """Rows by status. Counts of the statuses in `estimated` are approximate."""

    by_status: Mapping[str, int]
    estimated: tuple[str, ...] = ()


ValueShares = Mapping[tuple[str, str], Mapping[str, float]]
"""Frequency of each value by table and column."""


async def count_rows(
    session: AsyncSession, stages: Sequence[AnyStage], figures: Mapping[str, QueueStats]
) -> dict[str, StatusCounts]:
    """Count rows by status.

    Small tables are counted exactly. In large ones, only the statuses with their own index are
    exact. Takes one query, and two more if a table is large.
    """
    small = await _count_small_tables(session, stages)
    large = [each for each in stages if each.name not in small]
    if not large:
        return small
    failed = await _count_failed(session, large)
    rows, shares = await _load_statistics(session, large)
    for each in large:
        figure, words = figures[each.name], each.words
        known = {
            words.queued: figure.queued,
            words.processing: figure.in_flight,
            words.failed: failed[each.name],
        }
        small[each.name] = _merge_counts(known, _estimate_counts(each, rows, shares))
    return small


def _merge_counts(known: Mapping[str, int], estimates: Mapping[str, int]) -> StatusCounts:
    guessed = {word: count for word, count in estimates.items() if word not in known}
    exact = {word: count for word, count in known.items() if count}
    return StatusCounts({**guessed, **exact}, tuple(sorted(guessed)))


async def _count_small_tables(
    session: AsyncSession, stages: Sequence[AnyStage]
) -> dict[str, StatusCounts]:
    """Count the rows of stages whose table is small enough."""
    result = await session.execute(union_all(*(_select_sample(each) for each in stages)))
    totals, ours = defaultdict[str, int](int), defaultdict[str, dict[str, int]](dict)
    for stage, status, count, own in result:
        totals[stage] += count
        if own:
            ours[stage][status] = own
    few = [each.name for each in stages if totals[each.name] <= MAX_EXACT_ROWS]
    return {name: StatusCounts(ours[name]) for name in few}


def _select_sample(stage: AnyStage) -> Select[Any]:
    own = and_(true(), *get_statements(stage).only())
    look = select(stage.queue.status.label("status"), own.label("own"))
    some = look.select_from(stage.model).limit(MAX_EXACT_ROWS + 1).subquery()
    return select(
        literal(stage.name), some.c.status, func.count(), func.count().filter(some.c.own)
    ).group_by(some.c.status)


async def _count_failed(session: AsyncSession, stages: Sequence[AnyStage]) -> dict[str, int]:
    counts = [
        select(literal(each.name), func.count())
        .select_from(each.model)
        .where(each.queue.status == inline_text(each.words.failed), *get_statements(each).only())
        for each in stages
    ]
    return {name: int(count) for name, count in await session.execute(union_all(*counts))}


async def _load_statistics(
    session: AsyncSession, stages: Sequence[AnyStage]
) -> tuple[dict[str, float], ValueShares]:
    """Load row counts and value frequencies as of the last ANALYZE.

    Tables never analyzed are missing.
    """
    words: Any = cast(cast(_statistics.c.most_common_vals, Text), ARRAY(Text))
    result = await session.execute(
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
            _statistics.c.tablename.in_({_get_table_name(each) for each in stages}),
            _statistics.c.attname.in_({name for each in stages for name in _list_columns(each)}),
        )
    )
    rows, shares = dict[str, float](), dict[tuple[str, str], dict[str, float]]()
    for name, attribute, tuples, common, parts in result:
        rows[name] = tuples
        shares[name, attribute] = dict(zip(common or (), parts or (), strict=True))
    return rows, shares


def _get_table_name(stage: AnyStage) -> str:
    return str(stage.model.__tablename__)


def _list_columns(stage: AnyStage) -> tuple[str, ...]:
    return stage.queue.status.key, *stage.only


def _estimate_counts(
    stage: AnyStage, rows: Mapping[str, float], shares: ValueShares
) -> dict[str, int]:
    name = _get_table_name(stage)
    whole = max(rows.get(name, 0.0), 0.0)
    for other, word in stage.only.items():
        whole *= shares.get((name, other), {}).get(word, 0.0)
    parts = shares.get((name, stage.queue.status.key), {})
    return {word: round(whole * part) for word, part in parts.items()}


RATE_WINDOW = timedelta(hours=1)
MAX_EVENTS_SAMPLED = 5_000
"""Most events to read for durations. For busier stages, the newest ones are sufficient."""
WORKED_KINDS = (EventKind.COMPLETED, EventKind.SKIPPED, EventKind.RETRIED, EventKind.FAILED)

Durations = tuple[float | None, float | None]


async def count_recent_events(
    session: AsyncSession, stages: Sequence[AnyStage]
) -> defaultdict[str, dict[str, int]]:
    """Count the events of the last hour by stage and kind."""
    names = [each.name for each in stages]
    result = await session.execute(
        select(StageEvent.stage, StageEvent.kind, func.sum(StageEvent.rows))
        .where(StageEvent.stage.in_(names), StageEvent.at > func.now() - RATE_WINDOW)
        .group_by(StageEvent.stage, StageEvent.kind)
    )
    by_stage = defaultdict[str, dict[str, int]](dict)
    for stage, kind, count in result:
        by_stage[stage][kind] = int(count)
    return by_stage


async def measure_durations(
    session: AsyncSession, stages: Sequence[AnyStage]
) -> dict[str, Durations]:
    """Return the median and the 95th percentile of each stage's durations, in milliseconds."""
    result = await session.execute(union_all(*(_select_durations(each.name) for each in stages)))
    return {stage: (p50, p95) for stage, p50, p95 in result}


def _select_durations(name: str) -> Select[Any]:
    lately = (
        select(StageEvent.durations_ms)
        .where(
            StageEvent.stage == name,
            StageEvent.at > func.now() - RATE_WINDOW,
            StageEvent.kind.in_(WORKED_KINDS),
        )
        .order_by(StageEvent.at.desc())
        .limit(MAX_EVENTS_SAMPLED)
        .subquery()
    )
    each = select(func.unnest(lately.c.durations_ms).label("ms")).subquery()
    parts = [func.percentile_cont(part).within_group(each.c.ms) for part in (0.5, 0.95)]
    return select(literal(name), *parts)
