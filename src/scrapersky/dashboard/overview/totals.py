"""Count domains, pages, contacts and leads; large tables use planner statistics."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Float,
    ScalarSelect,
    Text,
    and_,
    cast,
    column,
    func,
    select,
    table,
)
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import Contact, Domain, Lead, LocalBusiness, Page, SitemapFile
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.stats import MAX_EXACT_ROWS
from scrapersky.pipeline.tables import Host

_pg_class = table("pg_class", column("oid"), column("relname", Text), column("reltuples", Float))
_pg_stats = table(
    "pg_stats",
    column("schemaname", Text),
    column("tablename", Text),
    column("attname", Text),
    column("null_frac", Float),
    column("most_common_vals"),
    column("most_common_freqs", ARRAY(Float)),
)
Attribute = tuple[str, str]
"""Table and column."""


@dataclass(frozen=True)
class TableStatistics:
    rows: Mapping[str, int] = field(default_factory=dict)
    """By table; tables that were never analysed are missing."""
    shares: Mapping[Attribute, Mapping[str, float]] = field(default_factory=dict)
    nulls: Mapping[Attribute, float] = field(default_factory=dict)

    def done(self, stage: AnyStage) -> int | None:
        """Estimate the number of rows that a stage has finished."""
        name = str(stage.model.__tablename__)
        if name not in self.rows:
            return None
        share = self.shares.get((name, stage.status), {}).get(stage.words.done, 0.0)
        for other, word in stage.only.items():
            share *= self.shares.get((name, other), {}).get(word, 0.0)
        return round(self.rows[name] * share)

    def filled(self, name: str, attribute: str) -> int | None:
        """Estimate the number of rows with a value in the column."""
        if name not in self.rows:
            return None
        return round(self.rows[name] * (1 - self.nulls.get((name, attribute), 0.0)))


async def load_statistics(session: AsyncSession, columns: Collection[Attribute]) -> TableStatistics:
    names = sorted({name for name, _ in columns})
    attributes = sorted({attribute for _, attribute in columns})
    words: Any = cast(cast(_pg_stats.c.most_common_vals, Text), ARRAY(Text))
    known = and_(
        _pg_stats.c.schemaname == func.current_schema(),
        _pg_stats.c.tablename == _pg_class.c.relname,
        _pg_stats.c.attname.in_(attributes),
    )
    result = await session.execute(
        select(
            _pg_class.c.relname,
            _pg_class.c.reltuples,
            _pg_stats.c.attname,
            words,
            _pg_stats.c.most_common_freqs,
            _pg_stats.c.null_frac,
        )
        .select_from(_pg_class.outerjoin(_pg_stats, known))
        .where(_pg_class.c.oid.in_([func.to_regclass(name) for name in names]))
    )
    return _build_statistics(result.all())


def _build_statistics(anies: Collection[Any]) -> TableStatistics:
    rows: dict[str, int] = {}
    shares: dict[Attribute, dict[str, float]] = {}
    nulls: dict[Attribute, float] = {}
    for name, count, attribute, words, frequencies, null_share in anies:
        if count >= 0:
            rows[name] = round(count)
        if attribute is not None:
            pairs = zip(words or (), frequencies or (), strict=True)
            shares[name, attribute] = dict(pairs)
            nulls[name, attribute] = float(null_share or 0.0)
    return TableStatistics(rows, shares, nulls)


MAX_EXACT_TENANT_COUNT = 100_000
"""Higher limit for one tenant: planner statistics cover all tenants and cannot estimate one."""


@dataclass(frozen=True)
class CountedKind:
    """Something that is counted, and the page that lists it."""

    title: str
    model: Any
    path: str
    filled: str | None = None
    """Count only rows with a value in this column."""
    summed: str | None = None
    """Sum this column instead of counting rows."""

    @property
    def attribute(self) -> Attribute:
        return str(self.model.__tablename__), self.filled or "id"

    def condition(self, tenant_id: UUID | None) -> list[ColumnElement[bool]]:
        where = [getattr(self.model, self.filled).is_not(None)] if self.filled else []
        if tenant_id is None:
            return where
        return [*where, self.model.tenant_id == tenant_id]


COUNTED_KINDS = (
    CountedKind("Domains", Domain, "/domains"),
    CountedKind("Businesses", LocalBusiness, "/local-businesses"),
    CountedKind("Sitemaps", SitemapFile, "/sitemap-files"),
    CountedKind("Sitemap URLs", Domain, "/domains?sort=-sitemap_urls", summed="sitemap_urls"),
    CountedKind("Pages", Page, "/pages"),
    CountedKind("Contacts", Contact, "/contacts"),
    CountedKind("Leads", Lead, "/leads"),
    CountedKind("Leads with e-mail", Lead, "/leads?has_email=true", filled="best_email"),
)


@dataclass(frozen=True)
class OverviewTotal:
    title: str
    path: str
    count: int
    how: str
    """Empty if exact, otherwise `about` or `more than`."""


@dataclass(frozen=True)
class TotalCounts:
    """Counts up to the limit."""

    kinds: Sequence[int]
    most: int
    warnings: int
    """Domains whose last scan found no sitemaps although an earlier one did."""
    circuits: int
    """Hosts with an open circuit."""

    @property
    def has_large(self) -> bool:
        counts = zip(COUNTED_KINDS, self.kinds, strict=True)
        return any(number > self.most for kind, number in counts if not kind.summed)

    @property
    def domains(self) -> int:
        return self.kinds[0]


async def count_totals(session: AsyncSession, tenant_id: UUID | None) -> TotalCounts:
    """Count for one tenant, or for all if `tenant_id` is None."""
    most = MAX_EXACT_ROWS if tenant_id is None else MAX_EXACT_TENANT_COUNT
    numbers = [_build_bounded_count(each, tenant_id, most) for each in COUNTED_KINDS]
    result = await session.execute(
        select(*numbers, _count_warnings(tenant_id), _count_open_circuits())
    )
    *kinds, warnings, circuits = result.one()
    return TotalCounts(kinds, most, warnings, circuits)


def _build_bounded_count(kind: CountedKind, tenant_id: UUID | None, most: int) -> ScalarSelect[int]:
    """Count or sum at most this number of rows."""
    column = kind.model.__table__.c[kind.summed or "id"]
    some = select(column).where(*kind.condition(tenant_id)).limit(most + 1).subquery()
    number = func.coalesce(func.sum(some.c[column.key]), 0) if kind.summed else func.count()
    return select(number).select_from(some).scalar_subquery()


def _count_warnings(tenant_id: UUID | None) -> ScalarSelect[int]:
    mine = [] if tenant_id is None else [Domain.tenant_id == tenant_id]
    counted = select(func.count()).select_from(Domain)
    return counted.where(Domain.scan_warning.is_not(None), *mine).scalar_subquery()


def _count_open_circuits() -> ScalarSelect[int]:
    counted = select(func.count()).select_from(Host)
    return counted.where(Host.circuit_open_until > func.now()).scalar_subquery()


def build_totals(counted: TotalCounts, statistics: TableStatistics) -> list[OverviewTotal]:
    return [
        _build_sum(kind, int(number), is_whole=counted.domains <= counted.most)
        if kind.summed
        else _build_total(kind, number, counted.most, statistics)
        for kind, number in zip(COUNTED_KINDS, counted.kinds, strict=True)
    ]


def _build_sum(kind: CountedKind, number: int, *, is_whole: bool) -> OverviewTotal:
    return OverviewTotal(kind.title, kind.path, number, "" if is_whole else "more than")


def _build_total(
    kind: CountedKind, number: int, most: int, statistics: TableStatistics
) -> OverviewTotal:
    if number <= most:
        return OverviewTotal(kind.title, kind.path, number, "")
    estimate = statistics.filled(*kind.attribute)
    if estimate is None or estimate <= most:
        return OverviewTotal(kind.title, kind.path, most, "more than")
    return OverviewTotal(kind.title, kind.path, estimate, "about")


def list_total_attributes() -> set[Attribute]:
    return {each.attribute for each in COUNTED_KINDS}
