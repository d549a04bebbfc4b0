"""The budget page: spending, free requests, blocked rows, and who may change the cap."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from scrapersky.db.session import Database
from scrapersky.models import Role
from tests.app import serving
from tests.auth.accounts import SYSTEM, add_key, add_tenant, asking, signed_in_settings
from tests.conftest import make_settings
from tests.contacts.rows import store
from tests.dashboard.search_rows import a_search, spend


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    settings = make_settings(url, scheduler_enabled=False, places_monthly_cap_usd=50)
    async with serving(settings) as made:
        yield made


async def shown(client: httpx.AsyncClient) -> str:
    answer = await client.get("/budget")
    assert answer.status_code == 200, answer.text
    return " ".join(answer.text.split())


async def test_what_is_spent_free_and_paused_stands_there_with_the_ledger(
    client: httpx.AsyncClient, database: Database
) -> None:
    await spend(database, "12.34", free_used=700, paused="The day's quota is used up.")
    page = await shown(client)

    for said in (
        "<strong>12.34 USD</strong> of 50.00 USD spent",
        "(25 %)",
        'aria-label="12.34 USD of 50.00 USD spent"',
        "<dd>37.66 USD</dd>",
        "300 of 1,000 left",
        '<span class="badge poor">paused</span> until',
        "The day&#39;s quota is used up.",
        "0 of 75,000",
        "Prices as of 20",
        "PLACES_MONTHLY_CAP_USD",
    ):
        assert said in page
    ledger = page[page.index('id="budget-ledger"') :]
    assert "12.34 USD" in ledger
    assert "billed" in ledger


async def test_a_cap_of_nothing_says_that_only_what_is_free_is_asked(url: str) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        page = await shown(client)
    assert "The cap is 0, so only free requests are sent." in page
    assert "No billable requests yet." in page


async def test_what_waits_for_money_is_told(client: httpx.AsyncClient, database: Database) -> None:
    await spend(database, "50")
    waiting = a_search("pending", error="The month's budget is used up: 50 of 50 are spent.")
    async with database.transaction() as session:
        await store(session, waiting)
    page = await shown(client)

    assert "1 item is blocked on budget" in page
    assert "(100 %)" in page


async def test_only_an_admin_is_offered_to_change_the_cap(url: str, database: Database) -> None:
    for role in (Role.VIEWER, Role.ADMIN):
        _, key = await add_key(database, SYSTEM, role=role)
        async with asking(signed_in_settings(url), key) as client:
            page = await shown(client)
            assert ('id="change-cap"' in page) is (role is Role.ADMIN)
            assert ("js/budget.js" in page) is (role is Role.ADMIN)


async def test_operators_see_all_tenants_and_others_are_offered_to_lower_the_cap(
    url: str, database: Database
) -> None:
    acme = await add_tenant(database, "acme")
    settings = signed_in_settings(url, places_monthly_cap_usd=20, places_installation_cap_usd=70)
    _, key = await add_key(database, SYSTEM)
    async with asking(settings, key) as client:
        page = await shown(client)
    for said in ("of 70.00 USD spent, 70.00 USD left", "acme", 'id="change-installation-cap"'):
        assert said in page
    assert "Change cap" in page

    _, key = await add_key(database, acme)
    async with asking(settings, key) as client:
        page = await shown(client)
    assert 'id="budget-installation"' not in page
    assert 'id="change-installation-cap"' not in page
    assert "Lower cap" in page
    assert "Operators allow your tenant 20.00 USD; only they can raise it." in page
