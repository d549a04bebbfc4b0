"""About how many rows large tables have, as the planner last saw them: one statement for all."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ARRAY, Float, Text, and_, cast, column, func, select, table
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.pipeline.stage import AnyStage

_classes = table("pg_class", column("oid"), column("relname", Text), column("reltuples", Float))
_statistics = table(
    "pg_stats",
    column("schemaname", Text),
    column("tablename", Text),
    column("attname", Text),
    column("null_frac", Float),
    column("most_common_vals"),
    column("most_common_freqs", ARRAY(Float)),
)
Attribute = tuple[str, str]
"""A table and its column."""


@dataclass(frozen=True)
class Statistics:
    rows: Mapping[str, int] = field(default_factory=dict)
    """By table; none of a table that was never analysed."""
    shares: Mapping[Attribute, Mapping[str, float]] = field(default_factory=dict)
    nulls: Mapping[Attribute, float] = field(default_factory=dict)

    def done(self, stage: AnyStage) -> int | None:
        """About how many rows a stage is done with."""
        name = str(stage.model.__tablename__)
        if name not in self.rows:
            return None
        share = self.shares.get((name, stage.status), {}).get(stage.words.done, 0.0)
        for other, word in stage.only.items():
            share *= self.shares.get((name, other), {}).get(word, 0.0)
        return round(self.rows[name] * share)

    def filled(self, name: str, attribute: str) -> int | None:
        """About how many rows have something in that column."""
        if name not in self.rows:
            return None
        return round(self.rows[name] * (1 - self.nulls.get((name, attribute), 0.0)))


async def statistics_of(session: AsyncSession, wanted: Collection[Attribute]) -> Statistics:
    names = sorted({name for name, _ in wanted})
    attributes = sorted({attribute for _, attribute in wanted})
    words: Any = cast(cast(_statistics.c.most_common_vals, Text), ARRAY(Text))
    known = and_(
        _statistics.c.schemaname == func.current_schema(),
        _statistics.c.tablename == _classes.c.relname,
        _statistics.c.attname.in_(attributes),
    )
    found = await session.execute(
        select(
            _classes.c.relname,
            _classes.c.reltuples,
            _statistics.c.attname,
            words,
            _statistics.c.most_common_freqs,
            _statistics.c.null_frac,
        )
        .select_from(_classes.outerjoin(_statistics, known))
        .where(_classes.c.oid.in_([func.to_regclass(name) for name in names]))
    )
    return _gathered(found.all())


def _gathered(found: Collection[Any]) -> Statistics:
    rows: dict[str, int] = {}
    shares: dict[Attribute, dict[str, float]] = {}
    nulls: dict[Attribute, float] = {}
    for name, count, attribute, words, frequencies, null_share in found:
        if count >= 0:
            rows[name] = round(count)
        if attribute is not None:
            pairs = zip(words or (), frequencies or (), strict=True)
            shares[name, attribute] = dict(pairs)
            nulls[name, attribute] = float(null_share or 0.0)
    return Statistics(rows, shares, nulls)
