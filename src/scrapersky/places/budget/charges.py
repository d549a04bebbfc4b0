"""Reserve the price of every request before it is sent, and settle it afterwards.

A stage yields a `Charge`, whose store reserves the price or ends the work. Then it sends the
request and yields the outcome together with the settlement of the ledger entry. Counters are locked
in one order (day, meter, month, installation), so that workers wait for each other instead of
exceeding a cap, and never deadlock.

When the provider refuses:

    except ProviderFailed as error:
        yield build_refusal(error, charge)
        raise classify_failure(error) from error
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from sqlalchemy import BigInteger, cast, func, literal, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import Rejected, RetryLater
from scrapersky.models import CostEntry, CostMeter, CostMonth, CostState, ProviderPause
from scrapersky.models.costs import USD
from scrapersky.pipeline.stage import StoreImmediately
from scrapersky.places.budget.ledger import (
    ProviderTime,
    TenantCap,
    count_day_request,
    count_month_request,
    get_installation_cap,
    get_month_spending,
    get_pause,
    get_provider_time,
    get_tenant_cap,
    sum_installation_spending,
)
from scrapersky.scraper.providers.errors import DayQuota, MinuteQuota, ProviderDown, ProviderFailed
from scrapersky.scraper.providers.prices import Price, get_daily_quota, get_price, get_sku
from scrapersky.settings import Settings

BUDGET_EXHAUSTED = "The month's budget is used up"
"""Prefix of the error of every row that is blocked on the budget. Such rows are found by it."""
BUDGET_RECHECK_INTERVAL = timedelta(hours=1)
MIN_RETRY_DELAY = timedelta(seconds=1)
INSTALLATION_LOCK_KEY = int.from_bytes(
    hashlib.blake2b(b"installation budget", digest_size=8).digest(), "big", signed=True
)
"""Advisory lock that serialises spending against the installation's cap until commit."""


@dataclass(frozen=True)
class Charge(StoreImmediately):
    """A request that is about to be sent."""

    entry_id: UUID
    provider: str
    sku: str
    method: str
    default_cap_usd: Decimal
    """Cap of tenants without a budget."""
    free_tier: bool
    search_id: UUID | None = None
    place_id: UUID | None = None
    installation_cap_usd: Decimal | None = None
    """Cap over all tenants, unless operators set another. None means no cap."""


@dataclass(frozen=True)
class ChargeSettlement(StoreImmediately):
    """The settlement of a charge whose request returned nothing to store with it."""

    entry_id: UUID
    billed: bool
    note: str | None = None


def get_default_cap(settings: Settings) -> Decimal:
    return Decimal(str(settings.places_monthly_cap_usd))


def get_default_installation_cap(settings: Settings) -> Decimal | None:
    cap = settings.places_installation_cap_usd
    return None if cap is None else Decimal(str(cap))


async def reserve_charge(session: AsyncSession, tenant_id: UUID, charge: Charge) -> None:
    """Count the request and reserve its price, or raise `RetryLater`.

    When it raises, the caller must roll back. Requests that are always free are counted but get no
    ledger entry: there are thousands and nothing to settle. A charge that already has its entry is
    not counted again, because the engine repeats a store whose commit was not confirmed.
    """
    if await session.get(CostEntry, charge.entry_id) is not None:
        return
    time = await get_provider_time(session)
    await _check_pause(session, charge, time)
    await _reserve_day_quota(session, charge, time)
    number = await count_month_request(session, charge.provider, charge.sku, time.month)
    if is_always_free(charge.sku):
        return
    price = get_price(charge.sku, already=number - 1, free_tier=charge.free_tier)
    await _reserve_tenant_budget(session, tenant_id, charge, price.usd, time)
    await _reserve_installation_budget(session, charge, price.usd, time)
    session.add(_build_entry(tenant_id, charge, price, time))
    await session.flush()


def is_always_free(sku: str) -> bool:
    return get_sku(sku).free_a_month is None


def _build_entry(tenant_id: UUID, charge: Charge, price: Price, time: ProviderTime) -> CostEntry:
    return CostEntry(
        id=charge.entry_id,
        tenant_id=tenant_id,
        provider=charge.provider,
        sku=charge.sku,
        month=time.month,
        usd=price.usd,
        is_free=price.is_free,
        search_id=charge.search_id,
        place_id=charge.place_id,
    )


async def _check_pause(session: AsyncSession, charge: Charge, time: ProviderTime) -> None:
    paused = await get_pause(session, charge.provider, charge.method)
    if paused is not None:
        raise RetryLater(
            f"{charge.provider} requests for {charge.method} are paused until "
            f"{_format_time(paused.until)}: {paused.reason}",
            after=max(paused.until - time.now, MIN_RETRY_DELAY),
        )


async def _reserve_day_quota(session: AsyncSession, charge: Charge, time: ProviderTime) -> None:
    """Count the request against the daily quota. Refused requests count at the provider too, so the
    count is never given back.
    """
    quota = get_daily_quota(charge.method)
    requests = await count_day_request(session, charge.provider, charge.method, time.day)
    if requests > quota:
        raise RetryLater(
            f"The daily quota of {quota:,} {charge.provider} requests for {charge.method} is used "
            f"up. Work resumes at {_format_time(time.next_day)}.",
            after=max(time.next_day - time.now, MIN_RETRY_DELAY),
        )


async def _reserve_tenant_budget(
    session: AsyncSession, tenant_id: UUID, charge: Charge, usd: Decimal, time: ProviderTime
) -> None:
    cap = await get_tenant_cap(session, tenant_id, charge.default_cap_usd)
    if await _add_spending(session, tenant_id, time, usd, cap.usd):
        return
    await session.execute(
        insert(CostMonth).values(tenant_id=tenant_id, month=time.month).on_conflict_do_nothing()
    )
    if not await _add_spending(session, tenant_id, time, usd, cap.usd):
        spent = await get_month_spending(session, tenant_id, time.month)
        raise RetryLater(_format_refusal(spent, cap, usd, time), after=_get_recheck_delay(time))


async def _reserve_installation_budget(
    session: AsyncSession, charge: Charge, usd: Decimal, time: ProviderTime
) -> None:
    """Refuse a request that would exceed the cap over all tenants. Free requests pass.

    The tenants' months are the only counters, so that no total can drift from them. Spending is
    serialised: the lock holder sees, in a new statement's snapshot, what others committed, plus its
    own month, which was updated before. Giving money back only lowers the sum and needs no lock.
    The lock comes last, after the rows of `reserve_charge`, and nothing is locked after it, which
    rules out deadlocks.
    """
    if not usd:
        return
    cap = await get_installation_cap(session, charge.installation_cap_usd)
    if cap is None:
        return
    lock = func.pg_advisory_xact_lock(cast(INSTALLATION_LOCK_KEY, BigInteger))
    await session.execute(select(lock))
    if await sum_installation_spending(session, time.month) > cap:
        sentence = (
            f"{BUDGET_EXHAUSTED} for all tenants of this installation, and the next request costs "
            f"{format_usd(usd)}. The month ends at {_format_time(time.next_month)}. "
            "To continue earlier, an operator can raise the installation's cap "
            "(PUT /api/v3/budget/installation, or `scrapersky budget set --installation`)."
        )
        raise RetryLater(sentence, after=_get_recheck_delay(time))


def _get_recheck_delay(time: ProviderTime) -> timedelta:
    return min(BUDGET_RECHECK_INTERVAL, max(time.next_month - time.now, MIN_RETRY_DELAY))


async def _add_spending(
    session: AsyncSession, tenant_id: UUID, time: ProviderTime, usd: Decimal, cap: Decimal
) -> bool:
    """Add to the month's spending. Return False when the cap does not allow it or the month has no
    row yet.

    A free request is allowed even when the cap was lowered below the spending.
    """
    price = literal(usd, USD)
    reserved = await session.scalar(
        update(CostMonth)
        .where(
            CostMonth.tenant_id == tenant_id,
            CostMonth.month == time.month,
            or_(price == 0, CostMonth.spent_usd + price <= literal(cap, USD)),
        )
        .values(spent_usd=CostMonth.spent_usd + price, requests=CostMonth.requests + 1)
        .returning(CostMonth.requests)
        .execution_options(synchronize_session=False)
    )
    return reserved is not None


def _format_refusal(spent: Decimal, cap: TenantCap, usd: Decimal, time: ProviderTime) -> str:
    lowered = cap.usd < cap.allowed_usd
    who = "a tenant's admin can raise its own limit" if lowered else "an operator can raise it"
    return (
        f"{BUDGET_EXHAUSTED}: {format_usd(spent)} of {format_usd(cap.usd)} spent, and the next "
        f"request costs {format_usd(usd)}. The month ends at {_format_time(time.next_month)}. "
        f"To continue earlier, {who} (PUT /api/v3/budget, or `scrapersky budget set`)."
    )


def format_usd(usd: Decimal) -> str:
    """Format as `12.50 USD`, with fractions of a cent where there are any."""
    exact = usd.normalize()
    places = max(2, -int(exact.as_tuple().exponent))
    return f"{exact:,.{places}f} USD"


def _format_time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


async def settle_charge(
    session: AsyncSession, entry_id: UUID, *, billed: bool, note: str | None = None
) -> None:
    """Settle a charge. An unbilled one gives its price back. Idempotent.

    Do not call it for an unbilled charge in a row's last store, which shares its transaction with
    other rows; yield a `ChargeSettlement` instead.
    """
    settled = await session.execute(
        update(CostEntry)
        .where(CostEntry.id == entry_id, CostEntry.state == CostState.ASKED)
        .values(
            state=CostState.BILLED if billed else CostState.NOT_BILLED,
            settled_at=func.now(),
            note=note,
        )
        .returning(
            CostEntry.tenant_id, CostEntry.provider, CostEntry.sku, CostEntry.month, CostEntry.usd
        )
        .execution_options(synchronize_session=False)
    )
    entry = settled.one_or_none()
    if entry is not None and not billed:
        await _refund(session, *entry)


async def _refund(
    session: AsyncSession, tenant_id: UUID, provider: str, sku: str, month: object, usd: Decimal
) -> None:
    await session.execute(
        update(CostMeter)
        .where(CostMeter.provider == provider, CostMeter.sku == sku, CostMeter.month == month)
        .values(requests=CostMeter.requests - 1)
        .execution_options(synchronize_session=False)
    )
    await session.execute(
        update(CostMonth)
        .where(CostMonth.tenant_id == tenant_id, CostMonth.month == month)
        .values(spent_usd=CostMonth.spent_usd - usd, requests=CostMonth.requests - 1)
        .execution_options(synchronize_session=False)
    )


async def pause_provider(
    session: AsyncSession, provider: str, method: str, until: datetime, reason: str
) -> None:
    """Pause a provider's method for all workers. Of two pauses the longer one wins."""
    statement = insert(ProviderPause).values(
        provider=provider, method=method, until=until, reason=reason
    )
    await session.execute(
        statement.on_conflict_do_update(
            index_elements=[ProviderPause.provider, ProviderPause.method],
            set_={"until": statement.excluded.until, "reason": statement.excluded.reason},
            where=ProviderPause.until < statement.excluded.until,
        )
    )


FAILURE_RETRY_DELAY = timedelta(seconds=10)


@dataclass(frozen=True)
class ChargeRefusal(StoreImmediately):
    """A charge whose request returned nothing."""

    charge: Charge
    note: str
    billed: bool
    pause_for: timedelta | None = None
    """How long all workers pause the method, because they would be refused too."""


def build_refusal(error: ProviderFailed, charge: Charge) -> ChargeRefusal:
    return ChargeRefusal(
        charge, str(error), billed=error.billed, pause_for=_get_pause_duration(error)
    )


def _get_pause_duration(error: ProviderFailed) -> timedelta | None:
    if isinstance(error, MinuteQuota | DayQuota):
        return _get_retry_delay(error)
    return None


def _get_retry_delay(error: ProviderFailed) -> timedelta | None:
    if isinstance(error, DayQuota):
        return max(error.until - datetime.now(UTC), MIN_RETRY_DELAY)
    if isinstance(error, MinuteQuota | ProviderDown) and error.retry_after_seconds is not None:
        return max(timedelta(seconds=error.retry_after_seconds), MIN_RETRY_DELAY)
    return None


def classify_failure(error: ProviderFailed, *, has_come_on: bool = False) -> Exception:
    """Convert a provider failure to a stage error.

    A failure without a retry time counts as an attempt, unless the work has made progress since the
    claim: a long search meets occasional errors, and each time there is less left to request.
    """
    if error.permanent:
        return Rejected(str(error))
    wait = _get_retry_delay(error) or (FAILURE_RETRY_DELAY if has_come_on else None)
    return error if wait is None else RetryLater(str(error), after=wait)


async def store_refusal(session: AsyncSession, refusal: ChargeRefusal) -> None:
    charge = refusal.charge
    await settle_charge(session, charge.entry_id, billed=refusal.billed, note=refusal.note)
    if refusal.pause_for is not None:
        until = (await get_provider_time(session)).now + refusal.pause_for
        await pause_provider(session, charge.provider, charge.method, until, refusal.note)
