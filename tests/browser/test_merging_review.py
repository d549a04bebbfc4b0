"""Merge review in a real browser: pairs are decided by keyboard."""

from __future__ import annotations

from uuid import UUID

from playwright.async_api import Page, expect
from sqlalchemy import select

from scrapersky.db.session import Database
from scrapersky.models import BusinessSighting, LocalBusiness, MergeCandidate
from tests.browser.conftest import PHONE, Site, picture
from tests.contacts.rows import store
from tests.dashboard.business_rows import a_business, a_place, may_be_one, told_by


async def three_pairs(database: Database) -> list[MergeCandidate]:
    """The likeliest first; each business was told of by one provider."""
    made = []
    async with database.transaction() as session:
        for number in range(3):
            names = (f"Backhaus {number}", f"Bäckerei {number}")
            places = [a_place(name, "osm") for name in names]
            both = [
                a_business(name, place_id=place.id, categories=["bakery"], emails=[])
                for name, place in zip(names, places, strict=True)
            ]
            told = [
                told_by(place, one, facts={"business_name": one.business_name})
                for place, one in zip(places, both, strict=True)
            ]
            await store(session, *places, *both, *told)
            made.append(may_be_one(*both, score=0.9 - number / 10))
        await store(session, *made)
    return made


async def names(database: Database) -> set[str | None]:
    async with database.reading() as session:
        return set(await session.scalars(select(LocalBusiness.business_name)))


async def state_of(database: Database, candidate_id: UUID) -> str | None:
    async with database.reading() as session:
        found: str | None = await session.scalar(
            select(MergeCandidate.state).where(MergeCandidate.id == candidate_id)
        )
        return found


async def test_pairs_are_merged_taken_back_and_kept_apart_by_keys(
    site: Site, page: Page, database: Database
) -> None:
    first, second, third = await three_pairs(database)
    pair = page.locator("[data-pair]")
    await page.goto(f"{site.address}/merge-review")
    await expect(page.get_by_text("1 of 3")).to_be_visible()
    await page.keyboard.press("j")
    await expect(page.get_by_text("2 of 3")).to_be_visible()
    await page.keyboard.press("k")
    await expect(page.get_by_text("1 of 3")).to_be_visible()

    await page.keyboard.press("2")
    await expect(pair).to_have_attribute("data-pair", str(second.id))
    await expect(page.get_by_text("1 of 2")).to_be_visible()
    async with database.reading() as session:
        left = await session.scalar(
            select(BusinessSighting.id).where(BusinessSighting.business_id == first.left_id)
        )
    assert left is None
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_text("Undone")).to_be_visible()
    assert {"Backhaus 0", "Bäckerei 0"} <= await names(database)

    await page.keyboard.press("a")
    await expect(page.get_by_text("Keep apart? The pair")).to_be_visible()
    await page.keyboard.press("Enter")
    await expect(pair).to_have_attribute("data-pair", str(third.id))
    assert await state_of(database, second.id) == "apart"

    await page.keyboard.press("m")
    await expect(page.get_by_text("No pairs to review")).to_be_visible()
    assert len(await names(database)) == 5


async def test_a_pair_that_was_kept_apart_is_asked_about_again_from_the_list(
    site: Site, page: Page, database: Database
) -> None:
    first, *_ = await three_pairs(database)
    async with database.transaction() as session:
        (await session.get_one(MergeCandidate, first.id)).state = "apart"
    await page.goto(f"{site.address}/merge-candidates?state=apart")
    await page.get_by_role("button", name="Reopen").click()
    await page.get_by_role("dialog").get_by_role("button", name="Reopen").click()
    await expect(page.get_by_text("Pair reopened")).to_be_visible()

    await expect(page.locator("#table tbody tr")).to_have_count(0)
    assert await state_of(database, first.id) == "open"


async def test_the_review_fits_a_phone(site: Site, page: Page, database: Database) -> None:
    await three_pairs(database)
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await page.goto(f"{site.address}/merge-review")
    await expect(page.locator("#verdict-merge")).to_be_visible()

    assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    await picture(page, "merge-review-phone")
