"""What a search would cost, told before anything is asked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from math import ceil
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import Provider
from scrapersky.places.governor import default_cap, default_installation_cap, dollars
from scrapersky.places.ledger import (
    get_installation_cap,
    get_tenant_cap,
    providers_time,
    spent_in_month,
    sum_installation_spending,
    used_in_month,
)
from scrapersky.scraper.providers.google import SEARCH_FULL
from scrapersky.scraper.providers.prices import price_of_many, sku_of
from scrapersky.settings import Settings

PLACES_A_PAGE = 20
PLACES_A_TILE = 60
"""The provider gives no more for one question; an area that has more is asked in parts."""
MOST_PER_PAGE = 1.3
"""Parts are cut so that their pages are full, or nearly: at worst so many times the pages needed,
where all places lie in one line. `make bench-places` shows it."""


@dataclass(frozen=True)
class Estimate:
    requests_min: int
    """That many when there are as many places as asked for, and every page is full."""
    requests_max: int
    usd_min: Decimal
    usd_max: Decimal
    free_left: int
    """Of this month's free requests, by all tenants."""
    spent_usd: Decimal
    cap_usd: Decimal
    fits: bool
    """Whether even the dearest case stays within the month's budget, and the installation's."""
    sentence: str


async def estimate_search(
    session: AsyncSession, tenant_id: UUID, *, max_results: int, provider: str, settings: Settings
) -> Estimate:
    time = await providers_time(session)
    spent = await spent_in_month(session, tenant_id, time.month)
    cap = (await get_tenant_cap(session, tenant_id, default_cap(settings))).usd
    if provider != Provider.GOOGLE:
        return _free_of_charge(spent, cap)
    used = await used_in_month(session, provider, SEARCH_FULL.sku, time.month)
    least, most = requests_for(max_results)
    usd_min, usd_max = (_price(settings, used, count) for count in (least, most))
    left = max(cap - spent, Decimal(0))
    installation_left = await get_installation_left(session, time.month, settings)
    if installation_left is not None:
        left = min(left, installation_left)
    return Estimate(
        requests_min=least,
        requests_max=most,
        usd_min=usd_min,
        usd_max=usd_max,
        free_left=free_left(SEARCH_FULL.sku, used, settings),
        spent_usd=spent,
        cap_usd=cap,
        fits=not usd_max or usd_max <= left,
        sentence=_sentence(max_results, (least, most), (usd_min, usd_max), left, cap),
    )


async def get_installation_left(
    session: AsyncSession, month: date, settings: Settings
) -> Decimal | None:
    """What all tenants together may still spend in the month; None where there is no such cap."""
    cap = await get_installation_cap(session, default_installation_cap(settings))
    if cap is None:
        return None
    return max(cap - await sum_installation_spending(session, month), Decimal(0))


def requests_for(max_results: int) -> tuple[int, int]:
    """Pages that cost, at least and at most, when there are as many places as asked for."""
    least = ceil(max_results / PLACES_A_PAGE)
    return least, least if max_results <= PLACES_A_TILE else ceil(least * MOST_PER_PAGE)


def _price(settings: Settings, used: int, count: int) -> Decimal:
    free_tier = settings.google_free_requests
    return price_of_many(SEARCH_FULL.sku, count, already=used, free_tier=free_tier)


def free_left(sku: str, used: int, settings: Settings) -> int:
    """Of the month's free requests of that kind; none where they are not ours alone."""
    free = sku_of(sku).free_a_month if settings.google_free_requests else 0
    return max((free or 0) - used, 0)


def _free_of_charge(spent: Decimal, cap: Decimal) -> Estimate:
    return Estimate(
        requests_min=0,
        requests_max=0,
        usd_min=Decimal(0),
        usd_max=Decimal(0),
        free_left=0,
        spent_usd=spent,
        cap_usd=cap,
        fits=True,
        sentence="This provider costs nothing.",
    )


def _sentence(
    places: int,
    requests: tuple[int, int],
    usd: tuple[Decimal, Decimal],
    left: Decimal,
    cap: Decimal,
) -> str:
    asked = _range(*(f"{each:,}" for each in requests))
    costs = "nothing" if not usd[1] else _range(*map(dollars, usd))
    return (
        f"{places:,} places take {asked} requests and cost {costs}; fewer places cost less. "
        f"{_what_is_left(usd, left, cap)}"
    )


def _what_is_left(usd: tuple[Decimal, Decimal], left: Decimal, cap: Decimal) -> str:
    if not usd[1]:
        return "That is within what is free this month."
    if usd[1] <= left:
        return f"{dollars(left)} of this month's budget of {dollars(cap)} are left."
    stops = "It stops before" if usd[0] > left else "It may stop before"
    return (
        f"Only {dollars(left)} of this month's budget of {dollars(cap)} are left. {stops} it is "
        "through, and goes on when the budget is raised or the next month begins."
    )


def _range(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"
