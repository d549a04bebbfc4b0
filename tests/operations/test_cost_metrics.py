"""Requests and cost of place providers in `/metrics`."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from sqlalchemy import func, select, update

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import DEFAULT_TENANT_ID, CostEntry, CostMeter, CostMonth
from scrapersky.operations import metrics
from scrapersky.operations.metrics import load_month_spending
from scrapersky.places.budget import ledger
from scrapersky.places.budget.charges import Charge, reserve_charge, settle_charge
from scrapersky.scraper.providers.google import DETAILS_FULL, SEARCH_FULL, SEARCH_IDS
from scrapersky.scraper.providers.prices import get_price
from tests.app import serving
from tests.auth.accounts import add_tenant
from tests.conftest import make_settings
from tests.operations.test_metrics import Figures

DETAILS, SEARCH, IDS = DETAILS_FULL.sku, SEARCH_FULL.sku, SEARCH_IDS.sku


async def asked(
    database: Database, sku: str, *, times: int = 1, tenant_id: UUID = DEFAULT_TENANT_ID
) -> list[UUID]:
    ids = [uuid7() for _ in range(times)]
    async with database.transaction() as session:
        for each in ids:
            charge = Charge(
                entry_id=each,
                provider="google",
                sku=sku,
                method="GetPlace",
                default_cap_usd=Decimal(100),
                free_tier=False,
            )
            await reserve_charge(session, tenant_id, charge)
    return ids


def price(sku: str) -> float:
    return float(get_price(sku, already=0, free_tier=False).usd)


async def test_requests_and_money_of_all_tenants_show_by_provider_and_sku(
    url: str, database: Database
) -> None:
    other = (await add_tenant(database, "acme")).tenant_id
    await asked(database, DETAILS, times=3)
    await asked(database, DETAILS, times=2, tenant_id=other)
    await asked(database, SEARCH)
    await asked(database, IDS, times=4)
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        figures = await Figures.read(client)
        said = (await client.get("/metrics")).text

    def of(name: str, sku: str) -> float:
        return figures.of(f"provider_{name}_this_month", provider="google", sku=sku)

    assert [of("requests", each) for each in (DETAILS, SEARCH, IDS)] == [5, 1, 4]
    assert of("spent_usd", DETAILS) == pytest.approx(5 * price(DETAILS))
    assert price(DETAILS) > 0
    assert of("spent_usd", SEARCH) == pytest.approx(price(SEARCH))
    assert of("spent_usd", IDS) == 0
    assert "acme" not in said
    assert str(other) not in said


async def test_what_was_not_billed_is_neither_counted_nor_paid(database: Database) -> None:
    billed, refused = await asked(database, DETAILS, times=2)
    async with database.transaction() as session:
        await settle_charge(session, billed, billed=True)
        await settle_charge(session, refused, billed=False)
        [spent] = await load_month_spending(session)

    assert (spent.requests, float(spent.usd)) == (1, price(DETAILS))


async def test_what_was_spent_before_this_month_is_not_in_it(database: Database) -> None:
    old, _ = await asked(database, DETAILS, times=2)
    async with database.transaction() as session:
        month = await session.scalar(select(CostMonth.month))
        assert month is not None
        before = (month - timedelta(days=1)).replace(day=1)
        long_ago = func.now() - timedelta(days=32)
        await session.execute(
            update(CostEntry).where(CostEntry.id == old).values(month=before, asked_at=long_ago)
        )
        meter = {"provider": "google", "sku": DETAILS, "month": before, "requests": 1}
        session.add(CostMeter(**meter))
        [spent] = await load_month_spending(session)

    assert (spent.requests, float(spent.usd)) == (2, price(DETAILS))


async def test_the_month_is_the_one_that_the_ledger_counts_in(database: Database) -> None:
    await asked(database, DETAILS)
    async with database.reading() as session:
        time = await ledger.get_provider_time(session)
        begun = await session.scalar(select(metrics._build_first_day()))

    assert (metrics.PROVIDER_TIMEZONE, begun) == (ledger.PROVIDER_TIMEZONE, time.month)
