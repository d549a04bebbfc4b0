"""The cap is exact under concurrency, and requests that were not billed are refunded."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.errors import RetryLater
from scrapersky.models import (
    DEFAULT_TENANT_ID,
    Budget,
    CostEntry,
    CostMeter,
    CostMonth,
    CostState,
    ProviderDay,
    Tenant,
)
from scrapersky.places.budget.charges import (
    BUDGET_EXHAUSTED,
    BUDGET_RECHECK_INTERVAL,
    Charge,
    format_usd,
    pause_provider,
    reserve_charge,
    settle_charge,
)
from scrapersky.places.budget.ledger import ProviderTime, get_provider_time
from scrapersky.scraper.providers import prices
from scrapersky.scraper.providers.prices import get_daily_quota, get_price, get_sku
from tests.stage_cases import SYSTEM_USER_ID
from tests.waiting import PATIENCE_SECONDS

SKU = "place_details.enterprise"
PRICE = get_price(SKU, already=get_sku(SKU).free_a_month or 0, free_tier=True).usd


def charge(*, cap: str | Decimal = "1", free_tier: bool = False, sku: str = SKU) -> Charge:
    return Charge(
        entry_id=uuid7(),
        provider="google",
        sku=sku,
        method="GetPlace",
        default_cap_usd=Decimal(cap),
        free_tier=free_tier,
    )


async def reserved(
    database: Database, wanted: Charge, tenant_id: UUID = DEFAULT_TENANT_ID
) -> RetryLater | None:
    """The refusal, if it was one."""
    try:
        async with database.transaction() as session:
            await reserve_charge(session, tenant_id, wanted)
    except RetryLater as refusal:
        return refusal
    return None


async def settled(database: Database, entry_id: UUID, *, billed: bool) -> None:
    async with database.transaction() as session:
        await settle_charge(session, entry_id, billed=billed)


async def spent(session: AsyncSession, tenant_id: UUID = DEFAULT_TENANT_ID) -> Decimal:
    found = await session.scalar(
        select(CostMonth.spent_usd).where(CostMonth.tenant_id == tenant_id)
    )
    return found or Decimal(0)


async def counted(session: AsyncSession) -> int:
    return await session.scalar(select(func.sum(CostMeter.requests))) or 0


async def in_ledger(session: AsyncSession, tenant_id: UUID = DEFAULT_TENANT_ID) -> Decimal:
    found = await session.scalar(
        select(func.sum(CostEntry.usd)).where(
            CostEntry.tenant_id == tenant_id, CostEntry.state != CostState.NOT_BILLED
        )
    )
    return found or Decimal(0)


async def test_a_charge_that_is_stored_again_is_counted_once(database: Database) -> None:
    """As when the connection was lost while its first transaction committed."""
    wanted = charge(cap=PRICE)
    assert [await reserved(database, wanted) for _ in range(2)] == [None, None]
    async with database.reading() as session:
        assert (await spent(session), await counted(session)) == (PRICE, 1)


async def test_a_request_stands_in_the_ledger_before_it_is_sent(database: Database) -> None:
    wanted = charge()
    assert await reserved(database, wanted) is None
    async with database.reading() as session:
        entry = await session.get_one(CostEntry, wanted.entry_id)
        assert (entry.usd, entry.state, entry.is_free) == (PRICE, CostState.ASKED, False)
        assert await spent(session) == PRICE


async def test_the_cap_is_reached_to_the_cent_and_not_passed(database: Database) -> None:
    cap = PRICE * 3
    refusals = [await reserved(database, charge(cap=cap)) for _ in range(4)]
    assert [each is None for each in refusals] == [True, True, True, False]
    async with database.reading() as session:
        assert await spent(session) == cap


async def test_a_refusal_says_what_is_spent_and_how_to_go_on_and_leaves_nothing(
    database: Database,
) -> None:
    refusal = await reserved(database, charge(cap="0.01"))
    assert refusal is not None
    assert str(refusal).startswith(BUDGET_EXHAUSTED)
    assert "0.00 USD of 0.01 USD" in str(refusal)
    assert "PUT /api/v3/budget" in str(refusal)
    assert timedelta(0) < refusal.after <= BUDGET_RECHECK_INTERVAL
    async with database.reading() as session:
        for table in (CostEntry, CostMonth, CostMeter, ProviderDay):
            assert await session.scalar(select(func.count()).select_from(table)) == 0, table


async def test_what_is_free_this_month_is_allowed_without_a_budget(database: Database) -> None:
    async with database.transaction() as session:
        time = await get_provider_time(session)
        last_free = (get_sku(SKU).free_a_month or 0) - 1
        session.add(CostMeter(provider="google", sku=SKU, month=time.month, requests=last_free))
    assert await reserved(database, charge(cap="0", free_tier=True)) is None
    refusal = await reserved(database, charge(cap="0", free_tier=True))
    assert refusal is not None
    assert str(refusal).startswith(BUDGET_EXHAUSTED)


async def test_free_requests_are_allowed_even_with_a_cap_below_what_is_spent(
    database: Database,
) -> None:
    assert await reserved(database, charge(cap="5")) is None
    assert await reserved(database, charge(cap="0")) is not None
    assert await reserved(database, charge(cap="0", free_tier=True)) is None


async def test_all_tenants_share_the_free_requests(database: Database) -> None:
    async with database.transaction() as session:
        time = await get_provider_time(session)
        used = get_sku(SKU).free_a_month
        session.add(CostMeter(provider="google", sku=SKU, month=time.month, requests=used))
        other = Tenant(id=uuid7(), name="other")
        session.add(other)
    wanted = charge(free_tier=True)
    assert await reserved(database, wanted, other.id) is None
    async with database.reading() as session:
        assert await spent(session, other.id) == PRICE
        assert await spent(session) == 0


async def test_a_tenants_own_budget_counts_before_the_installations(database: Database) -> None:
    async with database.transaction() as session:
        own = Budget(tenant_id=DEFAULT_TENANT_ID, monthly_cap_usd=PRICE, changed_by=SYSTEM_USER_ID)
        session.add(own)
    assert await reserved(database, charge(cap="0")) is None
    assert await reserved(database, charge(cap="100")) is not None


async def test_what_was_not_billed_is_given_back_once(database: Database) -> None:
    first, second = charge(), charge()
    for each in (first, second):
        assert await reserved(database, each) is None
    await settled(database, first.entry_id, billed=False)
    await settled(database, first.entry_id, billed=False)
    await settled(database, second.entry_id, billed=True)
    await settled(database, second.entry_id, billed=False)
    async with database.reading() as session:
        assert await spent(session) == PRICE
        assert await counted(session) == 1
        found = await session.execute(select(CostEntry.id, CostEntry.state))
        states = {each.id: each.state for each in found}
        assert states == {first.entry_id: "not_billed", second.entry_id: "billed"}


async def test_what_is_always_free_is_counted_without_an_entry(database: Database) -> None:
    wanted = charge(cap="0", sku="place_details.ids")
    assert await reserved(database, wanted) is None
    await settled(database, wanted.entry_id, billed=False)
    async with database.reading() as session:
        assert await session.scalar(select(func.count()).select_from(CostEntry)) == 0
        assert await session.scalar(select(ProviderDay.requests)) == 1
        assert await counted(session) == 1


async def test_the_days_quota_is_not_passed(database: Database) -> None:
    quota = get_daily_quota("GetPlace")
    async with database.transaction() as session:
        time = await get_provider_time(session)
        day = ProviderDay(provider="google", method="GetPlace", day=time.day, requests=quota - 1)
        session.add(day)
    assert await reserved(database, charge()) is None
    refusal = await reserved(database, charge())
    assert refusal is not None
    assert f"{quota:,}" in str(refusal)
    assert refusal.after <= timedelta(hours=25)
    other_method = replace(charge(sku="text_search.enterprise"), method="SearchText")
    assert await reserved(database, other_method) is None


async def test_a_paused_method_waits_until_then_and_the_longer_pause_counts(
    database: Database,
) -> None:
    soon = datetime.now(UTC) + timedelta(minutes=30)
    async with database.transaction() as session:
        await pause_provider(session, "google", "GetPlace", soon, "Its day is used up.")
        await pause_provider(
            session, "google", "GetPlace", soon - timedelta(minutes=20), "A minute."
        )
    refusal = await reserved(database, charge())
    assert refusal is not None
    assert "Its day is used up." in str(refusal)
    assert timedelta(minutes=29) < refusal.after <= timedelta(minutes=30)
    async with database.transaction() as session:
        await pause_provider(session, "google", "GetPlace", soon + timedelta(hours=1), "Longer.")
    longer = await reserved(database, charge())
    assert longer is not None
    assert longer.after > timedelta(hours=1)


async def test_a_pause_that_is_over_is_none(database: Database) -> None:
    async with database.transaction() as session:
        over = datetime.now(UTC) - timedelta(seconds=1)
        await pause_provider(session, "google", "GetPlace", over, "A minute.")
    assert await reserved(database, charge()) is None


async def test_the_month_and_the_day_are_those_of_california(database: Database) -> None:
    async with database.reading() as session:
        time = await get_provider_time(session)
    assert time == ProviderTime(
        now=time.now,
        day=prices.get_pacific_day(time.now),
        month=prices.get_pacific_month(time.now),
        next_day=prices.get_next_pacific_midnight(time.now),
        next_month=prices.get_next_pacific_month(time.now),
    )


async def test_a_new_month_begins_with_nothing_spent(database: Database) -> None:
    assert await reserved(database, charge(cap=PRICE)) is None
    assert await reserved(database, charge(cap=PRICE)) is not None
    async with database.transaction() as session:
        await session.execute(update(CostMonth).values(month=date(2020, 1, 1)))
    assert await reserved(database, charge(cap=PRICE)) is None


async def test_however_they_interleave_the_ledger_adds_up_and_the_cap_holds(
    url: str, database: Database
) -> None:
    """Many at once, of two tenants and through four pools: some are billed, some are refused by
    the provider, some are settled twice, some never."""
    tenant = uuid7()
    async with database.transaction() as session:
        session.add(Tenant(id=tenant, name="other"))
    cap, chance = PRICE * 25, random.Random(7)
    pools = [Database(url, pool_size=5) for _ in range(4)]
    seen: list[Decimal] = []

    async def one(number: int) -> bool:
        pool, owner = pools[number % 4], (DEFAULT_TENANT_ID, tenant)[number % 2]
        sku = ("place_details.enterprise", "place_details.pro")[number % 3 == 0]
        wanted = charge(cap=cap, sku=sku)
        if await reserved(pool, wanted, owner) is not None:
            return False
        ends = chance.choice([(), (True,), (False,), (False, False), (True, False), (False, True)])
        for billed in ends:
            await settled(pool, wanted.entry_id, billed=billed)
        return True

    async def watch() -> None:
        while True:
            async with database.reading() as session:
                seen.extend(await session.scalars(select(CostMonth.spent_usd)))
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            taken = await asyncio.gather(*(one(number) for number in range(160)))
    finally:
        watching.cancel()
        for pool in pools:
            await pool.close()
    assert any(taken)
    assert not all(taken)
    assert max(seen) <= cap
    async with database.reading() as session:
        for owner in (DEFAULT_TENANT_ID, tenant):
            assert await spent(session, owner) == await in_ledger(session, owner) <= cap
        kept = select(func.count()).where(CostEntry.state != CostState.NOT_BILLED)
        assert await counted(session) == await session.scalar(kept)


@pytest.mark.parametrize(
    ("usd", "said"),
    [("0", "0.00 USD"), ("12.5", "12.50 USD"), ("0.035", "0.035 USD"), ("1200", "1,200.00 USD")],
)
def test_dollars_are_written_as_people_do(usd: str, said: str) -> None:
    assert format_usd(Decimal(usd)) == said
