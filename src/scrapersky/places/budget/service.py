"""Read and update the budgets of tenants and of the installation."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from uuid import UUID

from sqlalchemy import and_, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import NotAllowed, NotFound
from scrapersky.models import (
    Actor,
    Budget,
    CostMeter,
    CostMonth,
    InstallationBudget,
    Provider,
    ProviderDay,
    ProviderPause,
    Tenant,
    record,
)
from scrapersky.places.budget.blocked_rows import count_blocked_rows, wake_blocked_rows
from scrapersky.places.budget.charges import (
    format_usd,
    get_default_cap,
    get_default_installation_cap,
)
from scrapersky.places.budget.estimates import count_free_left, get_installation_left
from scrapersky.places.budget.ledger import (
    ProviderTime,
    get_installation_cap,
    get_provider_time,
    get_tenant_cap,
    sum_installation_spending,
)
from scrapersky.places.budget.schemas import (
    BudgetOut,
    InstallationBudgetOut,
    MethodToday,
    SkuUsed,
    TenantBudgetOut,
)
from scrapersky.scraper.providers.google import DETAILS_FULL, SEARCH_FULL
from scrapersky.scraper.providers.prices import PRICES_AS_OF, get_daily_quota, get_price, get_sku
from scrapersky.settings import Settings

DEFAULT_SKUS = (SEARCH_FULL.sku, DETAILS_FULL.sku)
PROVIDER_METHODS = (SEARCH_FULL.method, DETAILS_FULL.method)


async def load_budget(session: AsyncSession, actor: Actor, settings: Settings) -> BudgetOut:
    time = await get_provider_time(session)
    cap = await get_tenant_cap(session, actor.tenant_id, get_default_cap(settings))
    installation_left = await get_installation_left(session, time.month, settings)
    spent, requests = await _load_spending(session, actor.tenant_id, time.month)
    left = max(cap.usd - spent, Decimal(0))
    limited_by_installation = installation_left is not None and installation_left < left
    return BudgetOut(
        month=time.month,
        month_ends_at=time.next_month,
        monthly_cap_usd=cap.usd,
        cap_is_own=not cap.is_default,
        allowed_usd=cap.allowed_usd,
        own_limit_usd=cap.own_limit_usd,
        spent_usd=spent,
        left_usd=installation_left if limited_by_installation else left,
        limited_by_installation=limited_by_installation,
        requests=requests,
        waiting=await count_blocked_rows(session, actor.tenant_id),
        free_tier=await _list_sku_usage(session, time.month, settings),
        today=await _list_methods_today(session, time),
        prices_as_of=PRICES_AS_OF,
    )


async def _load_spending(
    session: AsyncSession, tenant_id: UUID, month: date
) -> tuple[Decimal, int]:
    spending = await session.scalar(
        select(CostMonth).where(CostMonth.tenant_id == tenant_id, CostMonth.month == month)
    )
    return (spending.spent_usd, spending.requests) if spending else (Decimal(0), 0)


async def _list_sku_usage(session: AsyncSession, month: date, settings: Settings) -> list[SkuUsed]:
    """Return the SKUs used this month, and always the two paid ones."""
    google = Provider.GOOGLE.value
    result = await session.execute(
        select(CostMeter.sku, CostMeter.requests).where(
            CostMeter.provider == google, CostMeter.month == month
        )
    )
    used = dict.fromkeys(DEFAULT_SKUS, 0) | {each.sku: each.requests for each in result}
    return [_build_sku_usage(google, sku, count, settings) for sku, count in sorted(used.items())]


def _build_sku_usage(provider: str, sku: str, used: int, settings: Settings) -> SkuUsed:
    free_tier = settings.google_free_requests
    endless = get_sku(sku).free_a_month is None
    return SkuUsed(
        provider=provider,
        sku=sku,
        used=used,
        free=get_sku(sku).free_a_month if free_tier or endless else 0,
        left=None if endless else count_free_left(sku, used, settings),
        next_usd=get_price(sku, already=used, free_tier=free_tier).usd,
    )


async def _list_methods_today(session: AsyncSession, time: ProviderTime) -> list[MethodToday]:
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
    return [
        _build_method_today(google, each, used.get(each, 0), paused.get(each))
        for each in PROVIDER_METHODS
    ]


def _build_method_today(
    provider: str, method: str, used: int, paused: ProviderPause | None
) -> MethodToday:
    quota = get_daily_quota(method)
    return MethodToday(
        provider=provider,
        method=method,
        used=used,
        quota=quota,
        left=max(quota - used, 0),
        paused_until=paused.until if paused else None,
        paused_because=paused.reason if paused else None,
    )


async def set_allowance(
    session: AsyncSession, actor: Actor, tenant_id: UUID, cap: Decimal | None
) -> None:
    """Set what operators allow a tenant. None resets it to the installation's default. Operators
    only.
    """
    await _store_and_wake(session, actor, tenant_id, {"monthly_cap_usd": cap})


async def set_own_limit(
    session: AsyncSession, actor: Actor, limit: Decimal, settings: Settings
) -> None:
    """Lower the cap of the actor's own tenant, or remove that limit.

    Raise `NotAllowed` for more than operators allow, because they pay.
    """
    cap = await get_tenant_cap(session, actor.tenant_id, get_default_cap(settings))
    if limit > cap.allowed_usd:
        raise NotAllowed(
            f"Your tenant may spend up to {format_usd(cap.allowed_usd)} a month. Choose a lower "
            "cap, or ask an operator of this installation to raise it."
        )
    # Exactly the allowance means no own limit, so that a later raise by operators takes effect.
    own_limit = None if limit == cap.allowed_usd else limit
    await _store_and_wake(session, actor, actor.tenant_id, {"own_limit_usd": own_limit})


async def _store_and_wake(
    session: AsyncSession, actor: Actor, tenant_id: UUID, values: dict[str, Decimal | None]
) -> None:
    """Store the change and make rows blocked on the budget due now."""
    [(column, cap)] = values.items()
    before = await session.scalar(
        select(getattr(Budget, column)).where(Budget.tenant_id == tenant_id)
    )
    stored = {**values, "changed_by": actor.user_id}
    statement = insert(Budget).values(tenant_id=tenant_id, **stored)
    await session.execute(
        statement.on_conflict_do_update(
            index_elements=[Budget.tenant_id], set_={**stored, "changed_at": func.now()}
        )
    )
    woken = await wake_blocked_rows(session, tenant_id)
    changes = {column: [None if each is None else str(each) for each in (before, cap)]}
    # Recorded in the audit log of the tenant concerned, regardless of who made the change.
    where = replace(actor, tenant_id=tenant_id)
    record(session, where, "budget.change", tenant_id, changes=changes, woken=woken)


async def get_installation_budget(
    session: AsyncSession, settings: Settings
) -> InstallationBudgetOut:
    """Return the month over all tenants and each tenant's share. Needs a session that is not
    tenant-scoped.
    """
    time = await get_provider_time(session)
    row = await session.scalar(select(InstallationBudget))
    cap = await get_installation_cap(session, get_default_installation_cap(settings))
    spent = await sum_installation_spending(session, time.month)
    tenants = await _list_tenants(session, time.month, settings)
    return InstallationBudgetOut(
        month=time.month,
        month_ends_at=time.next_month,
        monthly_cap_usd=cap,
        cap_is_default=row is None or row.monthly_cap_usd is None,
        spent_usd=spent,
        left_usd=None if cap is None else max(cap - spent, Decimal(0)),
        requests=sum(each.requests for each in tenants),
        waiting=await count_blocked_rows(session, None),
        tenants=tenants,
    )


async def _list_tenants(
    session: AsyncSession, month: date, settings: Settings
) -> list[TenantBudgetOut]:
    result = await session.execute(
        select(
            Tenant.id,
            Tenant.name,
            Budget.monthly_cap_usd,
            Budget.own_limit_usd,
            CostMonth.spent_usd,
            CostMonth.requests,
        )
        .outerjoin(Budget, Budget.tenant_id == Tenant.id)
        .outerjoin(CostMonth, and_(CostMonth.tenant_id == Tenant.id, CostMonth.month == month))
        .order_by(func.coalesce(CostMonth.spent_usd, 0).desc(), Tenant.name)
    )
    return [
        TenantBudgetOut(
            tenant_id=tenant_id,
            name=name,
            allowed_usd=get_default_cap(settings) if allowed is None else allowed,
            allowed_is_default=allowed is None,
            own_limit_usd=own_limit,
            spent_usd=spent or Decimal(0),
            requests=requests or 0,
        )
        for tenant_id, name, allowed, own_limit, spent, requests in result
    ]


async def set_installation_cap(session: AsyncSession, actor: Actor, cap: Decimal | None) -> None:
    """Set the cap over all tenants; None resets it to the setting. Operators only.

    Needs a session that is not tenant-scoped, because blocked rows of every tenant become due.
    """
    before = await session.scalar(select(InstallationBudget.monthly_cap_usd))
    values = {"monthly_cap_usd": cap, "changed_by": actor.user_id}
    statement = insert(InstallationBudget).values(id=1, **values)
    await session.execute(
        statement.on_conflict_do_update(
            index_elements=[InstallationBudget.id], set_={**values, "changed_at": func.now()}
        )
    )
    woken = await wake_blocked_rows(session, None)
    changes = {"monthly_cap_usd": [None if each is None else str(each) for each in (before, cap)]}
    record(session, actor, "budget.change_installation", changes=changes, woken=woken)


async def require_tenant(session: AsyncSession, tenant_id: UUID) -> None:
    if await session.get(Tenant, tenant_id) is None:
        raise NotFound(f"There is no tenant {tenant_id}.")
