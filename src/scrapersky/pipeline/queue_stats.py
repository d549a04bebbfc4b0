"""Bounded queue statistics of every stage in one statement.

Probes request them every few seconds, most often while queues are longest, so at most `MAX_COUNTED`
rows of a queue are read. A shorter queue is counted exactly. Of a longer one, the first row of each
group (host, priority) is read with one index probe, which gives the oldest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Float,
    Integer,
    ScalarSelect,
    Select,
    case,
    cast,
    extract,
    func,
    literal,
    null,
    or_,
    select,
    true,
    tuple_,
    union_all,
)
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.statements import inline_text
from scrapersky.pipeline.claims import get_statements
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState, Worker
from scrapersky.settings import Settings

MAX_COUNTED = 10_000
"""Most rows of one queue to count, and most groups of a longer queue to probe.

Hosts take turns, so if there are more hosts than this, the first ones are as late as the others.
"""
MAX_UNHANDLED_COUNTED = 10_000
MAX_VALUES_PROBED = 20


@dataclass(frozen=True)
class QueueStats:
    """The statistics of one stage's queue at one moment."""

    stage: str
    now: datetime
    queued: int
    """At most `MAX_COUNTED`."""
    due: int
    """At most `MAX_COUNTED`; a lower bound for a longer queue."""
    oldest_due_seconds: float | None
    oldest_ready_seconds: float | None
    next_due_at: datetime | None
    in_flight: int
    overdue: int
    stuck: int
    stuck_seconds: float | None
    dead_letters: int
    """At most `MAX_COUNTED`."""

    @property
    def is_capped(self) -> bool:
        """Whether there may be more rows than were counted."""
        return max(self.queued, self.dead_letters) >= MAX_COUNTED


@dataclass(frozen=True)
class UnhandledRows:
    """Queued rows of a shared table that no stage handles."""

    table: str
    column: str
    """The column that distinguishes the stages, such as `job_type`."""
    value: str
    rows: int
    """At most `MAX_UNHANDLED_COUNTED` + 1."""


def describe_count(*counts: int) -> str:
    """Format the sum of counts for people: `12`, or `10,000+` if one of them was capped."""
    more = "+" if MAX_COUNTED in counts else ""
    return f"{sum(counts):,}{more}"


async def load_queue_stats(
    session: AsyncSession, stages: Sequence[AnyStage], settings: Settings
) -> dict[str, QueueStats]:
    result = await session.execute(
        union_all(*(_select_stage_stats(each, settings) for each in stages))
    )
    return {row.stage: QueueStats(**_convert_row(row._mapping)) for row in result}


def _convert_row(row: Any) -> dict[str, Any]:
    oldest = row["oldest_due_seconds"]
    return {**row, "oldest_due_seconds": None if oldest is None else float(oldest)}


def _select_stage_stats(stage: AnyStage, settings: Settings) -> Select[Any]:
    """Select the statistics of one stage.

    Both parts have exactly one row, so the join has one row.
    """
    some = _select_first_rows(stage)
    heads = _select_heads(stage, some)
    waiting = _select_waiting(some, heads).subquery()
    held = select_held(stage, settings).subquery()
    letters = select(DeadLetter.id).where(*match_open_letters(stage)).limit(MAX_COUNTED).subquery()
    ready = get_statements(stage).ready_since(settings.host_concurrency, heads).scalar_subquery()
    return select(
        literal(stage.name).label("stage"),
        func.now().label("now"),
        *waiting.c,
        cast(extract("epoch", func.now() - ready), Float).label("oldest_ready_seconds"),
        *held.c,
        select(func.count()).select_from(letters).scalar_subquery().label("dead_letters"),
    ).select_from(waiting.join(held, true()))


def match_open_letters(stage: AnyStage) -> tuple[ColumnElement[bool], ...]:
    is_open = DeadLetter.state == inline_text(DeadLetterState.OPEN.value)
    return DeadLetter.stage == inline_text(stage.name), is_open


def _select_queue(stage: AnyStage) -> Select[Any]:
    """Select queued rows in the order of the queue's index, which covers all columns needed."""
    claims, due_at = get_statements(stage), stage.queue.due_at
    group = claims.group()
    labels = [each.label(f"key{n}") for n, each in enumerate(group)]
    queued = select(*labels, due_at.label("due_at")).where(claims.is_queued(), *claims.only())
    return queued.order_by(*group, due_at)


def _select_first_rows(stage: AnyStage) -> CTE:
    return _select_queue(stage).limit(MAX_COUNTED + 1).cte().prefix_with("MATERIALIZED")


def _select_heads(stage: AnyStage, some: CTE) -> CTE:
    """Select the rows that determine the age of a queue.

    These are all rows of a short queue, or the first row of each group of a longer one. `later` is
    the next due time of the group that is still in the future.
    """
    claims, due_at = get_statements(stage), stage.queue.due_at
    count = select(func.count()).select_from(some).scalar_subquery()
    is_due = some.c.due_at <= func.now()
    later = case((is_due, null()), else_=some.c.due_at).label("later")
    short = select(some, later).where(count <= MAX_COUNTED)
    groups = _walk_groups(stage, count)
    same = [column == groups.c[f"key{n}"] for n, column in enumerate(claims.group())]
    following = (
        select(due_at)
        .where(claims.is_queued(), *claims.only(), *same, due_at > func.now())
        .order_by(due_at)
        .limit(1)
        .correlate(groups)
        .scalar_subquery()
    )
    columns = [groups.c[each.key] for each in some.c]
    long = select(*columns, following.label("later"))
    return union_all(short, long).cte().prefix_with("MATERIALIZED")


def _walk_groups(stage: AnyStage, count: ScalarSelect[int]) -> CTE:
    """Select the first row of each group, if the queue exceeds MAX_COUNTED.

    A loose index scan: one probe per group.
    """
    group, first = get_statements(stage).group(), _select_queue(stage).limit(1)
    start = first.subquery()
    begin = select(start, literal(1, Integer).label("turn")).where(count > MAX_COUNTED)
    if not group:
        return begin.cte()
    walk = begin.cte(recursive=True)
    keys = [walk.c[f"key{n}"] for n in range(len(group))]
    following = first.where(tuple_(*group) > tuple_(*keys)).lateral()
    step = select(following, walk.c.turn + 1).select_from(walk.join(following, true()))
    return walk.union_all(step.where(walk.c.turn < MAX_COUNTED))


def _select_waiting(some: CTE, heads: CTE) -> Select[Any]:
    """Select the counts, the age of the oldest due row and the next due time.

    Each due group has at least one due row, even if it is not among the rows counted.
    """
    counted = (
        select(
            func.count().label("queued"),
            func.count().filter(some.c.due_at <= func.now()).label("due"),
        )
        .select_from(some)
        .subquery()
    )
    is_due = heads.c.due_at <= func.now()
    oldest = select(
        func.count().filter(is_due).label("due"),
        func.min(heads.c.due_at).filter(is_due).label("oldest"),
        func.min(heads.c.later).label("next_due_at"),
    ).subquery()
    return select(
        func.least(counted.c.queued, MAX_COUNTED).label("queued"),
        func.least(func.greatest(counted.c.due, oldest.c.due), MAX_COUNTED).label("due"),
        extract("epoch", func.now() - oldest.c.oldest).label("oldest_due_seconds"),
        oldest.c.next_due_at,
    ).select_from(counted.join(oldest, true()))


async def count_whole_queues(
    session: AsyncSession, stages: Sequence[AnyStage], figures: Mapping[str, QueueStats]
) -> dict[str, QueueStats]:
    """Return the same statistics with exact counts.

    For reports that may take longer than a probe.
    """
    long = [each for each in stages if figures[each.name].is_capped]
    if not long:
        return dict(figures)
    result = await session.execute(union_all(*(_select_exact_counts(each) for each in long)))
    exact = {
        row.stage: replace(
            figures[row.stage], queued=row.queued, due=row.due, dead_letters=row.dead_letters
        )
        for row in result
    }
    return {**figures, **exact}


def _select_exact_counts(stage: AnyStage) -> Select[Any]:
    claims = get_statements(stage)
    letters = select(func.count(DeadLetter.id)).where(*match_open_letters(stage)).scalar_subquery()
    columns: Sequence[Any] = (
        literal(stage.name).label("stage"),
        func.count(stage.queue.due_at).label("queued"),
        func.count(stage.queue.due_at).filter(claims.is_due()).label("due"),
        letters.label("dead_letters"),
    )
    return select(*columns).where(claims.is_queued(), *claims.only())


def select_held(
    stage: AnyStage, settings: Settings, *only: ColumnElement[bool]
) -> Select[tuple[Any, ...]]:
    """Select one row of figures about the rows in processing.

    They are few (at most the slots of all workers) and have their own index.
    """
    claims, queue = get_statements(stage), stage.queue
    grace = timedelta(seconds=settings.lease_grace_seconds)
    overdue = or_(
        queue.lease_token.is_(None),
        queue.lease_expires_at.is_(None),
        queue.lease_expires_at < func.now() + grace,
    )
    dead_after = timedelta(seconds=settings.worker_dead_after_seconds)
    is_stuck = claims.is_lost(literal(dead_after))
    last_beat = select(Worker.beat_at).where(Worker.id == queue.worker_id).scalar_subquery()
    # If the worker's row is gone, `last_beat` is NULL and LEAST ignores it. The lease alone then
    # determines the time.
    stuck_since = func.least(queue.lease_expires_at, last_beat + dead_after)
    stuck_for = extract("epoch", func.now() - func.min(stuck_since).filter(is_stuck))
    columns: Sequence[Any] = (
        func.count().label("in_flight"),
        func.count().filter(overdue).label("overdue"),
        func.count().filter(is_stuck).label("stuck"),
        cast(stuck_for, Float).label("stuck_seconds"),
    )
    return select(*columns).where(claims.is_processing(), *claims.only(), *only)


async def find_unhandled(
    session: AsyncSession, stages: Sequence[AnyStage]
) -> Sequence[UnhandledRows]:
    """Find queued rows that no stage handles.

    Only tables are checked that several stages share, where each handles one value of a column.
    `stages` must contain all stages. The values are found by a loose index scan on the queue's
    index, whose first column it is: one probe per value, however many rows are queued. The counts
    are bounded too.
    """
    by_column: dict[tuple[Any, str, str], list[AnyStage]] = {}
    for stage in stages:
        for column in stage.only:
            by_column.setdefault((stage.model, stage.status, column), []).append(stage)
    unhandled: list[UnhandledRows] = []
    for (model, _, column), sharing in by_column.items():
        rows = await session.execute(_select_unhandled(sharing, column))
        unhandled += [UnhandledRows(model.__tablename__, column, *row) for row in rows]
    return unhandled


def _select_unhandled(sharing: Sequence[AnyStage], name: str) -> Select[Any]:
    is_queued, column = get_statements(sharing[0]).is_queued(), getattr(sharing[0].model, name)
    values = select(func.min(column).label("value")).where(is_queued).cte(recursive=True)
    following = select(func.min(column)).where(is_queued, column > values.c.value)
    values = values.union_all(
        select(following.scalar_subquery()).where(values.c.value.is_not(None))
    )
    # Limit the number of values, so that unexpected data cannot cause many probes.
    first = select(values.c.value).limit(MAX_VALUES_PROBED + len(sharing)).subquery()
    some = select(column).where(is_queued, column == first.c.value)
    counted = some.limit(MAX_UNHANDLED_COUNTED + 1).correlate(first).subquery()
    number = select(func.count()).select_from(counted).scalar_subquery()
    handled = [each.only[name] for each in sharing]
    return select(first.c.value, number).where(
        first.c.value.is_not(None), first.c.value.not_in(handled)
    )
