"""Rows processed over time: by stage from events, by tenant from created rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Float,
    Select,
    cast,
    extract,
    func,
    select,
    union_all,
)
from sqlalchemy import literal as constant
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.charts import Series
from scrapersky.models import Contact, Domain, Lead, Page, SitemapFile
from scrapersky.pipeline.stats import RATE_WINDOW
from scrapersky.pipeline.tables import EventKind, StageEvent

DONE_EVENTS = (EventKind.COMPLETED.value, EventKind.SKIPPED.value)
CREATED_KINDS: Mapping[str, Any] = {
    "Domains": Domain,
    "Sitemaps": SitemapFile,
    "Pages": Page,
    "Contacts": Contact,
    "Leads": Lead,
}


class ChartPeriod(StrEnum):
    """Period of the chart."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"

    @property
    def bucket(self) -> timedelta:
        return {"hour": timedelta(minutes=2), "day": timedelta(hours=1)}.get(
            self, timedelta(hours=6)
        )

    @property
    def buckets(self) -> int:
        return {"hour": 30, "day": 24}.get(self, 28)


@dataclass(frozen=True)
class Throughput:
    """Counts per time bucket; the last bucket is incomplete."""

    over: ChartPeriod
    starts: Sequence[datetime]
    series: Sequence[Series]
    last_hour: Mapping[str, int]
    """Rows done by stage; empty for a single tenant."""


BucketCounts = Mapping[tuple[str, int], int]


async def load_stage_throughput(
    session: AsyncSession, titles: Mapping[str, str], over: ChartPeriod, now: datetime
) -> Throughput:
    """Load the throughput of all tenants from events, by stage name with its title."""
    lately = func.sum(StageEvent.rows).filter(StageEvent.at > func.now() - RATE_WINDOW)
    bucket = _build_bucket(StageEvent.at, over)
    result = await session.execute(
        select(StageEvent.stage, bucket, func.sum(StageEvent.rows), func.coalesce(lately, 0))
        .where(
            StageEvent.stage.in_(list(titles)),
            StageEvent.at > _build_start(over),
            StageEvent.kind.in_(DONE_EVENTS),
        )
        .group_by(StageEvent.stage, bucket)
    )
    done: dict[tuple[str, int], int] = {}
    last_hour: Counter[str] = Counter()
    for stage, number, rows, recent in result:
        done[stage, int(number)] = int(rows)
        last_hour[stage] += int(recent)
    return _build_throughput(over, now, titles, done, last_hour)


async def load_tenant_throughput(
    session: AsyncSession, tenant_id: UUID, over: ChartPeriod, now: datetime
) -> Throughput:
    """Load the throughput of one tenant from created rows, because events have no tenant."""
    result = await session.execute(
        union_all(
            *(
                _build_created_query(title, model, tenant_id, over)
                for title, model in CREATED_KINDS.items()
            )
        )
    )
    counts = {(title, int(bucket)): int(count) for title, bucket, count in result}
    return _build_throughput(over, now, {each: each for each in CREATED_KINDS}, counts, {})


def _build_created_query(
    title: str, model: Any, tenant_id: UUID, over: ChartPeriod
) -> Select[str, int, int]:
    bucket = _build_bucket(model.created_at, over)
    return (
        select(constant(title), bucket, func.count())
        .where(model.tenant_id == tenant_id, model.created_at > _build_start(over))
        .group_by(bucket)
    )


def _build_bucket(at: Any, over: ChartPeriod) -> ColumnElement[int]:
    # extract() returns exact numerics, which are slow to divide for hundreds of thousands of rows.
    seconds = cast(extract("epoch", at), Float)
    return cast(func.floor(seconds / over.bucket.total_seconds()), BigInteger)


def _build_start(over: ChartPeriod) -> ColumnElement[datetime]:
    """Return the start: at least an hour ago for the rate, aligned so that the first bucket is
    complete.
    """
    size = over.bucket.total_seconds()
    first = func.floor(extract("epoch", func.now()) / size) - (over.buckets - 1)
    begin = func.to_timestamp(first * size)
    return func.least(begin, func.now() - RATE_WINDOW)


def _build_throughput(
    over: ChartPeriod,
    now: datetime,
    titles: Mapping[str, str],
    counts: BucketCounts,
    last_hour: Mapping[str, int],
) -> Throughput:
    """Fill empty buckets with zeros."""
    size = over.bucket.total_seconds()
    last = int(now.timestamp() // size)
    numbers = range(last - over.buckets + 1, last + 1)
    series = [
        Series(name, title, tuple(counts.get((name, each), 0) for each in numbers))
        for name, title in titles.items()
    ]
    starts = [datetime.fromtimestamp(each * size, UTC) for each in numbers]
    return Throughput(over, starts, series, last_hour)
