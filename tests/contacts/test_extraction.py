"""Queued pages are fetched within the rate limits, parsed, and end with a status and a reason."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from scrapersky.db.session import Database
from scrapersky.models import Contact, ContactEvidence, Lead, Page
from scrapersky.models.stage_names import PAGE_STAGE
from scrapersky.pipeline.tables import DeadLetter, Host
from tests.fake_web import FakeWeb
from tests.leads.stage_runs import Run, html, started

CONTACT = html("<h1>Kontakt</h1><a href='mailto:info@bakery.example'>Mail</a>", title="Kontakt")


async def read_one(
    url: str, database: Database, web: FakeWeb, path: str = "/kontakt", **settings: object
) -> Run:
    run = Run(None, database, web)  # type: ignore[arg-type]
    domain = await run.domain("bakery.example")
    await run.page(domain, f"http://bakery.example{path}")
    async with started(run, url, **settings):
        await run.work(PAGE_STAGE)
    return run


async def test_a_page_says_what_it_is_and_its_contacts_are_stored_with_evidence(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").page("/kontakt", CONTACT)
        run = await read_one(url, database, web)

    page, contact = await run.one(Page), await run.one(Contact)
    evidence = await run.one(ContactEvidence)
    assert (page.page_processing_status, page.contact_scrape_status) == ("Complete", "ContactFound")
    assert (page.title, page.h1, page.http_status, page.contacts_found) == (
        "Kontakt",
        "Kontakt",
        200,
        1,
    )
    assert (contact.kind, contact.value, contact.method) == (
        "email",
        "info@bakery.example",
        "mailto",
    )
    assert (evidence.contact_id, evidence.page_id) == (contact.id, page.id)
    assert contact.page_id == page.id


async def test_reading_a_page_again_adds_no_second_contact(url: str, database: Database) -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").page("/kontakt", CONTACT)
        run = await read_one(url, database, web)
        first = await run.one(Contact)
        async with database.transaction() as session:
            await session.execute(update(Page).values(page_processing_status="Queued"))
        async with started(run, url):
            await run.work(PAGE_STAGE)

    again = await run.one(Contact)
    assert (again.id, again.sightings) == (first.id, 1)
    assert again.last_seen_at > first.last_seen_at


async def test_a_second_page_with_the_same_address_is_a_second_sighting(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        site = web.host("bakery.example")
        site.page("/kontakt", html("Schreiben Sie an info@bakery.example"))
        site.page("/impressum", CONTACT)
        run = Run(None, database, web)  # type: ignore[arg-type]
        domain = await run.domain("bakery.example")
        await run.page(domain, "http://bakery.example/kontakt")
        await run.page(domain, "http://bakery.example/impressum")
        async with started(run, url):
            await run.work(PAGE_STAGE)

    contact = await run.one(Contact)
    assert contact.sightings == 2
    assert contact.method == "mailto"
    assert len(await run.all(ContactEvidence)) == 2


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (404, "HTTP 404: page not found."),
        (410, "HTTP 410: page not found."),
        (403, "HTTP 403: access denied."),
    ],
)
async def test_a_page_that_is_refused_is_filtered_with_the_reason(
    status: int, reason: str, url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").page("/kontakt", "no", status=status)
        run = await read_one(url, database, web)

    page = await run.one(Page)
    assert (page.page_processing_status, page.page_processing_error) == ("Filtered", reason)
    assert (page.http_status, page.contact_scrape_status) == (status, "NotAFit")
    assert await run.all(DeadLetter) == []


async def test_what_robots_txt_forbids_is_not_asked_for(url: str, database: Database) -> None:
    async with FakeWeb() as web:
        site = web.host("bakery.example")
        site.robots("User-agent: *\nDisallow: /kontakt\n")
        site.page("/kontakt", CONTACT)
        run = await read_one(url, database, web)
        asked = site.count("/kontakt")

    page, lead = await run.one(Page), await run.one(Lead)
    assert asked == 0
    assert page.page_processing_status == "Filtered"
    assert page.page_processing_error == "robots.txt disallows this page."
    assert await run.all(Contact) == []
    assert lead.why_empty == "robots"


async def test_a_file_that_is_no_page_is_filtered(url: str, database: Database) -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").body("/kontakt", b"%PDF-1.7", "application/pdf")
        run = await read_one(url, database, web)

    page = await run.one(Page)
    assert page.page_processing_error == "Not a web page: application/pdf."


async def test_a_page_that_leads_to_another_site_gives_no_contacts(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").redirect("/kontakt", "http://other.example/")
        web.host("other.example").page("/", CONTACT)
        run = await read_one(url, database, web)

    page = await run.one(Page)
    assert page.page_processing_error == "Redirects to another site: other.example."
    assert await run.all(Contact) == []


async def test_a_server_in_trouble_is_asked_again_later(url: str, database: Database) -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").page("/kontakt", "oops", status=500)
        run = await read_one(url, database, web)

    page = await run.one(Page)
    assert (page.page_processing_status, page.page_processing_attempts) == ("Queued", 1)
    assert page.page_processing_error == "HTTP 500."


async def test_a_page_of_many_megabytes_is_read_as_far_as_the_limit(
    url: str, database: Database
) -> None:
    piece = b"<p>" + b"x " * 32_768 + b"</p>"
    async with FakeWeb() as web:
        site = web.host("bakery.example")
        site.huge("/kontakt", piece, 200, **{"Content-Type": "text/html"})
        run = await read_one(url, database, web, page_max_bytes=262_144)

    page = await run.one(Page)
    assert page.page_processing_status == "Complete"
    assert page.word_count is not None
    assert page.word_count <= 262_144 / 2


async def test_a_hidden_address_stays_hidden_when_decoding_is_switched_off(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").page("/kontakt", html("chef (at) bakery (dot) example"))
        run = await read_one(url, database, web, decode_obfuscated=False)

    assert await run.all(Contact) == []


async def test_what_no_database_can_hold_does_not_keep_a_page_from_being_read(
    url: str, database: Database
) -> None:
    hidden = (
        '<script type="application/ld+json">{"@type": "Bakery", "name": "Brot\\u0000",'
        '"email": "info@bakery.example", "contactPoint": {"name": "A\\ud83d", "role": "\\u0000",'
        '"telephone": "+49 341\\u0000 1234567"}}</script>'
    )
    async with FakeWeb() as web:
        web.host("bakery.example").page("/kontakt", html("<p>\x00 &#0; &#xD800;</p>", head=hidden))
        run = await read_one(url, database, web)

    assert (await run.one(Page)).page_processing_status == "Complete"
    assert {each.value for each in await run.all(Contact)} == {
        "info@bakery.example",
        "+493411234567",
    }


async def test_a_page_waits_as_long_as_the_robots_txt_of_its_host_asks(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        site = web.host("bakery.example")
        site.robots("User-agent: *\nCrawl-delay: 7\n")
        site.page("/kontakt", CONTACT)
        run = await read_one(url, database, web)

    assert (await run.one(Host)).crawl_delay_seconds == 7
