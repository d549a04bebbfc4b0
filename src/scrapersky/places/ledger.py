"""Where money is counted: the provider's calendar, and the rows that requests are counted in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Date, Interval, cast, func, literal, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import Budget, CostMeter, CostMonth, ProviderDay, ProviderPause

PROVIDERS_ZONE = "America/Los_Angeles"
"""Google's days and months begin at midnight there."""


@dataclass(frozen=True)
class ProvidersTime:
    """Now, as the provider's calendar has it."""

    now: datetime
    day: date
    month: date
    """Its first day."""
    next_day: datetime
    next_month: datetime


def _begin_of(unit: str, *, ahead: timedelta | None = None) -> ColumnElement[Any]:
    there = func.timezone(PROVIDERS_ZONE, func.now())
    begun = func.date_trunc(unit, there)
    return begun if ahead is None else begun + literal(ahead, Interval)


def _next_month() -> ColumnElement[Any]:
    """Some day of the next month, cut down to its first."""
    return func.date_trunc("month", _begin_of("month", ahead=timedelta(days=32)))


async def providers_time(session: AsyncSession) -> ProvidersTime:
    found = await session.execute(
        select(
            func.now(),
            cast(_begin_of("day"), Date),
            cast(_begin_of("month"), Date),
            func.timezone(PROVIDERS_ZONE, _begin_of("day", ahead=timedelta(days=1))),
            func.timezone(PROVIDERS_ZONE, _next_month()),
        )
    )
    return ProvidersTime(*found.one())


async def pause_of(session: AsyncSession, provider: str, method: str) -> ProviderPause | None:
    """Only while it lasts."""
    return await session.scalar(
        select(ProviderPause).where(
            ProviderPause.provider == provider,
            ProviderPause.method == method,
            ProviderPause.until > func.now(),
        )
    )


async def count_in_day(session: AsyncSession, provider: str, method: str, day: date) -> int:
    """One more; answers how many it makes. Whoever counts next waits for our commit."""
    adding = insert(ProviderDay).values(provider=provider, method=method, day=day, requests=1)
    key = [ProviderDay.provider, ProviderDay.method, ProviderDay.day]
    return await _counted(session, adding, key, ProviderDay.requests)


async def count_in_meter(session: AsyncSession, provider: str, sku: str, month: date) -> int:
    """One more of all tenants; answers how many it makes."""
    adding = insert(CostMeter).values(provider=provider, sku=sku, month=month, requests=1)
    key = [CostMeter.provider, CostMeter.sku, CostMeter.month]
    return await _counted(session, adding, key, CostMeter.requests)


async def _counted(session: AsyncSession, adding: Any, key: list[Any], column: Any) -> int:
    upsert = adding.on_conflict_do_update(index_elements=key, set_={column.key: column + 1})
    return int(await session.scalar(upsert.returning(column)) or 0)


async def used_in_month(session: AsyncSession, provider: str, sku: str, month: date) -> int:
    found = await session.scalar(
        select(CostMeter.requests).where(
            CostMeter.provider == provider, CostMeter.sku == sku, CostMeter.month == month
        )
    )
    return found or 0


async def spent_in_month(session: AsyncSession, tenant_id: UUID, month: date) -> Decimal:
    found = await session.scalar(
        select(CostMonth.spent_usd).where(
            CostMonth.tenant_id == tenant_id, CostMonth.month == month
        )
    )
    return found or Decimal(0)


async def cap_of(session: AsyncSession, tenant_id: UUID, default_cap_usd: Decimal) -> Decimal:
    """The tenant's own, or the one of the installation."""
    own = await session.scalar(select(Budget.monthly_cap_usd).where(Budget.tenant_id == tenant_id))
    return default_cap_usd if own is None else own
