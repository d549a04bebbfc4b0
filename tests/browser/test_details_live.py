"""Detail pages in a real browser: they update live, and their actions take effect."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect
from sqlalchemy import select

from scrapersky.db.session import Database
from scrapersky.models import Contact, Job
from scrapersky.pipeline.tables import DeadLetter
from tests.browser.conftest import PHONE, Site, picture, serving_pages
from tests.conftest import make_settings
from tests.dashboard.details_rows import Known, bakery_of_everything, hostile_bakery
from tests.fake_web import FakeWeb, index, urlset

KEPT = "window.keptByThisPage = true"


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as made:
        host = made.host("bakery.example")
        base = host.base
        host.robots(f"User-agent: *\nSitemap: {base}/index.xml\n")
        host.xml("/index.xml", index(f"{base}/bread.xml", f"{base}/cake.xml"))
        host.xml("/bread.xml", urlset(f"{base}/bread/1", f"{base}/bread/2"))
        host.xml("/cake.xml", urlset(f"{base}/cake/1"))
        yield made


@pytest.fixture
async def known(database: Database) -> Known:
    return await bakery_of_everything(database)


async def one(database: Database, model: Any, row_id: Any) -> Any:
    async with database.reading() as session:
        return await session.scalar(select(model).where(model.id == row_id))


async def test_a_job_goes_to_its_end_before_ones_eyes_without_a_reload(
    url: str, web: FakeWeb, page: Page
) -> None:
    taking = make_settings(url, scheduler_enabled=False)
    async with serving_pages(taking) as site:
        async with httpx.AsyncClient(base_url=site.address, timeout=120) as client:
            wanted = {"base_url": "bakery.example"}
            asked = (await client.post("/api/v3/sitemap/scan", json=wanted)).json()
        await page.goto(f"{site.address}/jobs/{asked['job_id']}")
        await expect(page.locator("#job-state")).to_contain_text("pending")
        await page.evaluate(KEPT)
        working = make_settings(url, fetch_resolve=web.resolve)
        async with serving_pages(working):
            await expect(page.locator("#job-state .badge")).to_have_text("complete")
            await expect(page.locator("#job-files")).to_contain_text("/cake.xml")
        await expect(page.locator("#job-result")).to_contain_text("3 new, 0 changed, 0 removed")
        assert await page.evaluate("window.keptByThisPage") is True
        await picture(page, "details-job")


async def test_a_key_decides_and_another_takes_it_back(
    site: Site, page: Page, known: Known, database: Database
) -> None:
    await page.goto(f"{site.address}/contacts/{known.contacts}")
    await page.keyboard.press("s")
    await expect(page.locator(".toast")).to_contain_text("Marked Selected")
    await expect(page.locator(".decided .badge")).to_have_text("Selected")
    stored = await one(database, Contact, known.contacts)
    assert stored.contact_curation_status == "Selected"

    await page.keyboard.press("u")
    await expect(page.locator(".decided .badge")).to_have_text("New")
    stored = await one(database, Contact, known.contacts)
    assert stored.contact_curation_status == "New"
    await expect(page.locator("#contact-history")).to_contain_text("undid the decision")


async def test_keys_are_letters_where_one_writes_and_a_decision_leaves_what_was_written(
    site: Site, page: Page, known: Known, database: Database
) -> None:
    await page.goto(f"{site.address}/contacts/{known.contacts}")
    await page.get_by_label("Name").press_sequentially("sam")
    await expect(page.locator(".decided .badge")).to_have_text("New")
    await page.get_by_role("button", name="Skipped").click()
    await expect(page.locator(".decided .badge")).to_have_text("Skipped")
    await expect(page.get_by_label("Name")).to_have_value("sam")
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator("#contact-head")).to_contain_text("sam")
    stored = await one(database, Contact, known.contacts)

    assert (stored.name, stored.contact_curation_status) == ("sam", "Skipped")


async def test_a_person_is_erased_only_after_two_questions(
    site: Site, page: Page, known: Known, database: Database
) -> None:
    await page.goto(f"{site.address}/contacts/{known.contacts}")
    await page.get_by_role("button", name="Erase person").click()
    await page.locator("dialog").get_by_role("button", name="Erase").click()
    await expect(page.locator("dialog")).to_contain_text("cannot be undone")
    assert await one(database, Contact, known.contacts) is not None

    await page.locator("dialog").get_by_role("button", name="Erase").click()
    await page.wait_for_url(f"{site.address}/contacts")
    assert await one(database, Contact, known.contacts) is None


async def test_a_dead_letter_is_replayed_and_its_row_starts_over(
    site: Site, page: Page, known: Known, database: Database
) -> None:
    await page.goto(f"{site.address}/dead-letters/{known.dead_letters}")
    await page.get_by_role("button", name="Replay").click()
    await expect(page.locator("#letter-head")).to_contain_text("Replayed")
    await expect(page.locator("#letter-row")).to_contain_text("pending")
    await expect(page.get_by_role("button", name="Discard")).to_have_count(0)

    letter = await one(database, DeadLetter, known.dead_letters)
    row = await one(database, Job, known.failed_job)
    assert (letter.state, row.status) == ("replayed", "pending")


async def test_a_domain_is_deleted_once_one_agreed_to_what_goes_with_it(
    site: Site, page: Page, known: Known, database: Database
) -> None:
    await page.goto(f"{site.address}/domains/{known.domains}")
    await page.get_by_role("button", name="Delete").click()
    await expect(page.locator("dialog")).to_contain_text("2 contacts, the lead")
    await page.locator("dialog").get_by_role("button", name="Delete").click()
    await page.wait_for_url(f"{site.address}/domains")

    assert await one(database, Contact, known.contacts) is None


async def test_no_page_scrolls_sideways_on_a_phone_whatever_a_site_says(
    site: Site, page: Page, database: Database
) -> None:
    known = await hostile_bakery(database)
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    too_wide = {}
    for kind, path in known.paths().items():
        await page.goto(f"{site.address}{path}")
        width = await page.evaluate("document.documentElement.scrollWidth")
        if width > PHONE["width"]:
            too_wide[kind] = width

    assert too_wide == {}
