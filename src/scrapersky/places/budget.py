"""A tenant's budget: what is spent, what is left, and changing it."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import (
    Actor,
    Budget,
    CostMeter,
    CostMonth,
    Provider,
    ProviderDay,
    ProviderPause,
    record,
)
from scrapersky.places.budget_schemas import BudgetOut, MethodToday, SkuUsed
from scrapersky.places.estimating import free_left
from scrapersky.places.governor import default_cap
from scrapersky.places.ledger import ProvidersTime, providers_time
from scrapersky.places.waiting import count_waiting, wake_waiting
from scrapersky.scraper.providers.google import DETAILS_FULL, SEARCH_FULL
from scrapersky.scraper.providers.prices import PRICES_AS_OF, price_of, quota_per_day, sku_of
from scrapersky.settings import Settings

ALWAYS_SHOWN = (SEARCH_FULL.sku, DETAILS_FULL.sku)
METHODS = (SEARCH_FULL.method, DETAILS_FULL.method)


async def budget_of(session: AsyncSession, actor: Actor, settings: Settings) -> BudgetOut:
    time = await providers_time(session)
    own = await session.scalar(
        select(Budget.monthly_cap_usd).where(Budget.tenant_id == actor.tenant_id)
    )
    cap = default_cap(settings) if own is None else own
    spent, requests = await _spent(session, actor.tenant_id, time.month)
    return BudgetOut(
        month=time.month,
        month_ends_at=time.next_month,
        monthly_cap_usd=cap,
        cap_is_own=own is not None,
        spent_usd=spent,
        left_usd=max(cap - spent, Decimal(0)),
        requests=requests,
        waiting=await count_waiting(session, actor.tenant_id),
        free_tier=await _free_tier(session, time.month, settings),
        today=await _today(session, time),
        prices_as_of=PRICES_AS_OF,
    )


async def _spent(session: AsyncSession, tenant_id: UUID, month: date) -> tuple[Decimal, int]:
    found = await session.scalar(
        select(CostMonth).where(CostMonth.tenant_id == tenant_id, CostMonth.month == month)
    )
    return (found.spent_usd, found.requests) if found else (Decimal(0), 0)


async def _free_tier(session: AsyncSession, month: date, settings: Settings) -> list[SkuUsed]:
    """Those that were used this month, and the two that cost."""
    google = Provider.GOOGLE.value
    found = await session.execute(
        select(CostMeter.sku, CostMeter.requests).where(
            CostMeter.provider == google, CostMeter.month == month
        )
    )
    used = dict.fromkeys(ALWAYS_SHOWN, 0) | {each.sku: each.requests for each in found}
    return [_sku_used(google, sku, count, settings) for sku, count in sorted(used.items())]


def _sku_used(provider: str, sku: str, used: int, settings: Settings) -> SkuUsed:
    free_tier = settings.google_free_requests
    endless = sku_of(sku).free_a_month is None
    return SkuUsed(
        provider=provider,
        sku=sku,
        used=used,
        free=sku_of(sku).free_a_month if free_tier or endless else 0,
        left=None if endless else free_left(sku, used, settings),
        next_usd=price_of(sku, already=used, free_tier=free_tier).usd,
    )


async def _today(session: AsyncSession, time: ProvidersTime) -> list[MethodToday]:
    google = Provider.GOOGLE.value
    days = await session.execute(
        select(ProviderDay.method, ProviderDay.requests).where(
            ProviderDay.provider == google, ProviderDay.day == time.day
        )
    )
    pauses = await session.scalars(
        select(ProviderPause).where(
            ProviderPause.provider == google, ProviderPause.until > func.now()
        )
    )
    used, paused = dict(days.all()), {each.method: each for each in pauses}
    return [_method(google, each, used.get(each, 0), paused.get(each)) for each in METHODS]


def _method(provider: str, method: str, used: int, paused: ProviderPause | None) -> MethodToday:
    quota = quota_per_day(method)
    return MethodToday(
        provider=provider,
        method=method,
        used=used,
        quota=quota,
        left=max(quota - used, 0),
        paused_until=paused.until if paused else None,
        paused_because=paused.reason if paused else None,
    )


async def change_budget(session: AsyncSession, actor: Actor, cap: Decimal) -> None:
    """What waits for money is due at once, in case there is enough now."""
    before = await session.scalar(
        select(Budget.monthly_cap_usd).where(Budget.tenant_id == actor.tenant_id)
    )
    values = {"monthly_cap_usd": cap, "changed_by": actor.user_id}
    adding = insert(Budget).values(tenant_id=actor.tenant_id, **values)
    await session.execute(
        adding.on_conflict_do_update(
            index_elements=[Budget.tenant_id], set_={**values, "changed_at": func.now()}
        )
    )
    woken = await wake_waiting(session, actor.tenant_id)
    changes = {"monthly_cap_usd": [None if before is None else str(before), str(cap)]}
    record(session, actor, "budget.change", actor.tenant_id, changes=changes, woken=woken)
