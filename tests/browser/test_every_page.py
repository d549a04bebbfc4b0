"""Every page in light and dark mode: accessible, and compared with a screenshot."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from scrapersky.db.session import Database
from tests.browser.conftest import PHONE, Site, picture, serving_pages
from tests.conftest import make_settings
from tests.dashboard.business_rows import bakery_and_double
from tests.dashboard.details_rows import bakery_of_everything
from tests.dashboard.search_rows import a_search_under_way
from tests.dashboard.table_rows import add_leads
from tests.dashboard.webhook_rows import an_endpoint_with_deliveries
from tests.processes import free_port

CHECK = (Path(__file__).parent / "accessibility.js").read_text()
PLAIN = (
    "/",
    "/leads",
    "/contacts",
    "/pages",
    "/sitemap-files",
    "/domains",
    "/searches",
    "/searches/new",
    "/budget",
    "/budget/entries",
    "/places",
    "/local-businesses",
    "/merge-review",
    "/merge-candidates",
    "/jobs",
    "/dead-letters",
    "/suppressions",
    "/bulk-actions",
    "/import",
    "/stages",
    "/workers",
    "/hosts",
    "/alerts",
    "/settings",
    "/users",
    "/api-keys",
    "/webhooks",
    "/audit-log",
    "/account",
)
DETAILS = ("domains", "jobs", "contacts", "leads", "pages", "sitemap_files", "dead_letters")
PICTURES = {"/": "overview", "/leads": "leads", "domains": "domain", "jobs": "job"}


POOR = """
<h1>One</h1><h3>Three</h3><img src="x"><button></button><input id="twice"><svg id="twice"></svg>
<table><tr><th>A</th></tr></table><p style="color: #999; background: #fff">Hardly to be read</p>
"""


async def test_a_poor_page_is_told_what_is_poor_about_it(page: Page) -> None:
    await page.set_content(POOR)
    said = [each.partition(":")[0] for each in await page.evaluate(CHECK)]

    assert sorted(said) == [
        "a heading cell without its direction",
        "a picture without words",
        "a table without a title",
        'contrast of 2.85 in "Hardly to be read"',
        "has no name",
        "has no name",
        "the id twice is there twice",
        "the page has no language",
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_page_can_be_read_by_everybody(
    site: Site, page: Page, database: Database, scheme: str
) -> None:
    known = await bakery_of_everything(database)
    await add_leads(database, 30)
    searched = await a_search_under_way(database)
    places = {path: path for path in PLAIN} | {
        kind: f"/{kind.replace('_', '-')}/{getattr(known, kind)}" for kind in DETAILS
    }
    places["searches"] = f"/searches/{searched.search}"
    places |= {path: path for path in (await bakery_and_double(database)).paths()}
    places |= {path: path for path in await an_endpoint_with_deliveries(database)}
    await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    wrong = {}
    for name, path in places.items():
        answer = await page.goto(site.address + path)
        assert answer is not None
        assert answer.status == 200, path
        if said := await page.evaluate(CHECK):
            wrong[path] = said
        if name in PICTURES:
            await picture(page, f"{PICTURES[name]}-{scheme}")

    assert wrong == {}


async def test_the_pages_people_look_at_most_fit_a_phone(
    site: Site, page: Page, database: Database
) -> None:
    known = await bakery_of_everything(database)
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    for name, path in {"domain": f"/domains/{known.domains}", "overview": "/"}.items():
        await page.goto(site.address + path)
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        await picture(page, f"{name}-phone")


async def test_a_page_recovers_by_itself_when_the_server_comes_back(
    url: str, page: Page, database: Database
) -> None:
    settings, port = make_settings(url, scheduler_enabled=False), free_port()
    lost = page.locator("#connection")
    async with serving_pages(settings, port=port) as site:
        await page.goto(site.address)
        await page.evaluate("window.keptByThisPage = true")
    await expect(lost).to_be_visible()
    await bakery_of_everything(database)
    async with serving_pages(settings, port=port):
        await expect(lost).to_be_hidden()
        await expect(page.locator("#newest")).to_contain_text("backhaus-berger.de")

    assert await page.evaluate("window.keptByThisPage") is True
