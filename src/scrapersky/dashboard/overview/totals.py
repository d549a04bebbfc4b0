"""How much there is by now; and what the front page must know besides: one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, ScalarSelect, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.overview.statistics import Attribute, Statistics
from scrapersky.models import Contact, Domain, Lead, LocalBusiness, Page, SitemapFile, SitemapUrl
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

    @property
    def attribute(self) -> Attribute:
        return str(self.model.__tablename__), self.filled or "id"

    def condition(self, tenant_id: UUID | None) -> list[ColumnElement[bool]]:
        where = [getattr(self.model, self.filled).is_not(None)] if self.filled else []
        if tenant_id is None:
            return where
        if self.model is SitemapUrl:
            files = select(SitemapFile.id).where(SitemapFile.tenant_id == tenant_id)
            return [*where, SitemapUrl.sitemap_id.in_(files)]
        return [*where, self.model.tenant_id == tenant_id]


KINDS = (
    Kind("Domains", Domain, "/domains"),
    Kind("Businesses", LocalBusiness, "/local-businesses"),
    Kind("Sitemaps", SitemapFile, "/sitemap-files"),
    Kind("URLs in sitemaps", SitemapUrl, "/sitemap-files?sort=-url_count"),
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
        return any(each > self.most for each in self.kinds)

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
    some = select(kind.model.__table__.c[_key(kind)]).where(*kind.condition(tenant_id))
    return select(func.count()).select_from(some.limit(most + 1).subquery()).scalar_subquery()


def _key(kind: Kind) -> str:
    return "sitemap_id" if kind.model is SitemapUrl else "id"


def _warnings(tenant_id: UUID | None) -> ScalarSelect[int]:
    mine = [] if tenant_id is None else [Domain.tenant_id == tenant_id]
    counted = select(func.count()).select_from(Domain)
    return counted.where(Domain.scan_warning.is_not(None), *mine).scalar_subquery()


def _circuits() -> ScalarSelect[int]:
    counted = select(func.count()).select_from(Host)
    return counted.where(Host.circuit_open_until > func.now()).scalar_subquery()


def totals_of(counted: Counted, statistics: Statistics) -> list[Total]:
    return [
        _total(kind, number, counted.most, statistics)
        for kind, number in zip(KINDS, counted.kinds, strict=True)
    ]


def _total(kind: Kind, number: int, most: int, statistics: Statistics) -> Total:
    if number <= most:
        return Total(kind.title, kind.path, number, "")
    believed = statistics.filled(*kind.attribute)
    if believed is None or believed <= most:
        return Total(kind.title, kind.path, most, "more than")
    return Total(kind.title, kind.path, believed, "about")


def attributes() -> set[Attribute]:
    return {each.attribute for each in KINDS}
