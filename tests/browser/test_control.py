"""The operations pages in a real browser update without a reload."""

from __future__ import annotations

from datetime import timedelta

from playwright.async_api import Page, expect
from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.pipeline.tables import Host, StageControl
from scrapersky.pipeline.workers import WorkerIdentity, record_heartbeat
from scrapersky.stages import STAGES
from tests.browser.conftest import PHONE, Site, picture
from tests.stage_cases import CASES

NAME = STAGES[0].name


async def mark(page: Page) -> None:
    """A page that is loaded again forgets this."""
    await page.evaluate("window.marked = true")


async def is_marked(page: Page) -> bool:
    return bool(await page.evaluate("window.marked === true"))


async def control_of(database: Database) -> StageControl:
    async with database.reading() as session:
        found = await session.scalars(select(StageControl).where(StageControl.stage == NAME))
        return found.one()


async def test_a_stage_is_paused_with_a_note_and_resumed(
    site: Site, page: Page, database: Database
) -> None:
    await page.goto(f"{site.address}/stages")
    await mark(page)
    card = page.locator(f'[data-stage="{NAME}"]')
    await card.get_by_role("button", name="Pause…").click()
    await page.get_by_label("Reason").fill("The site moves.")
    await page.keyboard.press("Enter")
    await expect(card.locator(".now .badge").first).to_have_text("paused")
    await expect(card).to_contain_text("The site moves.")
    await expect(card.get_by_role("button", name="Resume")).to_be_focused()
    assert (await control_of(database)).paused

    await page.keyboard.press("Enter")
    await expect(card.locator(".now .badge").first).to_have_text("healthy")
    await expect(card.get_by_role("button", name="Pause…")).to_be_focused()
    assert not (await control_of(database)).paused
    assert await is_marked(page)


async def test_a_pace_is_changed_and_taken_back_while_figures_move(
    site: Site, page: Page, database: Database
) -> None:
    await page.goto(f"{site.address}/stages/{NAME}")
    await mark(page)
    card = page.locator(f'[data-stage="{NAME}"]')
    await card.get_by_text("Change pace").click()
    field = card.get_by_label("Concurrency")
    await field.fill("3")
    async with database.transaction() as session:
        await CASES[NAME].make_due(session, 7)
    await expect(card.locator(".figure", has_text="Due").first).to_contain_text("7")
    await expect(field).to_be_focused()
    await expect(field).to_have_value("3")
    await page.keyboard.press("Enter")
    await expect(page.locator("#pace")).to_contain_text("operator")
    assert (await control_of(database)).pace == {"concurrency": 3}

    await card.get_by_role("button", name="Reset to settings").click()
    await expect(page.locator("#pace")).not_to_contain_text("operator")
    await expect(field).to_have_value("")
    assert (await control_of(database)).pace is None
    assert await is_marked(page)


async def test_a_host_is_asked_again(site: Site, page: Page, database: Database) -> None:
    async with database.transaction() as session:
        session.add(
            Host(
                host="sick.example",
                failures=7,
                circuit_open_until=func.now() + timedelta(hours=1),
                circuit_reason="it failed 7 times in a row, last with status 500",
            )
        )
    await page.goto(f"{site.address}/hosts?left_alone=true")
    await page.get_by_role("button", name="Retry now sick.example").click()
    await expect(page.get_by_text("No hosts are backing off")).to_be_visible()
    async with database.reading() as session:
        assert (await session.get_one(Host, "sick.example")).failures == 0


async def test_a_setting_is_found_by_words_of_its_meaning(site: Site, page: Page) -> None:
    await page.goto(f"{site.address}/settings")
    rows = page.locator("[data-setting]:visible")
    await page.get_by_label("Find setting").fill("one host delay")
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("HOST_DELAY_MS")
    await expect(page.get_by_role("heading", name="Fetching")).to_be_visible()
    await expect(page.get_by_role("heading", name="Logs")).to_be_hidden()
    await page.get_by_label("Find setting").fill("no such thing")
    await expect(page.get_by_text("No matching settings")).to_be_visible()
    await page.get_by_label("Find setting").fill("")
    await page.get_by_label("Changed only").check()
    await expect(page.get_by_text("SCHEDULER_ENABLED")).to_be_visible()
    await expect(page.get_by_text("LOG_LEVEL")).to_be_hidden()


async def test_no_page_is_wider_than_a_phone(site: Site, page: Page, database: Database) -> None:
    async with database.transaction() as session:
        session.add(Host(host=f"{'long-' * 40}.example", failures=6, circuit_reason="x" * 900))
        await record_heartbeat(session, WorkerIdentity(), {NAME: {"failed": "y" * 900}})
        await CASES[NAME].make_due(session, 3)
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    longest = max((each.name for each in STAGES), key=len)
    for path in ("/stages", f"/stages/{longest}", "/workers", "/hosts", "/alerts", "/settings"):
        await page.goto(f"{site.address}{path}")
        await expect(page.locator("#health")).to_be_visible()
        wide = await page.evaluate("document.documentElement.scrollWidth")
        assert wide <= PHONE["width"], path
        await picture(page, f"control-phone{path.replace('/', '-')}")
