"""How much there is by now; and what the front page must know besides: one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, ScalarSelect, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.overview.statistics import Attribute, Statistics
from scrapersky.models import Contact, Domain, Lead, LocalBusiness, Page, SitemapFile
from scrapersky.pipeline.counting import EXACT_UP_TO
from scrapersky.pipeline.tables import Host

EXACT_FOR_A_TENANT_UP_TO = 100_000
"""The planner's statistics are about all tenants together, so one's own are counted further."""


@dataclass(frozen=True)
class Kind:
    """Something that is counted, and where one sees it."""

    title: str
    model: Any
    path: str
    filled: str | None = None
    """Only rows that have something in this column."""
    summed: str | None = None
    """Not the rows are counted: what stands in this column of them is added up."""

    @property
    def attribute(self) -> Attribute:
        return str(self.model.__tablename__), self.filled or "id"

    def condition(self, tenant_id: UUID | None) -> list[ColumnElement[bool]]:
        where = [getattr(self.model, self.filled).is_not(None)] if self.filled else []
        if tenant_id is None:
            return where
        return [*where, self.model.tenant_id == tenant_id]


KINDS = (
    Kind("Domains", Domain, "/domains"),
    Kind("Businesses", LocalBusiness, "/local-businesses"),
    Kind("Sitemaps", SitemapFile, "/sitemap-files"),
    Kind("URLs in sitemaps", Domain, "/domains?sort=-sitemap_urls", summed="sitemap_urls"),
    Kind("Pages", Page, "/pages"),
    Kind("Contacts", Contact, "/contacts"),
    Kind("Leads", Lead, "/leads"),
    Kind("Leads with an e-mail", Lead, "/leads?has_email=true", filled="best_email"),
)


@dataclass(frozen=True)
class Total:
    title: str
    path: str
    count: int
    how: str
    """Empty when it was counted; else `about` or `more than`."""


@dataclass(frozen=True)
class Counted:
    """As far as counting went."""

    kinds: Sequence[int]
    most: int
    warnings: int
    """Domains whose last scan found nothing where there had been something."""
    circuits: int
    """Hosts that are left alone."""

    @property
    def has_large(self) -> bool:
        counts = zip(KINDS, self.kinds, strict=True)
        return any(number > self.most for kind, number in counts if not kind.summed)

    @property
    def domains(self) -> int:
        return self.kinds[0]


async def count(session: AsyncSession, tenant_id: UUID | None) -> Counted:
    """Of all tenants together when none is named."""
    most = EXACT_UP_TO if tenant_id is None else EXACT_FOR_A_TENANT_UP_TO
    numbers = [_bounded(each, tenant_id, most) for each in KINDS]
    found = await session.execute(select(*numbers, _warnings(tenant_id), _circuits()))
    *kinds, warnings, circuits = found.one()
    return Counted(kinds, most, warnings, circuits)


def _bounded(kind: Kind, tenant_id: UUID | None, most: int) -> ScalarSelect[int]:
    """Counted, or added up, over so many rows at most."""
    column = kind.model.__table__.c[kind.summed or "id"]
    some = select(column).where(*kind.condition(tenant_id)).limit(most + 1).subquery()
    number = func.coalesce(func.sum(some.c[column.key]), 0) if kind.summed else func.count()
    return select(number).select_from(some).scalar_subquery()


def _warnings(tenant_id: UUID | None) -> ScalarSelect[int]:
    mine = [] if tenant_id is None else [Domain.tenant_id == tenant_id]
    counted = select(func.count()).select_from(Domain)
    return counted.where(Domain.scan_warning.is_not(None), *mine).scalar_subquery()


def _circuits() -> ScalarSelect[int]:
    counted = select(func.count()).select_from(Host)
    return counted.where(Host.circuit_open_until > func.now()).scalar_subquery()


def totals_of(counted: Counted, statistics: Statistics) -> list[Total]:
    return [
        _sum(kind, int(number), is_whole=counted.domains <= counted.most)
        if kind.summed
        else _total(kind, number, counted.most, statistics)
        for kind, number in zip(KINDS, counted.kinds, strict=True)
    ]


def _sum(kind: Kind, number: int, *, is_whole: bool) -> Total:
    return Total(kind.title, kind.path, number, "" if is_whole else "more than")


def _total(kind: Kind, number: int, most: int, statistics: Statistics) -> Total:
    if number <= most:
        return Total(kind.title, kind.path, number, "")
    believed = statistics.filled(*kind.attribute)
    if believed is None or believed <= most:
        return Total(kind.title, kind.path, most, "more than")
    return Total(kind.title, kind.path, believed, "about")


def attributes() -> set[Attribute]:
    return {each.attribute for each in KINDS}
