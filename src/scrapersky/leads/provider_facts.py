"""Load what place providers report about a lead's business, without suppressed values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Text, Uuid, func, or_, select, union
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.statements import unnest_rows
from scrapersky.models import (
    ContactKind,
    Domain,
    LocalBusiness,
    Suppression,
    SuppressionKind,
)
from scrapersky.models.suppression import build_suppression_conditions

UNKNOWN_PROVIDER = "place"
"""Source name when the provider is not recorded."""


@dataclass(frozen=True)
class ProviderFacts:
    """A lead's business with its contact values that are not suppressed."""

    business: LocalBusiness
    count: int = 1
    """Number of businesses that share the site."""
    phone: str | None = None
    """None when suppressed."""
    emails: tuple[str, ...] = ()

    def get_source(self, fact: str) -> str:
        return str(self.business.facts_from.get(fact) or UNKNOWN_PROVIDER)


async def load_domain_facts(
    session: AsyncSession, sites: Mapping[UUID, str]
) -> dict[UUID, ProviderFacts]:
    """Load the facts by domain. Of several businesses that share a site the one with most reviews
    wins, then the oldest.
    """
    most_told = LocalBusiness.reviews_count.desc().nulls_last()
    order = (most_told, LocalBusiness.created_at, LocalBusiness.id)
    site = LocalBusiness.domain_id
    ranked = (
        select(
            LocalBusiness.id,
            func.row_number().over(partition_by=site, order_by=order).label("place"),
            func.count().over(partition_by=site).label("count"),
        )
        .where(site.in_(list(sites)))
        .subquery("ranked")
    )
    result = await session.execute(
        select(LocalBusiness, ranked.c.count)
        .join(ranked, ranked.c.id == LocalBusiness.id)
        .where(ranked.c.place == 1)
    )
    counts = [(business, count) for business, count in result]
    facts = await load_business_facts(session, [each for each, _ in counts], sites)
    return {
        business.domain_id: ProviderFacts(
            business, count, facts[business.id].phone, facts[business.id].emails
        )
        for business, count in counts
        if business.domain_id is not None
    }


async def load_business_facts(
    session: AsyncSession, businesses: Sequence[LocalBusiness], sites: Mapping[UUID, str]
) -> dict[UUID, ProviderFacts]:
    """Load the facts by business."""
    suppressed = await _find_suppressed(session, businesses, sites)
    return {
        each.id: ProviderFacts(
            each,
            phone=next(
                (n for n in _get_phones(each) if (each.tenant_id, n) not in suppressed), None
            ),
            emails=tuple(n for n in _get_emails(each) if (each.tenant_id, n) not in suppressed),
        )
        for each in businesses
    }


def _get_phones(business: LocalBusiness) -> list[str]:
    """Return the phone number. An erased one contains a placeholder instead of a number."""
    return [business.phone] if business.phone and business.phone.startswith("+") else []


def _get_emails(business: LocalBusiness) -> list[str]:
    return [each for each in business.emails or () if "@" in each]


async def _find_suppressed(
    session: AsyncSession, businesses: Sequence[LocalBusiness], sites: Mapping[UUID, str]
) -> set[tuple[UUID, str]]:
    values = [
        (each.tenant_id, kind.value, value, sites.get(each.domain_id, "") if each.domain_id else "")
        for each in businesses
        for kind, get_values in ((ContactKind.PHONE, _get_phones), (ContactKind.EMAIL, _get_emails))
        for value in get_values(each)
    ]
    if not values:
        return set()
    tenants, kinds, texts, names = zip(*values, strict=True)
    input_rows = unnest_rows(
        tenant_id=(Uuid, tenants), kind=(Text, kinds), value=(Text, texts), site=(Text, names)
    )
    ways = build_suppression_conditions(input_rows.c, input_rows.c.site)
    suppressed = await session.execute(
        select(input_rows.c.tenant_id, input_rows.c.value).where(or_(*ways))
    )
    return {(tenant_id, value) for tenant_id, value in suppressed}


async def find_suppressed_businesses(
    session: AsyncSession, tenant_id: UUID, suppression_ids: Collection[UUID]
) -> set[UUID]:
    """Return businesses whose phone number, e-mail address or site one of these suppresses."""
    if not suppression_ids:
        return set()
    named = (Suppression.id.in_(suppression_ids), Suppression.tenant_id == tenant_id)
    mine = (*named, LocalBusiness.tenant_id == tenant_id)
    address = func.unnest(LocalBusiness.emails).label("address")
    addresses = (
        select(LocalBusiness.id, address).where(LocalBusiness.tenant_id == tenant_id).subquery()
    )
    suffix = "." + Suppression.value
    suppressed = union(
        select(LocalBusiness.id).where(
            *mine,
            Suppression.kind == SuppressionKind.PHONE,
            LocalBusiness.phone == Suppression.value,
        ),
        select(addresses.c.id).where(
            *named,
            Suppression.kind == SuppressionKind.EMAIL,
            addresses.c.address == Suppression.value,
        ),
        select(LocalBusiness.id).where(
            *mine,
            Suppression.kind == SuppressionKind.DOMAIN,
            Domain.id == LocalBusiness.domain_id,
            or_(Domain.domain == Suppression.value, Domain.domain.endswith(suffix)),
        ),
    )
    return set(await session.scalars(suppressed))
