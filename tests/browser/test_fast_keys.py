"""Keys pressed faster than the server answers apply to the row that was highlighted."""

from __future__ import annotations

import asyncio
import re

from playwright.async_api import Page, Route, expect
from sqlalchemy import select

from scrapersky.db.session import Database
from scrapersky.models import Lead
from tests.browser.conftest import Site
from tests.dashboard.table_rows import add_leads

LATENCY_SECONDS = 0.2
BETWEEN_PRESSES_MILLISECONDS = 100
CURRENT_ID = "document.querySelector('tr.current')?.dataset.id ?? null"
PRESS_QUICKLY = """
async ([keys, pause]) => {
  const hit = [];
  for (const key of keys) {
    hit.push(document.querySelector("tr.current")?.dataset.id ?? null);
    const pressed = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
    document.activeElement.dispatchEvent(pressed);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  return hit;
}
"""
"""Presses keys in the page itself, so that the driver's own delays do not slow them down; returns
the id of the row that was marked at each press."""


async def answer_late(page: Page) -> None:
    async def wait(route: Route) -> None:
        await asyncio.sleep(LATENCY_SECONDS)
        await route.continue_()

    await page.route(re.compile(r"/api/v3/|part=rows"), wait)


async def press_quickly(page: Page, *keys: str) -> list[str | None]:
    pressed: list[str | None] = await page.evaluate(
        PRESS_QUICKLY, [list(keys), BETWEEN_PRESSES_MILLISECONDS]
    )
    return pressed


async def names_with(database: Database, status: str) -> list[str | None]:
    async with database.reading() as session:
        found = await session.scalars(
            select(Lead.name).where(Lead.lead_curation_status == status).order_by(Lead.name.desc())
        )
        return list(found)


async def ids_with(database: Database, status: str) -> set[str]:
    async with database.reading() as session:
        found = await session.scalars(select(Lead.id).where(Lead.lead_curation_status == status))
        return {str(each) for each in found}


async def test_ten_quick_decisions_hit_the_ten_rows_that_were_marked(
    site: Site, page: Page, database: Database
) -> None:
    await add_leads(database, 12)
    await page.goto(f"{site.address}/leads?lead_curation_status=New&lead_curation_status=Maybe")
    await answer_late(page)
    await page.keyboard.press("j")
    marked = await press_quickly(page, *"n" * 10)
    await expect(page.locator("tbody tr")).to_have_count(2)
    await expect(page.locator("#total")).to_have_text("2 leads")

    assert len(set(marked)) == 10
    assert await ids_with(database, "Not a Fit") == set(marked)
    assert await names_with(database, "New") == ["Business 001", "Business 000"]


async def test_quick_moves_and_decisions_hit_row_after_row_where_rows_stay(
    site: Site, page: Page, database: Database
) -> None:
    await add_leads(database, 12)
    await page.goto(f"{site.address}/leads")
    await answer_late(page)
    marked = await press_quickly(page, *("j", "s") * 10)
    await expect(page.locator("tbody .badge", has_text="Selected")).to_have_count(10)

    assert await ids_with(database, "Selected") == set(marked[1::2])
    assert await names_with(database, "New") == ["Business 001", "Business 000"]


async def test_different_quick_decisions_go_to_the_rows_they_were_meant_for(
    site: Site, page: Page, database: Database
) -> None:
    await add_leads(database, 8)
    await page.goto(f"{site.address}/leads?lead_curation_status=New")
    await answer_late(page)
    await page.keyboard.press("j")
    marked = await press_quickly(page, "s", "n", "j", "a", "k", "m", "s")
    await expect(page.locator("tbody tr")).to_have_count(3)

    kept = [marked[0], marked[5], marked[6]]
    assert None not in marked
    assert await ids_with(database, "Selected") == {kept[0], kept[2]}
    assert await ids_with(database, "Not a Fit") == {marked[1]}
    assert await ids_with(database, "Archived") == {marked[3]}
    assert await ids_with(database, "Maybe") == {kept[1]}


async def test_a_row_that_was_ticked_and_decided_is_not_decided_again_with_the_next_key(
    site: Site, page: Page, database: Database
) -> None:
    await add_leads(database, 3)
    await page.goto(f"{site.address}/leads")
    await answer_late(page)
    await press_quickly(page, "j", "x", "s", "j", "a")
    await expect(page.locator("tbody .badge", has_text="Archived")).to_have_count(1)
    assert await names_with(database, "Selected") == ["Business 002"]
    assert await names_with(database, "Archived") == ["Business 001"]


async def test_a_decision_that_fails_brings_its_row_back(
    site: Site, page: Page, database: Database
) -> None:
    await add_leads(database, 2)
    await page.goto(f"{site.address}/leads?lead_curation_status=New")
    await page.route("**/api/v3/leads/curate", lambda route: route.abort())
    await page.keyboard.press("j")
    await page.keyboard.press("s")
    await expect(page.locator(".toast")).to_contain_text("The server is unreachable")
    await expect(page.locator("tbody tr:not([data-leaving])")).to_have_count(2)
    await expect(page.locator("tbody tr").nth(1)).to_have_class("current")


async def test_a_key_held_down_decides_one_row(site: Site, page: Page, database: Database) -> None:
    await add_leads(database, 4)
    await page.goto(f"{site.address}/leads?lead_curation_status=New")
    await page.keyboard.press("j")
    await page.keyboard.down("s")
    for _ in range(3):
        await page.keyboard.down("s")  # the driver marks it as repeated
    await page.keyboard.up("s")
    await expect(page.locator("tbody tr")).to_have_count(3)
    assert await names_with(database, "Selected") == ["Business 003"]


async def test_after_the_last_row_no_other_row_is_decided(
    site: Site, page: Page, database: Database
) -> None:
    await add_leads(database, 3)
    await page.goto(f"{site.address}/leads?lead_curation_status=New")
    await answer_late(page)
    await press_quickly(page, "j", "j", "j", "s", "s", "s")
    await expect(page.locator("tbody tr")).to_have_count(2)
    assert await names_with(database, "Selected") == ["Business 000"]
    assert await page.evaluate(CURRENT_ID) is None
    await page.keyboard.press("k")
    await expect(page.locator("tr.current")).to_contain_text("Business 001")
