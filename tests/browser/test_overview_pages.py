"""The front page in a real browser: a domain is entered and followed to its contacts."""

from __future__ import annotations

from playwright.async_api import FloatRect, Locator, Page, expect

from scrapersky.db.session import Database
from scrapersky.models.stage_names import METADATA_STAGE
from scrapersky.pipeline.tables import StageEvent
from tests.browser.conftest import PHONE, Site, picture, serving_pages
from tests.conftest import make_settings
from tests.contacts.rows import a_domain, stored
from tests.fake_web import FakeWeb, urlset

HOME = """<!doctype html><html lang="en"><head><title>Corner Bakery</title></head><body>
<h1>Bread</h1><p>Fresh every morning.</p><a href="/contact">Contact</a></body></html>"""
CONTACT = """<!doctype html><html lang="en"><head><title>Contact</title></head><body>
<a href="mailto:hello@bakery.example">hello@bakery.example</a></body></html>"""


async def test_a_domain_is_typed_in_and_watched_to_its_contacts_without_reloading(
    url: str, page: Page
) -> None:
    async with FakeWeb() as web:
        bakery = web.host("bakery.example")
        bakery.page("/", HOME).page("/contact", CONTACT)
        bakery.robots("Sitemap: http://bakery.example/sitemap.xml\n")
        bakery.xml("/sitemap.xml", urlset("http://bakery.example/contact"))
        settings = make_settings(
            url, fetch_resolve=web.resolve, worker_dead_after_seconds=30, lease_grace_seconds=10
        )
        async with serving_pages(settings) as site:
            await page.goto(site.address)
            await expect(page.get_by_text("Get your first contacts")).to_be_visible()
            await expect(page.locator(".chart")).to_be_hidden()
            await page.evaluate("window.stillHere = true")
            box = page.get_by_label("Domain, sitemap or page")
            await box.fill("http://bakery.example")
            await expect(page.locator("#start-preview")).to_contain_text("Taken as a domain")
            await box.press("Enter")

            await expect(page.locator("#started")).to_contain_text("its home page is read")
            line = page.locator("#newest li.ours")
            await expect(line).to_contain_text("bakery.example")
            await expect(line).to_contain_text("hello@bakery.example", timeout=120_000)
            await expect(page.locator("#newest li.ours[data-complete]")).to_be_visible(
                timeout=120_000
            )
            await expect(line).to_contain_text("1 (1 URLs)")
            await expect(page.get_by_text("Get your first contacts")).to_have_count(0)
            await expect(page.locator("#chart-says")).to_contain_text("Read home pages 1")
            assert await page.evaluate("window.stillHere")
            assert await box.input_value() == ""
            link = page.locator("#started a")
            assert await link.get_attribute("href") == await line.locator("a").get_attribute("href")
            await picture(page, "overview")


async def test_bad_entries_stay_in_the_box_with_the_reason(site: Site, page: Page) -> None:
    await page.goto(site.address)
    box = page.locator("#start-text")
    await box.fill("bakery.example, two words\nhttps://bakery.example/sitemap.xml")
    await page.get_by_role("button", name="Start").click()

    said = page.locator("#started")
    await expect(said).to_contain_text("2 started, 1 rejected.")
    await expect(said.locator("li.wrong")).to_contain_text("contains a space")
    await expect(said.locator("a[href^='/jobs/']")).to_have_count(1)
    await expect(box).to_have_value("two words")


async def measure(element: Locator) -> FloatRect:
    """Where it is, as soon as it is not just being replaced."""
    while (box := await element.bounding_box()) is None:
        await element.wait_for()
    return box


async def test_figures_move_by_themselves_and_nothing_jumps(
    site: Site, database: Database, page: Page
) -> None:
    await stored(database, a_domain("first.example", status="completed"))
    await page.goto(f"{site.address}/?over=hour")
    await expect(page.locator(".calm")).to_be_visible()
    queued = page.locator(f"[id='{METADATA_STAGE}-Queued']")
    await expect(queued).to_have_text("0")
    numbers = page.locator("details.numbers")
    await numbers.locator("summary").click()
    await expect(numbers.locator("tbody tr")).to_have_count(30)
    await queued.focus()
    before = await measure(page.locator(".stage").first)

    async with database.transaction() as session:
        session.add(a_domain("second.example", status="pending"))
        session.add(StageEvent(stage=METADATA_STAGE, kind="completed", rows=12_345))

    await expect(queued).to_have_text("1")
    await expect(page.locator("#chart-says")).to_contain_text("Read home pages 12,345")
    await expect(numbers.locator("tbody")).to_contain_text("12,345")
    await expect(page.locator("#attention")).to_contain_text("no consumer runs this stage")
    await expect(queued).to_be_focused()
    after = await measure(page.locator(".stage").first)
    assert (before["x"], before["width"], before["height"]) == (
        after["x"], after["width"], after["height"],
    )  # fmt: skip


async def test_the_page_fits_a_phone(site: Site, database: Database, page: Page) -> None:
    long = "a" * 63
    await stored(database, a_domain(f"{long}.{long}.{long}.example", status="completed"))
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await page.goto(site.address)
    await expect(page.locator(".stage").first).to_be_visible()
    wide = await page.evaluate("document.documentElement.scrollWidth")
    assert wide <= PHONE["width"]
