"""A business's website becomes a domain, or the reason why it is not its own site is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from scrapersky.businesses import domain_extraction
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.errors import RetryLater
from scrapersky.models import Domain, Lead, LocalBusiness, Suppression
from scrapersky.models.stage_names import EXTRACTION_STAGE, METADATA_STAGE
from scrapersky.models.suppression import compute_digest
from scrapersky.pipeline.tables import DeadLetter
from scrapersky.scraper.site.website import classify_website
from tests.leads.stage_runs import Run, html, prepared, started
from tests.stage_cases import OWNED


@pytest.fixture
async def run(url: str, database: Database) -> AsyncIterator[Run]:
    """With a site, a service of short links and one that is in trouble."""
    async with prepared(url, database) as made:
        bakery = made.web.host("bakery.example")
        bakery.page("/", html("<a href=mailto:info@bakery.example>Write</a>", title="Berger"))
        made.web.host("bit.ly").redirect("/a", "http://bakery.example/?utm_source=qr")
        made.web.host("tinyurl.com").always(503)
        async with started(made, url) as running:
            yield running


async def business(run: Run, website: str | None, **more: Any) -> LocalBusiness:
    async with run.database.transaction() as session:
        made = LocalBusiness(
            id=uuid7(),
            website_url=website,
            **{
                "business_name": "Backhaus Berger",
                "domain_extraction_status": "Queued",
                **OWNED,
                **more,
            },
        )
        session.add(made)
    return made


async def domain(run: Run, name: str, **more: Any) -> Domain:
    async with run.database.transaction() as session:
        made = Domain(id=uuid7(), domain=name, **OWNED, **more)
        session.add(made)
    return made


async def test_a_website_of_its_own_becomes_a_domain_and_the_chain_goes_on(run: Run) -> None:
    made = await business(run, "HTTP://www.Bakery.example/?utm_source=maps", phone="+493411234567")
    await run.work(EXTRACTION_STAGE)
    known, site, lead = await run.one(LocalBusiness), await run.one(Domain), await run.one(Lead)

    assert known.domain_extraction_status == "Completed"
    assert (known.website_kind, known.website_note) == ("own", None)
    assert (known.site_key, known.domain_id) == ("bakery.example", site.id)
    assert (site.domain, site.status, site.local_business_id) == (
        "bakery.example",
        "pending",
        made.id,
    )
    assert (lead.domain_id, lead.local_business_id, lead.phone) == (site.id, made.id, made.phone)

    await run.work(METADATA_STAGE)
    lead = await run.one(Lead)

    assert (lead.name, lead.name_from) == ("Backhaus Berger", "place")
    assert (lead.best_email, lead.contacts) == ("info@bakery.example", 1)


async def test_businesses_that_share_a_site_share_its_domain_and_lead(run: Run) -> None:
    """Forty at once: they wait for one another, and not in a circle."""
    first = await business(run, "bakery.example", reviews_count=3)
    await run.work(EXTRACTION_STAGE)
    for n in range(40):
        await business(run, f"https://bakery.example/branch/{n}", reviews_count=n)
    await run.work(EXTRACTION_STAGE)
    businesses, site, lead = (
        await run.all(LocalBusiness),
        await run.one(Domain),
        await run.one(Lead),
    )

    assert {each.domain_extraction_status for each in businesses} == {"Completed"}
    assert {each.domain_id for each in businesses} == {site.id}
    assert site.local_business_id == first.id
    best = max(businesses, key=lambda each: each.reviews_count or 0)
    assert (lead.businesses, lead.local_business_id, lead.reviews_count) == (41, best.id, 39)


@pytest.mark.parametrize(
    ("status", "curation", "after"),
    [
        ("new", "New", "pending"),
        ("new", "Archived", "new"),
        ("new", "Not a Fit", "new"),
        ("completed", "New", "completed"),
        ("error", "New", "error"),
        ("pending", "Archived", "pending"),
    ],
)
async def test_a_domain_that_is_known_is_asked_for_only_if_nobody_was(
    run: Run, status: str, curation: str, after: str
) -> None:
    known = await domain(run, "bakery.example", status=status, sitemap_curation_status=curation)
    made = await business(run, "https://bakery.example")
    await run.work(EXTRACTION_STAGE)
    site = await run.one(Domain)

    assert (site.id, site.status, site.sitemap_curation_status) == (known.id, after, curation)
    assert site.local_business_id == made.id


async def test_a_profile_is_the_businesss_and_is_not_crawled(run: Run) -> None:
    await business(run, "https://de-de.facebook.com/Backhaus/", profiles=["https://x.com/backhaus"])
    await run.work(EXTRACTION_STAGE)
    known, lead = await run.one(LocalBusiness), await run.one(Lead)

    assert (known.website_kind, known.domain_id, known.site_key) == ("profile", None, None)
    assert known.profiles == ["https://x.com/backhaus", "https://www.facebook.com/backhaus"]
    assert await run.all(Domain) == []
    assert (lead.domain_id, lead.why_empty, lead.profiles) == (None, "only_social", known.profiles)
    assert lead.why_empty_detail == known.website_note


@pytest.mark.parametrize(
    ("website", "kind"),
    [
        ("https://www.yelp.de/biz/backhaus", "directory"),
        ("https://www.lieferando.de/menu/backhaus", "marketplace"),
        ("https://sites.google.com/view/backhaus", "site_builder"),
        ("+49 341 1234567", "unusable"),
        ("http://192.168.0.1/", "unusable"),
        ("n/a", "none"),
        (None, "none"),
    ],
)
async def test_what_is_no_site_of_its_own_is_completed_and_says_why(
    run: Run, website: str | None, kind: str
) -> None:
    await business(run, website)
    await run.work(EXTRACTION_STAGE)
    known, lead = await run.one(LocalBusiness), await run.one(Lead)

    assert (known.domain_extraction_status, known.website_kind) == ("Completed", kind)
    assert known.website_note
    assert await run.all(Domain) == []
    assert (lead.why_empty, lead.why_empty_detail) == ("no_website", known.website_note)
    assert lead.website == (website if kind == "site_builder" else None)


async def test_a_short_link_is_followed_to_the_site(run: Run) -> None:
    await business(run, "http://bit.ly/a")
    await run.work(EXTRACTION_STAGE)
    known, site = await run.one(LocalBusiness), await run.one(Domain)

    assert (known.website_kind, site.domain) == ("own", "bakery.example")
    assert known.website_note == "Resolved from http://bit.ly/a."
    assert run.web.host("bakery.example").seen == []


async def test_a_short_link_that_does_not_answer_is_tried_again_and_given_up(run: Run) -> None:
    made = await business(run, "http://tinyurl.com/b")
    await run.work(EXTRACTION_STAGE)
    waiting = await run.one(LocalBusiness)
    async with run.database.transaction() as session:
        row = await session.get_one(LocalBusiness, made.id)
        row.domain_extraction_attempts, row.domain_extraction_due_at = 4, func.now()
    await run.work(EXTRACTION_STAGE)
    known, lead, letter = (
        await run.one(LocalBusiness),
        await run.one(Lead),
        await run.one(DeadLetter),
    )

    assert (waiting.domain_extraction_status, waiting.website_kind) == ("Queued", None)
    assert (known.domain_extraction_status, known.website_kind) == ("Error", "unusable")
    assert "503" in (known.website_note or "")
    assert (lead.why_empty, letter.row_id) == ("no_website", made.id)


async def test_an_address_in_the_field_is_kept_unless_it_was_erased(run: Run) -> None:
    gone = Suppression(id=uuid7(), kind="email", digest=compute_digest("anna@bakery.de"), **OWNED)
    async with run.database.transaction() as session:
        session.add(gone)
    kept = await business(run, "info@bakery.de")
    erased = await business(run, "anna@bakery.de")
    await run.work(EXTRACTION_STAGE)
    known = {each.id: each for each in await run.all(LocalBusiness)}
    leads = {each.local_business_id: each for each in await run.all(Lead)}

    assert known[kept.id].emails == ["info@bakery.de"]
    assert "bakery.de may be the website" in (known[kept.id].website_note or "")
    assert leads[kept.id].best_email == "info@bakery.de"
    assert (known[erased.id].emails, leads[erased.id].best_email) == ([], None)
    assert await run.all(Domain) == []


async def test_a_website_that_changed_meanwhile_is_looked_at_again(run: Run) -> None:
    made = await business(run, "https://other.example")
    found = domain_extraction.ExtractedWebsite(
        "x", classify_website("http://bakery.example"), timedelta(days=7)
    )
    async with run.database.transaction() as session:
        row = await session.get_one(LocalBusiness, made.id)
        with pytest.raises(RetryLater):
            await domain_extraction.store(session, row, found)


async def test_a_business_that_gets_a_site_has_one_lead_and_its_decision(run: Run) -> None:
    made = await business(run, "https://www.yelp.de/biz/backhaus", status="Selected")
    await run.work(EXTRACTION_STAGE)
    async with run.database.transaction() as session:
        (lead,) = await session.scalars(select(Lead))
        lead.lead_curation_status = "Maybe"
        row = await session.get_one(LocalBusiness, made.id)
        row.website_url, row.domain_extraction_status = "https://bakery.example", "Queued"
    await run.work(EXTRACTION_STAGE)
    known, site, lead = await run.one(LocalBusiness), await run.one(Domain), await run.one(Lead)

    assert (lead.domain_id, lead.local_business_id) == (site.id, made.id)
    assert (lead.lead_curation_status, known.status) == ("Maybe", "Selected")


async def test_another_site_takes_the_place_of_the_former_one(run: Run) -> None:
    made = await business(run, "http://old.example")
    await run.work(EXTRACTION_STAGE)
    async with run.database.transaction() as session:
        row = await session.get_one(LocalBusiness, made.id)
        row.website_url, row.domain_extraction_status = "https://bakery.example", "Queued"
    await run.work(EXTRACTION_STAGE)
    names = {each.id: each.domain for each in await run.all(Domain)}
    leads = {names[each.domain_id]: each for each in await run.all(Lead) if each.domain_id}

    assert (await run.one(LocalBusiness)).site_key == "bakery.example"
    assert leads["bakery.example"].local_business_id == made.id
    assert (leads["old.example"].local_business_id, leads["old.example"].businesses) == (None, 0)


async def test_a_profile_named_later_does_not_take_the_site_away(run: Run) -> None:
    made = await business(run, "http://bakery.example")
    await run.work(EXTRACTION_STAGE)
    async with run.database.transaction() as session:
        row = await session.get_one(LocalBusiness, made.id)
        row.website_url, row.domain_extraction_status = "https://facebook.com/backhaus", "Queued"
    await run.work(EXTRACTION_STAGE)
    known, site = await run.one(LocalBusiness), await run.one(Domain)

    assert (known.website_kind, known.domain_id) == ("profile", site.id)
    assert (await run.one(Lead)).profiles == ["https://www.facebook.com/backhaus"]
