"""A search in a real browser: enter the query, read the estimate, follow the results."""

from __future__ import annotations

from playwright.async_api import Page, expect
from sqlalchemy import select

from scrapersky.db.session import Database
from scrapersky.models import Budget, SavedSearch
from scrapersky.scraper.providers import Area
from scrapersky.testing import FakeArea, PlacesProvider, scatter
from tests.browser.conftest import PHONE, picture, serving_pages
from tests.conftest import make_settings
from tests.dashboard.search_rows import a_search_under_way, spend

LEIPZIG = Area(51.24, 12.20, 51.44, 12.55)
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


async def test_a_search_is_asked_estimated_and_watched_to_its_places(url: str, page: Page) -> None:
    async with PlacesProvider(scatter(30, LEIPZIG), [FakeArea("Leipzig", LEIPZIG)]) as provider:
        named = {name.lower(): value for name, value in provider.environment().items()}
        settings = make_settings(
            url, host_delay_ms=0, worker_dead_after_seconds=30, lease_grace_seconds=10, **named
        )
        async with serving_pages(settings) as site:
            await page.goto(site.address)
            await page.get_by_role("link", name="Search for businesses").click()
            await page.get_by_label("Business type").fill("bakeries")
            await page.get_by_label("Name", exact=True).fill("Leipzig")
            await page.get_by_label("Maximum results").fill("60")
            estimate = page.locator(".estimate")
            await expect(estimate).to_contain_text("60 places take 3 requests and cost nothing")
            await expect(estimate).to_contain_text("within the free quota of this month")
            await page.get_by_label("Continue to contacts automatically").uncheck()
            await page.get_by_label("Maximum results").press("Enter")

            await page.wait_for_url("**/searches/*-*")
            await expect(page.locator("#search-state")).to_contain_text("complete", timeout=120_000)
            await expect(page.locator("#search-state")).to_contain_text("Places found30")
            await expect(page.locator("#search-results tbody tr")).to_have_count(12)
            await expect(page.locator("#search-coverage")).to_contain_text(
                "The whole area is covered: 30 places in 1 part."
            )
            await expect(page.locator("#search-coverage .tile.done")).not_to_have_count(0)
            await picture(page, "search")
            await page.get_by_role("link", name="View all 30 places").click()
            await expect(page.locator("#total")).to_have_text("30 places")


async def test_what_is_wrong_stands_at_its_field_and_what_does_not_fit_is_told(
    url: str, page: Page, database: Database
) -> None:
    await spend(database, "9.90", free_used=5_000)
    settings = make_settings(
        url, scheduler_enabled=False, google_places_api_key="a-key", places_monthly_cap_usd=10
    )
    async with serving_pages(settings) as site:
        await page.goto(f"{site.address}/searches/new")
        await page.get_by_role("button", name="Start search").click()
        what = page.get_by_label("Business type")
        await expect(page.locator("#wrong-business_type")).to_have_text("Required.")
        await expect(what).to_be_focused()

        await what.fill("bakeries")
        await page.get_by_label("Rectangle").check()
        for side, degrees in {"South": "51", "West": "12", "North": "50", "East": "13"}.items():
            await page.get_by_label(side, exact=True).fill(degrees)
        await expect(page.locator("#wrong-area")).to_contain_text("must be south of its north")
        await page.get_by_label("Around a point").check()
        await page.get_by_label("Latitude").fill("51.34")
        await page.get_by_label("Longitude").fill("12.37")
        await page.get_by_label("Radius (km)", exact=True).fill("5000")
        await expect(page.locator("#wrong-around-radius_km")).to_contain_text(
            "A radius of 5,000 km is too large"
        )
        await page.get_by_label("Radius (km)", exact=True).fill("5,5")
        await page.get_by_label("Maximum results").fill("many")
        await expect(page.locator("#wrong-max_results")).to_contain_text("integer")
        await page.get_by_label("Maximum results").fill("200")

        refusal = page.locator("[data-estimate=refusal]")
        await expect(refusal).to_contain_text("of this month's budget of 10.00 USD left.")
        await expect(page.locator("[data-estimate=left]")).to_have_text("0.10 USD of 10.00 USD")
        await expect(page.locator("#wrong-max_results")).to_be_hidden()
        await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        assert await page.evaluate(SIDEWAYS) == 0
        await picture(page, "search-form-phone")


async def test_a_search_is_repeated_and_the_budget_changed_without_leaving_the_page(
    url: str, page: Page, database: Database
) -> None:
    known = await a_search_under_way(database)
    async with serving_pages(make_settings(url, scheduler_enabled=False)) as site:
        await page.goto(f"{site.address}/searches/{known.search}")
        await page.get_by_role("button", name="Repeat").click()
        await page.get_by_label("Every (days)").fill("7")
        await page.get_by_role("button", name="Save").click()
        await expect(page.locator("#search-head")).to_contain_text("repeats every 7 days")
        async with database.reading() as session:
            assert await session.scalar(select(SavedSearch.repeat_days)) == 7
        await page.get_by_role("button", name="Stop repeating").click()
        await page.locator("dialog[open]").get_by_role("button", name="Stop repeating").click()
        await expect(page.locator("#search-head")).not_to_contain_text("repeats every")

        await page.goto(f"{site.address}/budget")
        await page.get_by_role("button", name="Change cap").click()
        await page.get_by_label("USD per month", exact=True).fill("25.50")
        await page.get_by_role("button", name="Save").click()
        await expect(page.locator("#budget-month")).to_contain_text("of 25.50 USD spent")
        async with database.reading() as session:
            assert str(await session.scalar(select(Budget.monthly_cap_usd))) == "25.500000"
