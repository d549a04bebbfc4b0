"""Budget routes: spending, caps, and rows blocked on the budget."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import select

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import (
    DEFAULT_TENANT_ID,
    AuditEntry,
    Budget,
    CostMeter,
    Job,
    Place,
)
from scrapersky.places.budget.blocked_rows import wake_after_budget_change
from scrapersky.places.budget.charges import (
    BUDGET_EXHAUSTED,
    Charge,
    pause_provider,
    reserve_charge,
    settle_charge,
)
from scrapersky.places.budget.estimates import estimate_search
from scrapersky.places.budget.ledger import get_provider_time
from scrapersky.scraper.providers.google import DETAILS_FULL, SEARCH_FULL
from scrapersky.settings import Settings
from tests.app import serving
from tests.conftest import make_settings
from tests.places.deep_scans import queued
from tests.stage_cases import OWNED

BUDGET = "/api/v3/budget"
ENTRIES = "/api/v3/budget/entries"


def charge(**more: Any) -> Charge:
    return Charge(
        **{
            "entry_id": uuid7(),
            "provider": "google",
            "sku": DETAILS_FULL.sku,
            "method": DETAILS_FULL.method,
            "default_cap_usd": Decimal(10),
            "free_tier": False,
            **more,
        }
    )


@pytest.fixture
def idle(url: str) -> Settings:
    """Nobody works: only what is asked for happens."""
    return make_settings(url, scheduler_enabled=False, places_monthly_cap_usd=5)


async def test_a_fresh_month_shows_what_is_free_and_nothing_spent(idle: Settings) -> None:
    async with serving(idle) as client:
        body = (await client.get(BUDGET)).json()
    assert (body["spent_usd"], body["monthly_cap_usd"], body["left_usd"]) == (0, 5, 5)
    assert (body["cap_is_own"], body["waiting"]) == (False, 0)
    search = next(each for each in body["free_tier"] if each["sku"] == SEARCH_FULL.sku)
    assert (search["used"], search["free"], search["left"], search["next_usd"]) == (
        0,
        1000,
        1000,
        0,
    )
    today = {each["method"]: (each["used"], each["quota"]) for each in body["today"]}
    assert today == {"SearchText": (0, 75_000), "GetPlace": (0, 125_000)}
    assert body["prices_as_of"] == "2026-09-24"


async def test_requests_are_in_the_budget_and_in_the_ledger(
    idle: Settings, database: Database
) -> None:
    first, second = charge(), charge()
    async with database.transaction() as session:
        for each in (first, second):
            await reserve_charge(session, DEFAULT_TENANT_ID, each)
        await settle_charge(session, first.entry_id, billed=True)
        await settle_charge(session, second.entry_id, billed=False, note="It was down.")
        until = datetime.now(UTC) + timedelta(hours=2)
        await pause_provider(session, "google", "GetPlace", until, "Its day is used up.")
    async with serving(idle) as client:
        body = (await client.get(BUDGET)).json()
        listed = (await client.get(ENTRIES)).json()["items"]
        refused = (await client.get(ENTRIES, params={"state": "not_billed"})).json()["items"]
        exported = await client.get(f"{ENTRIES}/export")
    assert (body["spent_usd"], body["left_usd"], body["requests"]) == (0.02, 4.98, 1)
    paused = {each["method"]: each["paused_because"] for each in body["today"]}
    assert paused == {"SearchText": None, "GetPlace": "Its day is used up."}
    assert [each["usd"] for each in listed] == [0.02, 0.02]
    assert [(each["id"], each["note"]) for each in refused] == [
        (str(second.entry_id), "It was down.")
    ]
    assert len(exported.text.splitlines()) == 3


async def test_a_budget_is_changed_by_admins_and_noted(idle: Settings, database: Database) -> None:
    async with serving(idle) as client:
        answer = await client.put(BUDGET, json={"monthly_cap_usd": 12.5})
        assert answer.status_code == 200, answer.text
        assert (answer.json()["monthly_cap_usd"], answer.json()["cap_is_own"]) == (12.5, True)
        await client.put(BUDGET, json={"monthly_cap_usd": 20})
    async with database.reading() as session:
        assert await session.scalar(select(Budget.monthly_cap_usd)) == Decimal(20)
        noted = list(await session.scalars(select(AuditEntry).order_by(AuditEntry.id)))
    changes = [each.details["changes"] for each in noted if each.action == "budget.change"]
    assert [each["monthly_cap_usd"][1] for each in changes] == ["12.5", "20"]


@pytest.mark.parametrize(
    "given",
    [
        {"monthly_cap_usd": -1},
        {"monthly_cap_usd": "much"},
        {"monthly_cap_usd": 1e9},
        {"monthly_cap_usd": None},
        {},
        {"monthly_cap_usd": 1, "currency": "EUR"},
    ],
)
async def test_a_budget_that_cannot_be_is_refused(given: dict[str, Any], idle: Settings) -> None:
    async with serving(idle) as client:
        assert (await client.put(BUDGET, json=given)).status_code == 422


async def test_raising_the_budget_makes_what_waits_for_it_due_at_once(
    idle: Settings, database: Database
) -> None:
    later = datetime.now(UTC) + timedelta(minutes=50)
    poor = f"{BUDGET_EXHAUSTED}: all of it."
    waits = queued("waits", deep_scan_error=poor, deep_scan_due_at=later)
    other = queued("other", deep_scan_error="It was down.", deep_scan_due_at=later)
    search = Job(job_type="place_search", subject="x", params={}, error=poor, due_at=later, **OWNED)
    async with database.transaction() as session:
        session.add_all([waits, other, search])
    async with serving(idle) as client:
        assert (await client.get(BUDGET)).json()["waiting"] == 2
        await client.put(BUDGET, json={"monthly_cap_usd": 50})
    async with database.reading() as session:
        now = datetime.now(UTC)
        assert (await session.get_one(Place, waits.id)).deep_scan_due_at <= now
        assert (await session.get_one(Job, search.id)).due_at <= now
        assert (await session.get_one(Place, other.id)).deep_scan_due_at > now


async def test_what_the_old_budget_refused_and_only_then_came_back_goes_on_soon(
    idle: Settings, database: Database
) -> None:
    poor, later = f"{BUDGET_EXHAUSTED}: all of it.", datetime.now(UTC) + timedelta(minutes=50)
    late = queued("late", deep_scan_error=poor, deep_scan_due_at=later)
    async with serving(idle) as client:
        before = await wake_after_budget_change(database, idle)
        await client.put(BUDGET, json={"monthly_cap_usd": 50})
    async with database.transaction() as session:
        session.add(late)

    assert (before, await wake_after_budget_change(database, idle)) == (0, 1)
    async with database.reading() as session:
        assert (await session.get_one(Place, late.id)).deep_scan_due_at <= datetime.now(UTC)


async def used(database: Database, requests: int) -> None:
    async with database.transaction() as session:
        time = await get_provider_time(session)
        session.add(
            CostMeter(provider="google", sku=SEARCH_FULL.sku, month=time.month, requests=requests)
        )


async def estimated(database: Database, settings: Settings, places: int, **more: Any) -> Any:
    async with database.reading() as session:
        return await estimate_search(
            session,
            DEFAULT_TENANT_ID,
            max_results=places,
            provider=more.get("provider", "google"),
            settings=settings,
        )


async def test_an_estimate_counts_the_free_requests_first(
    database: Database, idle: Settings
) -> None:
    free = await estimated(database, idle, 1000)
    assert (free.requests_min, free.requests_max, free.usd_max, free.fits) == (50, 65, 0, True)
    await used(database, 975)
    some = await estimated(database, idle, 1000)
    assert (some.free_left, some.usd_min, some.usd_max) == (
        25,
        Decimal("0.035") * 25,
        Decimal("0.035") * 40,
    )
    assert some.fits


async def test_an_estimate_says_when_the_budget_does_not_reach(
    database: Database, idle: Settings
) -> None:
    await used(database, 1000)
    much = await estimated(database, idle, 10_000)
    assert not much.fits
    assert (much.usd_min, much.cap_usd) == (Decimal("17.5"), Decimal(5))
    assert "The search will pause" in much.sentence
    few = await estimated(database, idle, 60)
    assert (few.requests_min, few.requests_max, few.fits) == (3, 3, True)
    assert "0.105 USD" in few.sentence


@pytest.mark.parametrize("provider", ["osm", "csv"])
async def test_other_providers_cost_nothing(
    provider: str, database: Database, idle: Settings
) -> None:
    found = await estimated(database, idle, 1000, provider=provider)
    assert (found.usd_max, found.fits) == (0, True)


async def test_where_the_free_requests_are_shared_everything_has_its_price(
    database: Database, url: str
) -> None:
    settings = make_settings(url, google_free_requests=False)
    found = await estimated(database, settings, 20)
    assert (found.free_left, found.usd_min, found.fits) == (0, Decimal("0.035"), False)
