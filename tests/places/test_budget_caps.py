"""Only operators can raise a tenant's cap, and one cap applies to all tenants together."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select, update

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.errors import RetryLater
from scrapersky.models import (
    DEFAULT_TENANT_ID,
    AuditEntry,
    Budget,
    CostEntry,
    CostMonth,
    CostState,
    InstallationBudget,
    Place,
    Role,
)
from scrapersky.places.budget.blocked_rows import wake_after_budget_change
from scrapersky.places.budget.charges import BUDGET_EXHAUSTED, Charge, reserve_charge, settle_charge
from scrapersky.places.budget.estimates import estimate_search
from scrapersky.places.budget.service import set_allowance, set_installation_cap
from scrapersky.scraper.providers.google import DETAILS_FULL
from scrapersky.scraper.providers.prices import get_price
from tests.app import serving
from tests.auth.accounts import SYSTEM, add_key, add_tenant, asking, signed_in_settings
from tests.conftest import make_settings
from tests.operations.test_metrics import Figures
from tests.places.deep_scans import queued
from tests.waiting import PATIENCE_SECONDS

BUDGET = "/api/v3/budget"
INSTALLATION = "/api/v3/budget/installation"
PRICE = get_price(DETAILS_FULL.sku, already=0, free_tier=False).usd


def charge(*, installation: Decimal | None = None, tenant: Decimal = Decimal(100)) -> Charge:
    return Charge(
        entry_id=uuid7(),
        provider="google",
        sku=DETAILS_FULL.sku,
        method=DETAILS_FULL.method,
        default_cap_usd=tenant,
        free_tier=False,
        installation_cap_usd=installation,
    )


async def try_to_reserve(database: Database, tenant_id: UUID, wanted: Charge) -> RetryLater | None:
    try:
        async with database.transaction() as session:
            await reserve_charge(session, tenant_id, wanted)
    except RetryLater as refusal:
        return refusal
    return None


async def sum_spent(database: Database) -> Decimal:
    async with database.reading() as session:
        return await session.scalar(select(func.sum(CostMonth.spent_usd))) or Decimal(0)


async def test_workers_of_two_tenants_never_overrun_the_installations_cap(
    url: str, database: Database
) -> None:
    """Each tenant alone could pay for everything; together they stop at the installation's cap.
    Some requests are not billed and give their price back, some are never settled."""
    other = (await add_tenant(database, "acme")).tenant_id
    cap = PRICE * 25 + PRICE / 2
    pools = [Database(url, pool_size=5) for _ in range(4)]
    highest: list[Decimal] = []

    async def ask(number: int) -> bool:
        pool, owner = pools[number % 4], (DEFAULT_TENANT_ID, other)[number % 2]
        wanted = charge(installation=cap)
        if await try_to_reserve(pool, owner, wanted) is not None:
            return False
        if number % 3:
            async with pool.transaction() as session:
                await settle_charge(session, wanted.entry_id, billed=number % 3 == 1)
        return True

    async def watch() -> None:
        while True:
            highest.append(await sum_spent(database))
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            taken = await asyncio.gather(*(ask(number) for number in range(160)))
    finally:
        watching.cancel()
        for pool in pools:
            await pool.close()

    assert any(taken)
    assert not all(taken)
    # What was given back last can still be spent, to the last request that fits.
    while await try_to_reserve(database, other, charge(installation=cap)) is None:
        pass
    assert max(highest) <= PRICE * 25
    async with database.reading() as session:
        in_ledger = await session.scalar(
            select(func.sum(CostEntry.usd)).where(CostEntry.state != CostState.NOT_BILLED)
        )
    assert await sum_spent(database) == in_ledger == PRICE * 25


async def test_a_refusal_by_the_installations_cap_leaves_nothing_and_says_who_can_help(
    database: Database,
) -> None:
    refusal = await try_to_reserve(database, DEFAULT_TENANT_ID, charge(installation=PRICE / 2))

    assert refusal is not None
    assert str(refusal).startswith(BUDGET_EXHAUSTED)
    assert "an operator can raise the installation's cap" in str(refusal)
    async with database.reading() as session:
        assert await session.scalar(select(func.count()).select_from(CostMonth)) == 0
        assert await session.scalar(select(func.count()).select_from(CostEntry)) == 0


async def test_what_an_operator_set_counts_before_the_setting(database: Database) -> None:
    async with database.transaction() as session:
        await set_installation_cap(session, SYSTEM, PRICE)
    wanted = [charge(installation=Decimal(100)), charge(installation=Decimal(100))]
    answers = [await try_to_reserve(database, DEFAULT_TENANT_ID, each) for each in wanted]
    assert [each is None for each in answers] == [True, False]

    async with database.transaction() as session:
        await set_installation_cap(session, SYSTEM, None)
    assert await try_to_reserve(database, DEFAULT_TENANT_ID, wanted[1]) is None


async def test_without_a_cap_over_all_tenants_only_theirs_count(database: Database) -> None:
    for _ in range(3):
        assert await try_to_reserve(database, DEFAULT_TENANT_ID, charge()) is None


async def test_the_installations_month_is_the_providers(database: Database) -> None:
    cap = PRICE
    assert await try_to_reserve(database, DEFAULT_TENANT_ID, charge(installation=cap)) is None
    assert await try_to_reserve(database, DEFAULT_TENANT_ID, charge(installation=cap)) is not None
    async with database.transaction() as session:
        await session.execute(
            update(CostMonth).values(month=datetime(2020, 1, 1, tzinfo=UTC).date())
        )
    assert await try_to_reserve(database, DEFAULT_TENANT_ID, charge(installation=cap)) is None


# Who may change what


async def test_a_tenants_admin_lowers_the_cap_and_cannot_raise_it(
    url: str, database: Database
) -> None:
    acme = await add_tenant(database, "acme")
    _, key = await add_key(database, acme)
    async with asking(signed_in_settings(url, places_monthly_cap_usd=20), key) as client:
        refused = await client.put(BUDGET, json={"monthly_cap_usd": 20.01})
        lowered = await client.put(BUDGET, json={"monthly_cap_usd": 5})
        shown = (await client.get(BUDGET)).json()
        raised_again = await client.put(BUDGET, json={"monthly_cap_usd": 20})

    assert refused.status_code == 403
    assert "up to 20.00 USD a month" in refused.json()["detail"]
    assert "ask an operator" in refused.json()["detail"]
    assert lowered.status_code == 200
    assert (shown["monthly_cap_usd"], shown["allowed_usd"], shown["own_limit_usd"]) == (5, 20, 5)
    assert (raised_again.json()["monthly_cap_usd"], raised_again.json()["own_limit_usd"]) == (
        20,
        None,
    )


async def test_a_tenants_own_limit_holds_and_what_operators_allow_holds_over_it(
    url: str, database: Database
) -> None:
    acme = await add_tenant(database, "acme")
    _, key = await add_key(database, acme)
    async with asking(signed_in_settings(url, places_monthly_cap_usd=20), key) as client:
        await client.put(BUDGET, json={"monthly_cap_usd": str(PRICE)})
    answers = [
        await try_to_reserve(database, acme.tenant_id, charge(tenant=Decimal(20))) for _ in range(2)
    ]
    assert answers[0] is None
    assert answers[1] is not None
    assert "a tenant's admin can raise its own limit" in str(answers[1])

    async with database.transaction() as session:
        await session.execute(update(Budget).values(own_limit_usd=50))
        await set_allowance(session, SYSTEM, acme.tenant_id, PRICE)
    assert await try_to_reserve(database, acme.tenant_id, charge(tenant=Decimal(20))) is not None


@pytest.mark.parametrize("method", ["get", "put"])
async def test_a_tenants_admin_has_no_business_with_the_installations_cap(
    method: str, url: str, database: Database
) -> None:
    acme = await add_tenant(database, "acme")
    _, key = await add_key(database, acme)
    body: dict[str, Any] = {} if method == "get" else {"json": {"monthly_cap_usd": 1}}
    async with asking(signed_in_settings(url), key) as client:
        for path in (INSTALLATION, f"{BUDGET}/tenants/{acme.tenant_id}"):
            answer = await client.request(method.upper(), path, **body)
            assert answer.status_code in (403, 405), path
    async with database.reading() as session:
        assert await session.scalar(select(InstallationBudget.id)) is None
        assert await session.scalar(select(Budget.tenant_id)) is None


async def test_operators_see_all_tenants_and_set_their_caps(url: str, database: Database) -> None:
    acme = await add_tenant(database, "acme")
    await try_to_reserve(database, acme.tenant_id, charge())
    _, key = await add_key(database, SYSTEM)
    async with asking(signed_in_settings(url, places_monthly_cap_usd=20), key) as client:
        capped = await client.put(INSTALLATION, json={"monthly_cap_usd": 70})
        raised = await client.put(
            f"{BUDGET}/tenants/{acme.tenant_id}", json={"monthly_cap_usd": 300}
        )
        unknown = await client.put(f"{BUDGET}/tenants/{uuid7()}", json={"monthly_cap_usd": 1})
        shown = (await client.get(INSTALLATION)).json()

    assert (capped.status_code, raised.status_code, unknown.status_code) == (200, 200, 404)
    assert (shown["monthly_cap_usd"], shown["cap_is_default"]) == (70, False)
    assert shown["spent_usd"] == float(PRICE)
    assert [(each["name"], each["allowed_usd"]) for each in shown["tenants"]] == [
        ("acme", 300),
        ("default", 20),
    ]
    async with database.reading() as session:
        noted = await session.execute(
            select(AuditEntry.action, AuditEntry.tenant_id).where(
                AuditEntry.action.startswith("budget.")
            )
        )
        assert {tuple(each) for each in noted} == {
            ("budget.change_installation", DEFAULT_TENANT_ID),
            ("budget.change", acme.tenant_id),
        }


async def test_a_curator_of_the_default_tenant_cannot_raise_the_cap(
    url: str, database: Database
) -> None:
    _, key = await add_key(database, SYSTEM, role=Role.CURATOR)
    async with asking(signed_in_settings(url), key) as client:
        for path in (BUDGET, INSTALLATION):
            assert (await client.put(path, json={"monthly_cap_usd": 1})).status_code == 403


# What people are told


async def test_what_is_left_counts_what_all_tenants_spent(url: str, database: Database) -> None:
    """The sum over all tenants, although the session of a request sees one tenant's rows only."""
    acme = await add_tenant(database, "acme")
    settings = signed_in_settings(
        url,
        places_monthly_cap_usd=20,
        places_installation_cap_usd=float(PRICE * 3),
        google_free_requests=False,
    )
    for _ in range(2):
        await try_to_reserve(database, DEFAULT_TENANT_ID, charge())
    _, key = await add_key(database, acme)
    async with asking(settings, key) as client:
        shown = (await client.get(BUDGET)).json()
    async with database.reading() as session:
        estimate = await estimate_search(
            session, acme.tenant_id, max_results=1000, provider="google", settings=settings
        )

    assert (shown["spent_usd"], shown["left_usd"]) == (0, float(PRICE))
    assert shown["limited_by_installation"]
    assert not estimate.fits
    assert "The search will pause" in estimate.sentence


async def test_raising_the_installations_cap_wakes_what_waits_in_every_tenant(
    url: str, database: Database
) -> None:
    acme = await add_tenant(database, "acme")
    later, poor = datetime.now(UTC) + timedelta(minutes=50), f"{BUDGET_EXHAUSTED} for all."
    ours = queued("ours", deep_scan_error=poor, deep_scan_due_at=later)
    theirs = queued("theirs", deep_scan_error=poor, deep_scan_due_at=later)
    theirs.tenant_id = acme.tenant_id
    late = queued("late", deep_scan_error=poor, deep_scan_due_at=later)
    async with database.transaction() as session:
        session.add_all([ours, theirs])
    settings = make_settings(url, scheduler_enabled=False)
    async with serving(settings) as client:
        assert (await client.get(INSTALLATION)).json()["waiting"] == 2
        await client.put(INSTALLATION, json={"monthly_cap_usd": 500})
    async with database.transaction() as session:
        due = await session.scalars(select(Place.deep_scan_due_at))
        assert all(each <= datetime.now(UTC) for each in due)
        session.add(late)
    # One that was refused by the old cap and came back to the queue only after the change.
    assert await wake_after_budget_change(database, settings) == 3


async def test_the_installations_cap_is_among_the_metrics(url: str) -> None:
    settings = make_settings(url, scheduler_enabled=False, places_installation_cap_usd=70)
    async with serving(settings) as client:
        assert (await Figures.read(client)).of("provider_installation_cap_usd") == 70
        await client.put(INSTALLATION, json={"monthly_cap_usd": 90})
        assert (await Figures.read(client)).of("provider_installation_cap_usd") == 90
