"""Webhooks in a real browser: created, tested with a real receiver, redelivered, deleted."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page, expect
from sqlalchemy import select

from scrapersky.db.session import Database
from scrapersky.models import WebhookEndpoint
from tests.browser.conftest import PHONE, picture, serving_pages
from tests.conftest import make_settings
from tests.fake_web import FakeHost, FakeWeb


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as made:
        made.host("crm.example").body("/in", "taken")
        yield made


async def endpoint(database: Database) -> WebhookEndpoint | None:
    async with database.reading() as session:
        found: WebhookEndpoint | None = await session.scalar(select(WebhookEndpoint))
        return found


async def add(page: Page, url: str) -> str:
    """Through the form; the secret that was shown."""
    await page.get_by_role("button", name="Add endpoint").click()
    await page.get_by_label("URL").fill(url)
    await page.get_by_role("button", name="Add", exact=True).click()
    await expect(page.get_by_role("alert")).to_have_text("Select at least one event.")
    await page.get_by_role("checkbox", name="lead.completed").check()
    await page.get_by_label("Description").fill("Leads to our CRM")
    await page.get_by_role("button", name="Add", exact=True).click()
    secret = page.get_by_label("Secret", exact=True)
    await expect(secret).to_have_value(re.compile("^whsec_"))
    shown = await secret.input_value()
    await page.get_by_role("button", name="I've saved it").click()
    return shown


async def test_an_endpoint_is_added_tried_changed_and_deleted(
    url: str, web: FakeWeb, page: Page, database: Database
) -> None:
    crm: FakeHost = web.host("crm.example")
    async with serving_pages(make_settings(url, fetch_resolve=web.resolve)) as site:
        await page.goto(f"{site.address}/webhooks")
        secret = await add(page, f"{crm.base}/in")
        card = page.locator(".endpoint")
        await expect(card).to_contain_text("not used yet")
        assert secret not in await page.content()
        stored = await endpoint(database)
        assert stored is not None
        assert stored.secret == secret

        outcome = page.locator("[data-outcome]")
        await page.get_by_role("button", name="Send test").click()
        await expect(outcome).to_have_text("Delivered: HTTP 200.")
        await page.get_by_role("button", name="Close").click()
        await expect(card).to_contain_text("working")
        assert [each.headers["webhook-signature"][:3] for each in crm.seen] == ["v1,"]

        crm.body("/in", "no such hook", status=404)
        await page.get_by_role("button", name="Send test").click()
        # The receiver is at a private address, so its words are not quoted.
        await expect(outcome).to_contain_text("answered 404: it did not accept the payload.")
        await picture(page, "webhook-test")
        await page.get_by_role("button", name="Close").click()
        await expect(card).to_contain_text("The last attempt failed.")

        await card.get_by_role("link", name="Deliveries").click()
        await page.wait_for_url(f"{site.address}/webhooks/{stored.id}")
        await expect(page.locator("#total")).to_have_text("2 deliveries")
        crm.body("/in", "taken")
        failed = page.get_by_role("row").filter(has_text="failed")
        await failed.get_by_role("button", name="Redeliver").click()
        await expect(page.get_by_text("Queued for redelivery")).to_be_visible()
        await page.get_by_role("button", name="Edit").click()
        await expect(page.get_by_role("checkbox", name="lead.completed")).to_be_checked()
        await page.get_by_role("checkbox", name="job.finished").check()
        await page.get_by_role("button", name="Save").click()
        await expect(page.locator(".endpoint")).to_contain_text("job.finished")
        await page.get_by_role("button", name="Disable").click()
        await page.get_by_role("dialog").get_by_role("button", name="Disable").click()
        await expect(page.locator(".endpoint")).to_contain_text("disabled")
        await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]

        await page.get_by_role("button", name="Delete").click()
        await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        await page.wait_for_url(f"{site.address}/webhooks")
        await expect(page.get_by_text("No endpoints yet")).to_be_visible()

    assert len(crm.seen) == 3
    assert await endpoint(database) is None
