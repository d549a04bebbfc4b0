"""Estimate what a search would cost before it is sent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from math import ceil
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import Provider
from scrapersky.places.budget.charges import (
    format_usd,
    get_default_cap,
    get_default_installation_cap,
)
from scrapersky.places.budget.ledger import (
    get_installation_cap,
    get_month_spending,
    get_month_usage,
    get_provider_time,
    get_tenant_cap,
    sum_installation_spending,
)
from scrapersky.scraper.providers.google import SEARCH_FULL
from scrapersky.scraper.providers.prices import get_sku, get_total_price
from scrapersky.settings import Settings

PLACES_PER_PAGE = 20
MAX_PLACES_PER_QUERY = 60
"""The provider returns at most this many places per query. A larger area is queried in parts."""
MAX_PAGE_OVERHEAD = 1.3
"""Worst ratio of pages sent to pages needed, when all places lie on one line. Usually parts are cut
so that their pages are nearly full. `make bench-places` measures it.
"""


@dataclass(frozen=True)
class CostEstimate:
    requests_min: int
    """Requests if all places exist and every page is full."""
    requests_max: int
    usd_min: Decimal
    usd_max: Decimal
    free_left: int
    """Free requests left this month, over all tenants."""
    spent_usd: Decimal
    cap_usd: Decimal
    fits: bool
    """Whether even the highest estimate stays within the tenant's and the installation's budget."""
    sentence: str


async def estimate_search(
    session: AsyncSession, tenant_id: UUID, *, max_results: int, provider: str, settings: Settings
) -> CostEstimate:
    time = await get_provider_time(session)
    spent = await get_month_spending(session, tenant_id, time.month)
    cap = (await get_tenant_cap(session, tenant_id, get_default_cap(settings))).usd
    if provider != Provider.GOOGLE:
        return _build_free_estimate(spent, cap)
    used = await get_month_usage(session, provider, SEARCH_FULL.sku, time.month)
    least, most = estimate_requests(max_results)
    usd_min, usd_max = (_estimate_price(settings, used, count) for count in (least, most))
    left = max(cap - spent, Decimal(0))
    installation_left = await get_installation_left(session, time.month, settings)
    if installation_left is not None:
        left = min(left, installation_left)
    return CostEstimate(
        requests_min=least,
        requests_max=most,
        usd_min=usd_min,
        usd_max=usd_max,
        free_left=count_free_left(SEARCH_FULL.sku, used, settings),
        spent_usd=spent,
        cap_usd=cap,
        fits=not usd_max or usd_max <= left,
        sentence=_format_sentence(max_results, (least, most), (usd_min, usd_max), left, cap),
    )


async def get_installation_left(
    session: AsyncSession, month: date, settings: Settings
) -> Decimal | None:
    """Return what all tenants may still spend this month, or None without a cap."""
    cap = await get_installation_cap(session, get_default_installation_cap(settings))
    if cap is None:
        return None
    return max(cap - await sum_installation_spending(session, month), Decimal(0))


def estimate_requests(max_results: int) -> tuple[int, int]:
    """Return the minimum and maximum number of paid pages for that many places."""
    least = ceil(max_results / PLACES_PER_PAGE)
    return least, least if max_results <= MAX_PLACES_PER_QUERY else ceil(least * MAX_PAGE_OVERHEAD)


def _estimate_price(settings: Settings, used: int, count: int) -> Decimal:
    free_tier = settings.google_free_requests
    return get_total_price(SEARCH_FULL.sku, count, already=used, free_tier=free_tier)


def count_free_left(sku: str, used: int, settings: Settings) -> int:
    """Return the free requests left this month; 0 when the account is shared."""
    free = get_sku(sku).free_a_month if settings.google_free_requests else 0
    return max((free or 0) - used, 0)


def _build_free_estimate(spent: Decimal, cap: Decimal) -> CostEstimate:
    return CostEstimate(
        requests_min=0,
        requests_max=0,
        usd_min=Decimal(0),
        usd_max=Decimal(0),
        free_left=0,
        spent_usd=spent,
        cap_usd=cap,
        fits=True,
        sentence="This provider is free.",
    )


def _format_sentence(
    places: int,
    requests: tuple[int, int],
    usd: tuple[Decimal, Decimal],
    left: Decimal,
    cap: Decimal,
) -> str:
    request_range = _format_range(*(f"{each:,}" for each in requests))
    costs = "nothing" if not usd[1] else _format_range(*map(format_usd, usd))
    return (
        f"{places:,} places take {request_range} requests and cost {costs}. Fewer places cost "
        "less. "
        f"{_format_remaining(usd, left, cap)}"
    )


def _format_remaining(usd: tuple[Decimal, Decimal], left: Decimal, cap: Decimal) -> str:
    if not usd[1]:
        return "This is within the free quota of this month."
    if usd[1] <= left:
        return f"{format_usd(left)} of this month's budget of {format_usd(cap)} left."
    stops = "The search will pause" if usd[0] > left else "The search may pause"
    return (
        f"Only {format_usd(left)} of this month's budget of {format_usd(cap)} left. {stops} before "
        "it is finished, and resumes when the budget is raised or the next month begins."
    )


def _format_range(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"
