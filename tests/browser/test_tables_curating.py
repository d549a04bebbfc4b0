"""Curation at a table: decisions by keyboard and by filter, undo and retry."""

from __future__ import annotations

from collections import Counter
from typing import Any

from playwright.async_api import Page, expect
from sqlalchemy import select, update

from scrapersky.db.session import Database
from scrapersky.models import Lead
from scrapersky.models import Page as StoredPage
from tests.browser.conftest import PHONE, Site, picture
from tests.dashboard.table_rows import HOSTILE, a_lead, add_leads, one_of_each


async def decisions(database: Database) -> dict[str | None, str]:
    async with database.reading() as session:
        return dict((await session.execute(select(Lead.name, Lead.lead_curation_status))).all())


async def values(database: Database, column: Any) -> list[Any]:
    async with database.reading() as session:
        return list(await session.scalars(select(column)))


def toast(page: Page, text: str) -> Any:
    return page.locator(".toast", has_text=text)


async def press(page: Page, *keys: str) -> None:
    for key in keys:
        await page.keyboard.press(key)


async def test_rows_are_decided_about_and_taken_back_by_keys_alone(
    site: Site, page: Page, database: Database
) -> None:
    await add_leads(database, 4)  # the newest is the first row
    await page.goto(f"{site.address}/leads")
    await press(page, "j", "s")
    await expect(toast(page, "Business 003 marked Selected")).to_be_visible()
    await expect(page.locator("tbody tr").first).to_contain_text("Selected")
    await expect(page.locator("tr.current a[data-open]")).to_be_focused()

    await press(page, "j", "x", "j", "X")
    await expect(page.locator("#chosen-count")).to_have_text("2 selected")
    await press(page, "a")
    await expect(toast(page, "2 leads marked Archived")).to_be_visible()
    assert await decisions(database) == {
        "Business 003": "Selected",
        "Business 002": "Archived",
        "Business 001": "Archived",
        "Business 000": "New",
    }
    await press(page, "u")
    await expect(toast(page, "Undone: 2 leads")).to_be_visible()
    assert Counter((await decisions(database)).values()) == {"New": 3, "Selected": 1}

    await press(page, "Enter")
    await page.wait_for_url("**/leads/*")


async def test_keys_are_letters_while_somebody_writes(
    site: Site, page: Page, database: Database
) -> None:
    await add_leads(database, 2)
    await page.goto(f"{site.address}/leads")
    await press(page, "j", "/")
    await page.keyboard.type("business 001 ?")
    await expect(page.locator("dialog[open]")).to_have_count(0)
    await press(page, "Backspace", "Backspace", "Enter")
    await page.wait_for_url("**search=*")
    await expect(page.locator("tbody tr")).to_have_count(1)
    assert set((await decisions(database)).values()) == {"New"}

    await press(page, "?")
    await expect(page.get_by_role("dialog", name="Shortcuts")).to_contain_text("Not a Fit")
    await press(page, "n", "Escape")
    await expect(page.locator("dialog[open]")).to_have_count(0)
    assert set((await decisions(database)).values()) == {"New"}


async def test_all_that_match_are_counted_asked_about_changed_and_taken_back(
    site: Site, page: Page, database: Database
) -> None:
    await add_leads(database, 30, category="Bakery")
    async with database.transaction() as session:
        session.add(a_lead("A bank", category="Bank"))
    await page.goto(f"{site.address}/leads?category=Bakery&lead_curation_status=New&limit=25")
    await page.get_by_label("Select all rows on this page").check()
    await page.get_by_role("button", name="Select all matching: 30 leads").click()
    await page.get_by_role("button", name="Archived").click()
    await expect(page.locator("dialog[open]")).to_contain_text("Mark 30 leads as Archived?")
    assert set((await decisions(database)).values()) == {"New"}
    await page.locator("dialog[open] button", has_text="Archived").click()
    done = toast(page, "30 leads marked Archived")
    await expect(done).to_be_visible()
    assert Counter((await decisions(database)).values()) == {"Archived": 30, "New": 1}
    await expect(page.locator(".empty")).to_contain_text("Nothing matches")
    await expect(page.locator("#bulk")).to_be_hidden()
    await picture(page, "tables-undo")
    await done.get_by_role("button", name="Undo").click()
    await expect(toast(page, "Undone: 30 leads")).to_be_visible()
    assert set((await decisions(database)).values()) == {"New"}


async def test_what_somebody_else_decided_meanwhile_is_told(
    site: Site, page: Page, database: Database
) -> None:
    await add_leads(database, 2)
    await page.goto(f"{site.address}/leads")
    await page.get_by_label("Select all rows on this page").check()
    async with database.transaction() as session:
        await session.execute(
            update(Lead).where(Lead.name == "Business 000").values(lead_curation_status="Maybe")
        )
    await page.get_by_role("button", name="Maybe").click()
    await expect(toast(page, "1 lead marked Maybe. 1 unchanged.")).to_be_visible()
    await expect(page.locator("tbody .badge", has_text="Maybe")).to_have_count(2)


async def test_a_page_that_failed_is_read_again_from_its_row(
    site: Site, page: Page, database: Database
) -> None:
    await one_of_each(database)
    await page.goto(f"{site.address}/pages")
    await expect(page.locator("tbody tr")).to_contain_text("It timed out.")
    await page.get_by_role("button", name="Retry", exact=True).click()
    await expect(toast(page, "Queued for retry")).to_be_visible()
    await expect(page.locator("tbody tr")).not_to_contain_text("It timed out.")
    assert await values(database, StoredPage.page_processing_status) == ["Queued"]


async def test_hostile_rows_do_nothing_and_the_layout_holds(
    site: Site, page: Page, database: Database
) -> None:
    async with database.transaction() as session:
        for _ in range(3):
            hostile = dict.fromkeys(("category", "address", "phone", "best_email"), HOSTILE)
            session.add(a_lead(HOSTILE, website="javascript:document.title='taken'", **hostile))
    for size in (page.viewport_size, PHONE):
        await page.set_viewport_size(size)  # type: ignore[arg-type]
        await page.goto(f"{site.address}/leads")
        assert await page.title() == "Leads · ScraperSky"
        sideways = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert await page.evaluate(sideways) == 0
        row = await page.locator("tbody tr").first.bounding_box()
        assert row is not None
        assert row["height"] < 260
    await expect(page.locator("a[href^='javascript']")).to_have_count(0)
    await picture(page, "tables-phone")


async def test_everything_one_can_use_has_a_name(
    site: Site, page: Page, database: Database
) -> None:
    await one_of_each(database)
    for kind in ("leads", "domains", "suppressions", "import"):
        await page.goto(f"{site.address}/{kind}")
        nameless = await page.evaluate(NAMELESS)
        assert nameless == [], kind
        assert await page.locator("table:not(:has(caption)), th:not([scope])").count() == 0


NAMELESS = """
() => [...document.querySelectorAll("input, select, textarea, button, a, summary")]
  .filter((each) => each.type !== "hidden" && !each.closest("[hidden]"))
  .filter((each) => !each.labels?.length && !each.getAttribute("aria-label"))
  .filter((each) => !each.textContent.trim())
  .map((each) => each.outerHTML)
"""
