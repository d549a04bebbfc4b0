"""Signing in and out, managing users and keys, and returning after an expired session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Page, expect
from sqlalchemy import func, select, update

from scrapersky.db.session import Database
from scrapersky.http import event_stream
from scrapersky.models import ApiKey, Role, User, UserSession
from tests.auth.accounts import signed_in_settings
from tests.auth.dashboard_clients import PASSWORD, add_person
from tests.browser.conftest import PHONE, Site, picture, serving_pages


@pytest.fixture
async def guarded(url: str) -> AsyncIterator[Site]:
    """A server that wants people to sign in."""
    async with serving_pages(signed_in_settings(url)) as running:
        yield running


async def sign_in(page: Page, name: str = "alice", password: str = PASSWORD) -> None:
    await page.get_by_label("Name").fill(name)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Sign in", exact=True).click()


async def expire(database: Database) -> None:
    async with database.transaction() as session:
        await session.execute(update(UserSession).values(expires_at=func.now()))


async def test_a_viewer_signs_in_sees_what_viewers_see_and_signs_out(
    guarded: Site, page: Page, database: Database
) -> None:
    await add_person(database, "alice", role=Role.VIEWER)
    await page.goto(f"{guarded.address}/account?from=mail")
    await picture(page, "sign-in")
    await sign_in(page, password="a wrong password")
    await expect(page.get_by_role("alert")).to_contain_text("Wrong name or password")
    await sign_in(page)
    await page.wait_for_url(f"{guarded.address}/account?from=mail")
    await expect(page.get_by_role("link", name="Leads")).to_be_visible()
    for place in ("Users", "API keys", "Audit log"):
        await expect(page.get_by_role("link", name=place)).to_have_count(0)
    await page.goto(f"{guarded.address}/users")
    await expect(page.get_by_text("This requires the role admin")).to_be_visible()
    await page.get_by_role("button", name="Sign out").click()
    await page.wait_for_url(f"{guarded.address}/sign-in")
    await page.goto(f"{guarded.address}/account")

    await page.wait_for_url(f"{guarded.address}/sign-in?next=%2Faccount")


async def test_a_session_that_is_over_leads_to_sign_in_and_back(
    guarded: Site, page: Page, database: Database
) -> None:
    await add_person(database, "alice")
    bob = await add_person(database, "bob", role=Role.VIEWER)
    await page.goto(f"{guarded.address}/users?from=mail")
    await sign_in(page)
    role = page.get_by_label("Role of bob")
    await expect(role).to_be_visible()
    await expire(database)
    await role.select_option("curator")
    await expect(page.get_by_text("Your session has expired")).to_be_visible()
    await sign_in(page)
    await page.wait_for_url(f"{guarded.address}/users?from=mail")
    await role.select_option("curator")
    await expect(page.get_by_text("bob is now curator")).to_be_visible()

    async with database.reading() as session:
        assert (await session.get_one(User, bob.user_id)).role == "curator"
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_text("bob is now viewer")).to_be_visible()
    await expect(role).to_have_value("viewer")


async def test_a_page_that_stays_open_notices_that_the_session_is_over(
    guarded: Site, page: Page, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "RECHECK_SECONDS", 0.1)
    await add_person(database, "alice")
    await page.goto(f"{guarded.address}/stages")
    await sign_in(page)
    await page.wait_for_url(f"{guarded.address}/stages")
    await expect(page.locator("[data-live]")).to_have_count(1)
    await expire(database)

    await page.wait_for_url(f"{guarded.address}/sign-in?next=%2Fstages&expired=1")


async def test_an_admin_makes_a_user_who_signs_in_with_the_password_given(
    guarded: Site, page: Page, database: Database
) -> None:
    await add_person(database, "alice")
    await page.goto(f"{guarded.address}/users")
    await sign_in(page)
    await page.get_by_role("button", name="New user").click()
    await page.get_by_label("Name", exact=True).fill("bob")
    await page.get_by_role("button", name="Create").click()
    row = page.get_by_role("row", name="bob")
    await row.get_by_role("button", name="Set password").click()
    given = await page.get_by_label("New password").input_value()
    await page.locator("dialog[open]").get_by_role("button", name="Set password").click()
    await expect(row).to_contain_text("set")
    await page.get_by_role("button", name="New user").click()
    await page.get_by_label("Name", exact=True).fill("bob")
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("alert")).to_contain_text("A user named bob already exists")
    await page.keyboard.press("Escape")
    await picture(page, "users")
    await page.get_by_role("button", name="Sign out").click()
    await sign_in(page, "bob", given)
    await page.wait_for_url(f"{guarded.address}/")
    await page.goto(f"{guarded.address}/account")
    await page.get_by_label("Current password").fill(given)
    await page.get_by_label("New password", exact=True).fill(PASSWORD)
    await page.get_by_label("Repeat new password").fill(PASSWORD + "x")
    await page.get_by_role("button", name="Change password").click()
    await expect(page.get_by_role("alert")).to_contain_text("do not match")
    await page.get_by_label("Repeat new password").fill(PASSWORD)
    await page.get_by_role("button", name="Change password").click()
    await expect(page.get_by_text("Password changed")).to_be_visible()

    assert len(given) >= 20


async def test_a_key_is_shown_once_rotated_and_revoked(
    site: Site, page: Page, database: Database
) -> None:
    async def secret() -> str:
        await expect(page.get_by_text("Your API key (shown once)")).to_be_visible()
        value = await page.get_by_label("Key", exact=True).input_value()
        await page.get_by_role("button", name="I've saved it").click()
        return value

    await page.goto(f"{site.address}/api-keys")
    await page.get_by_role("button", name="Create key").click()
    await page.get_by_label("Name", exact=True).fill("nightly export")
    await page.get_by_role("button", name="Create", exact=True).click()
    first = await secret()
    row = page.get_by_role("row", name="nightly export")
    await expect(row).to_contain_text(first[:12])
    await row.get_by_role("button", name="Rotate").click()
    await page.locator("dialog[open]").get_by_role("button", name="Rotate").click()
    second = await secret()
    await expect(row).to_contain_text("old secret valid until")
    await picture(page, "api-keys")
    await row.get_by_role("button", name="Revoke").click()
    await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    await expect(page.get_by_text("No keys yet")).to_be_visible()

    assert first.startswith("sky_")
    assert second.startswith("sky_")
    assert first != second
    assert await page.get_by_label("Key", exact=True).input_value() == ""
    async with database.reading() as session:
        assert (await session.scalars(select(ApiKey.revoked_at))).one() is not None


@pytest.mark.parametrize("path", ["/sign-in", "/users", "/api-keys", "/audit-log", "/account"])
async def test_a_phone_has_room_for_it(
    guarded: Site, page: Page, database: Database, path: str
) -> None:
    await add_person(database, "alice")
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await page.goto(guarded.address + path)
    if path != "/sign-in":
        await sign_in(page)
        await page.wait_for_url(guarded.address + path)
    sideways: Any = await page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )

    assert sideways == 0


async def test_the_log_is_asked_for_times_where_the_person_is(site: Site, page: Page) -> None:
    await page.goto(f"{site.address}/audit-log")
    await page.get_by_label("From").fill("2026-07-01T10:00")
    await page.get_by_label("Action").fill("job.cancel")
    await page.get_by_role("button", name="Apply").click()
    await page.wait_for_url("**since=2026-07-01T08*")

    await expect(page.get_by_label("From")).to_have_value("2026-07-01T10:00")
    await expect(page.get_by_text("No entries match")).to_be_visible()
