"""What place providers were asked for this month and what it costs, over all tenants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import ColumnElement, Date, Subquery, and_, cast, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import CostEntry, CostMeter, CostMonth, CostState, InstallationBudget
from scrapersky.settings import Settings

PROVIDERS_ZONE = "America/Los_Angeles"
"""As in `places/ledger.py`: their months begin at midnight there, and so does what is free."""


@dataclass(frozen=True)
class Spent:
    """A kind of request in the provider's month."""

    provider: str
    sku: str
    requests: int
    """Those that a provider did not bill are not among them."""
    usd: Decimal


async def spent_this_month(session: AsyncSession) -> Sequence[Spent]:
    """Every kind that was asked for, what is free among them."""
    paid = _paid()
    found = await session.execute(
        select(
            CostMeter.provider,
            CostMeter.sku,
            CostMeter.requests,
            func.coalesce(paid.c.usd, Decimal(0)),
        )
        .outerjoin(paid, and_(paid.c.provider == CostMeter.provider, paid.c.sku == CostMeter.sku))
        .where(CostMeter.month == _first_day())
        .order_by(CostMeter.provider, CostMeter.sku)
    )
    return [Spent(*each) for each in found]


async def get_installation_cap(session: AsyncSession, settings: Settings) -> Decimal | None:
    """What all tenants together may spend in a month; None where there is no such cap."""
    found = await session.scalar(select(InstallationBudget.monthly_cap_usd))
    default = settings.places_installation_cap_usd
    return found if found is not None or default is None else Decimal(str(default))


def _paid() -> Subquery:
    """Tenants that spent something come first, for the ledger's index begins with the tenant: a
    scrape reads what this month cost and no more of the ledger."""
    return (
        select(CostEntry.provider, CostEntry.sku, func.sum(CostEntry.usd).label("usd"))
        .select_from(CostMonth)
        .join(CostEntry, CostEntry.tenant_id == CostMonth.tenant_id)
        .where(
            CostMonth.month == _first_day(),
            CostMonth.spent_usd > 0,
            CostEntry.asked_at >= func.timezone(PROVIDERS_ZONE, _begin()),
            CostEntry.state != CostState.NOT_BILLED,
        )
        .group_by(CostEntry.provider, CostEntry.sku)
        .subquery("paid")
    )


def _begin() -> ColumnElement[object]:
    """Midnight there, on the first."""
    return func.date_trunc("month", func.timezone(PROVIDERS_ZONE, func.now()))


def _first_day() -> ColumnElement[object]:
    return cast(_begin(), Date)
