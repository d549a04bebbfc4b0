"""Provider calendar and the counters of requests and spending."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Date, Interval, cast, func, literal, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import (
    Budget,
    CostMeter,
    CostMonth,
    InstallationBudget,
    ProviderDay,
    ProviderPause,
)

PROVIDER_TIMEZONE = "America/Los_Angeles"
"""Google's days and months begin at midnight Pacific time."""


@dataclass(frozen=True)
class ProviderTime:
    """The current time in the provider's calendar."""

    now: datetime
    day: date
    month: date
    """First day of the month."""
    next_day: datetime
    next_month: datetime


def _build_period_start(unit: str, *, ahead: timedelta | None = None) -> ColumnElement[Any]:
    there = func.timezone(PROVIDER_TIMEZONE, func.now())
    start = func.date_trunc(unit, there)
    return start if ahead is None else start + literal(ahead, Interval)


def _build_next_month() -> ColumnElement[Any]:
    return func.date_trunc("month", _build_period_start("month", ahead=timedelta(days=32)))


async def get_provider_time(session: AsyncSession) -> ProviderTime:
    result = await session.execute(
        select(
            func.now(),
            cast(_build_period_start("day"), Date),
            cast(_build_period_start("month"), Date),
            func.timezone(PROVIDER_TIMEZONE, _build_period_start("day", ahead=timedelta(days=1))),
            func.timezone(PROVIDER_TIMEZONE, _build_next_month()),
        )
    )
    return ProviderTime(*result.one())


async def get_pause(session: AsyncSession, provider: str, method: str) -> ProviderPause | None:
    """Return the pause of a method if it is still active."""
    return await session.scalar(
        select(ProviderPause).where(
            ProviderPause.provider == provider,
            ProviderPause.method == method,
            ProviderPause.until > func.now(),
        )
    )


async def count_day_request(session: AsyncSession, provider: str, method: str, day: date) -> int:
    """Increment the day's counter and return it. The row lock makes other workers wait for our
    commit.
    """
    statement = insert(ProviderDay).values(provider=provider, method=method, day=day, requests=1)
    key = [ProviderDay.provider, ProviderDay.method, ProviderDay.day]
    return await _increment(session, statement, key, ProviderDay.requests)


async def count_month_request(session: AsyncSession, provider: str, sku: str, month: date) -> int:
    """Increment the month's counter over all tenants and return it."""
    statement = insert(CostMeter).values(provider=provider, sku=sku, month=month, requests=1)
    key = [CostMeter.provider, CostMeter.sku, CostMeter.month]
    return await _increment(session, statement, key, CostMeter.requests)


async def _increment(session: AsyncSession, statement: Any, key: list[Any], column: Any) -> int:
    upsert = statement.on_conflict_do_update(index_elements=key, set_={column.key: column + 1})
    return int(await session.scalar(upsert.returning(column)) or 0)


async def get_month_usage(session: AsyncSession, provider: str, sku: str, month: date) -> int:
    month_usage = await session.scalar(
        select(CostMeter.requests).where(
            CostMeter.provider == provider, CostMeter.sku == sku, CostMeter.month == month
        )
    )
    return month_usage or 0


async def get_month_spending(session: AsyncSession, tenant_id: UUID, month: date) -> Decimal:
    month_spending = await session.scalar(
        select(CostMonth.spent_usd).where(
            CostMonth.tenant_id == tenant_id, CostMonth.month == month
        )
    )
    return month_spending or Decimal(0)


@dataclass(frozen=True)
class TenantCap:
    """A tenant's monthly cap and where it comes from."""

    allowed_usd: Decimal
    """Set by operators, or the installation's default."""
    is_default: bool
    own_limit_usd: Decimal | None
    """The tenant's own limit, if its admins set one."""

    @property
    def usd(self) -> Decimal:
        """The lower of the two: a tenant's limit never raises what operators allow."""
        if self.own_limit_usd is None:
            return self.allowed_usd
        return min(self.own_limit_usd, self.allowed_usd)


async def get_tenant_cap(
    session: AsyncSession, tenant_id: UUID, default_cap_usd: Decimal
) -> TenantCap:
    result = await session.execute(
        select(Budget.monthly_cap_usd, Budget.own_limit_usd).where(Budget.tenant_id == tenant_id)
    )
    allowed, own_limit = result.one_or_none() or (None, None)
    return TenantCap(
        allowed_usd=default_cap_usd if allowed is None else allowed,
        is_default=allowed is None,
        own_limit_usd=own_limit,
    )


async def get_installation_cap(
    session: AsyncSession, default_cap_usd: Decimal | None
) -> Decimal | None:
    """Return the operators' cap, or the setting's. None means that only the tenants' caps apply."""
    installation_cap = await session.scalar(select(InstallationBudget.monthly_cap_usd))
    return default_cap_usd if installation_cap is None else installation_cap


async def sum_installation_spending(session: AsyncSession, month: date) -> Decimal:
    """Return what all tenants spent in the month, even in a tenant-scoped session."""
    # Use the table, not the model: a tenant-scoped session adds its tenant to statements on the
    # model
    # and would only sum up its own spending.
    months = CostMonth.__table__
    spent = await session.scalar(
        select(func.coalesce(func.sum(months.c.spent_usd), 0)).where(months.c.month == month)
    )
    return Decimal(spent or 0)
