"""Home pages: their metadata, pages and contacts are stored."""

from __future__ import annotations

import pytest

from scrapersky.db.session import Database
from scrapersky.models import Contact, Domain, Lead, Page
from scrapersky.models.stage_names import METADATA_STAGE
from tests.fake_web import FakeWeb
from tests.leads.stage_runs import Run, html, started

ORGANISATION = """<script type="application/ld+json">{"@context": "https://schema.org",
"@type": "Bakery", "name": "Muster Brot", "telephone": "+49 341 1234567",
"address": {"streetAddress": "Weg 1", "postalCode": "04109", "addressLocality": "Leipzig"}}
</script>"""
HOME = html(
    "<a href=/impressum>Impressum</a> <a href=/kontakt>Kontakt</a> <a href=/brot/roggen>Roggen</a>"
    "<a href='mailto:info@bakery.example'>Mail</a> <a href='tel:+493417654321'>Laden</a>",
    title="Bäckerei Muster",
    head=ORGANISATION + '<meta name="generator" content="WordPress 6.5.2">',
)


async def look(url: str, database: Database, web: FakeWeb, **settings: object) -> Run:
    run = Run(None, database, web)  # type: ignore[arg-type]
    await run.domain("bakery.example")
    async with started(run, url, **settings):
        await run.work(METADATA_STAGE)
    return run


async def test_a_home_page_says_what_the_site_is(url: str, database: Database) -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").page("/", HOME)
        run = await look(url, database, web)

    domain = await run.one(Domain)
    assert (domain.status, domain.site_state, domain.error) == ("completed", "ok", None)
    assert (domain.title, domain.language) == ("Bäckerei Muster", "de")
    assert (domain.cms, domain.is_wordpress, domain.wordpress_version) == (
        "WordPress",
        True,
        "6.5.2",
    )
    assert domain.email_addresses == ["info@bakery.example"]
    assert set(domain.phone_numbers) == {"+493411234567", "+493417654321"}
    assert domain.base_url == "http://bakery.example"


async def test_then_its_sitemaps_are_looked_for(url: str, database: Database) -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").page("/", HOME)
        run = await look(url, database, web)

    assert (await run.one(Domain)).sitemap_analysis_status == "queued"


async def test_the_home_page_is_a_page_that_was_read_and_its_promising_links_are_queued(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").page("/", HOME)
        run = await look(url, database, web)

    pages = {page.url.removeprefix("http://bakery.example"): page for page in await run.all(Page)}
    assert set(pages) == {"/", "/impressum", "/kontakt"}
    assert (pages["/"].page_processing_status, pages["/"].contacts_found) == ("Complete", 3)
    assert pages["/impressum"].page_processing_status == "Queued"
    assert (pages["/kontakt"].link_text, pages["/kontakt"].page_type) == ("Kontakt", "contact")


async def test_a_lead_says_who_it_is_and_which_address_is_best(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").page("/", HOME)
        run = await look(url, database, web)

    lead = await run.one(Lead)
    assert (lead.name, lead.name_from, lead.category) == ("Muster Brot", "json_ld", "Bakery")
    assert lead.address == "Weg 1, 04109 Leipzig"
    assert (lead.best_email, lead.phone) == ("info@bakery.example", "+493411234567")
    assert lead.other_phones == ["+493417654321"]
    assert lead.best_email_why is not None
    assert (lead.why_empty, lead.contacts) == (None, 3)


async def test_nothing_is_queued_when_people_are_to_select_pages(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").page("/", HOME)
        run = await look(url, database, web, auto_queue_pages=False)

    assert {page.page_processing_status for page in await run.all(Page)} == {"Complete", "New"}


@pytest.mark.parametrize(
    ("answer", "state", "why"),
    [
        ({"html": "<title>Not found</title>", "status": 404}, "dead", "does_not_answer"),
        ({"html": "no", "status": 403}, "blocked", "blocked"),
        (
            {
                "html": "<html><head><title>App</title></head><body><div id=root></div>"
                "<noscript>You need to enable JavaScript to run this app.</noscript></body></html>"
            },
            "javascript_only",
            "needs_javascript",
        ),
    ],
)
async def test_a_site_without_contacts_says_why(
    answer: dict[str, object], state: str, why: str, url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").page("/", **answer)  # type: ignore[arg-type]
        run = await look(url, database, web)

    domain, lead = await run.one(Domain), await run.one(Lead)
    assert (domain.status, domain.site_state) == ("completed", state)
    assert (lead.why_empty, lead.best_email) == (why, None)
    assert lead.why_empty_detail
    assert domain.title is None or state == "javascript_only"


async def test_a_site_that_leads_elsewhere_gives_no_contacts_of_the_other(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").redirect("/", "http://other.example/")
        web.host("other.example").page("/", HOME)
        run = await look(url, database, web)

    domain = await run.one(Domain)
    assert (domain.site_state, domain.redirects_to) == ("redirected", "http://other.example/")
    assert await run.all(Contact) == []
    assert (await run.one(Lead)).why_empty == "redirected"


async def test_a_server_in_trouble_is_asked_again_through_the_queue(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").page("/", "oops", status=500)
        run = await look(url, database, web)

    domain = await run.one(Domain)
    assert (domain.status, domain.attempts) == ("pending", 1)
    assert domain.site_state is None


async def test_a_site_that_never_answers_is_given_up_and_known_to_be_dead(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").page("/", "oops", status=500)
        run = await look(url, database, web, environ={"DOMAIN_SCHEDULER_MAX_ATTEMPTS": "1"})

    domain = await run.one(Domain)
    assert (domain.status, domain.site_state) == ("error", "dead")


async def test_what_was_known_before_is_not_invented_when_the_page_is_gone(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").page("/", "<title>Parking</title>", status=404)
        run = await look(url, database, web)

    domain = await run.one(Domain)
    assert (domain.title, domain.cms, domain.email_addresses) == (None, None, [])


async def test_without_an_organisation_a_lead_is_named_as_the_site_names_itself(
    url: str, database: Database
) -> None:
    named = '<meta property="og:site_name" content="Muster Brot">'
    async with FakeWeb() as web:
        web.host("bakery.example").page("/", html("<p>Hallo</p>", title="Willkommen", head=named))
        run = await look(url, database, web)

    lead = await run.one(Lead)
    assert (lead.name, lead.name_from) == ("Muster Brot", "site_name")
