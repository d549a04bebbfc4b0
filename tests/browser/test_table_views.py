"""Tables show their total, and report invalid filters in the URL."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from scrapersky.db.session import Database
from scrapersky.lists import listing
from tests.browser.conftest import Site
from tests.dashboard.table_rows import add_leads


async def test_the_total_is_exact_up_to_its_bound_and_the_question_before_a_bulk_act_always(
    site: Site, page: Page, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_leads(database, 30)
    await page.goto(f"{site.address}/leads?limit=25")
    await expect(page.locator("#total")).to_have_text("30 leads")
    monkeypatch.setattr(listing, "MAX_COUNTED_ROWS", 27)
    await page.reload()
    await expect(page.locator("#total")).to_have_text("27+ leads")
    await page.locator("#tick-page").check()
    await page.locator("#choose-all").click()
    await page.locator("#bulk button", has_text="Archived").click()
    await expect(page.locator("dialog[open]")).to_contain_text("30 leads")


async def test_the_total_follows_each_decision(site: Site, page: Page, database: Database) -> None:
    await add_leads(database, 3)
    await page.goto(f"{site.address}/leads?lead_curation_status=New")
    for left in ("2 leads", "1 lead"):
        await page.keyboard.press("j")
        await page.keyboard.press("s")
        await expect(page.locator("#total")).to_have_text(left)
        await expect(page.locator("tbody tr")).to_have_count(int(left[0]))


async def test_a_filter_that_is_not_valid_keeps_the_page_and_its_keys(
    site: Site, page: Page, database: Database
) -> None:
    await add_leads(database, 2, category="Bakery")
    await add_leads(database, 1, category="Bank")
    await page.goto(f"{site.address}/leads?category=Bakery&min_rating=many&colour=red")
    await expect(page.locator(".notice.ignored")).to_have_count(2)
    await expect(page.locator(".notice.ignored").last).to_contain_text("isn't valid")
    await expect(page.locator("#total")).to_have_text("2 leads")
    await expect(page.locator(".chip")).to_have_count(1)
    await page.keyboard.press("j")
    await page.keyboard.press("s")
    await expect(page.locator("tbody .badge", has_text="Selected")).to_have_count(1)
    await expect(page.locator("tbody tr")).to_have_count(2)
