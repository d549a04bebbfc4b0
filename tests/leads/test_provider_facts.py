"""A lead contains the provider's facts in addition to those of its pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import event, select

from scrapersky.contacts.erasure import erase
from scrapersky.contacts.suppression import SuppressionRequest, delete_suppression, suppress
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.leads.build import refresh_business_leads, refresh_leads
from scrapersky.models import (
    Actor,
    Contact,
    Domain,
    Lead,
    LocalBusiness,
    Role,
    SuppressionKind,
)
from tests.stage_cases import OWNED

ACTOR = Actor(user_id=OWNED["created_by"], tenant_id=OWNED["tenant_id"], role=Role.ADMIN)
NOW = datetime(2026, 6, 15, tzinfo=UTC)
TOLD: dict[str, Any] = {
    "business_name": "Backhaus Berger",
    "address": "Ring 1, 04109 Leipzig",
    "phone": "+493411234567",
    "emails": ["post@berger.example"],
    "profiles": ["https://www.facebook.com/berger"],
    "categories": ["bakery", "cafe"],
    "rating": 4.6,
    "reviews_count": 120,
    "facts_from": {"phone": "google", "emails": "osm"},
    "website_kind": "none",
}


def a_business(domain: Domain | None = None, **more: Any) -> LocalBusiness:
    domain_id = None if domain is None else domain.id
    return LocalBusiness(id=uuid7(), domain_id=domain_id, **{**TOLD, **OWNED, **more})


def a_site(**more: Any) -> Domain:
    return Domain(id=uuid7(), domain="bakery.example", **{"meta_json": {}, **OWNED, **more})


def a_contact(domain: Domain, kind: str, value: str) -> Contact:
    return Contact(
        id=uuid7(),
        domain_id=domain.id,
        kind=kind,
        value=value,
        method="text",
        confidence=1,
        **OWNED,
    )


async def leads_of(database: Database, *rows: Any) -> list[Lead]:
    """Once these are stored, in this order."""
    async with database.transaction() as session:
        for row in rows:
            session.add(row)
            await session.flush()
        domains = [row.id for row in rows if isinstance(row, Domain)]
        await refresh_leads(session, domains)
        ids = [row.id for row in rows if isinstance(row, LocalBusiness)]
        await refresh_business_leads(session, ids)
    return await all_leads(database)


async def all_leads(database: Database) -> list[Lead]:
    async with database.reading() as session:
        return list(await session.scalars(select(Lead).order_by(Lead.id)))


async def test_what_providers_told_fills_what_the_site_leaves_open(database: Database) -> None:
    site = a_site(title="Welcome", status="completed")
    business = a_business(site)
    [lead] = await leads_of(database, site, business)

    assert (lead.local_business_id, lead.businesses) == (business.id, 1)
    assert (lead.name, lead.name_from) == ("Backhaus Berger", "place")
    assert (lead.category, lead.address) == ("bakery", "Ring 1, 04109 Leipzig")
    assert (lead.phone, lead.phone_from) == ("+493411234567", "google")
    assert lead.best_email == "post@berger.example"
    assert lead.best_email_why == "Not on the website · reported by osm"
    assert lead.profiles == ["https://www.facebook.com/berger"]
    assert (lead.rating, lead.reviews_count) == (4.6, 120)
    assert (lead.contacts, lead.why_empty) == (0, "not_read_yet")


async def test_what_the_site_says_of_itself_goes_first(database: Database) -> None:
    stated = {"name": "Berger GmbH", "type": "Bakery", "address_text": "Platz 2, Leipzig"}
    site = a_site(meta_json={"organisation": stated})
    contacts = [
        a_contact(site, "phone", "+4930901820"),
        a_contact(site, "email", "info@bakery.example"),
        a_contact(site, "social", "https://x.com/berger"),
    ]
    [lead] = await leads_of(database, site, *contacts, a_business(site))

    assert (lead.name, lead.name_from) == ("Berger GmbH", "json_ld")
    assert (lead.category, lead.address) == ("Bakery", "Platz 2, Leipzig")
    assert (lead.phone, lead.phone_from) == ("+4930901820", "site")
    assert (lead.best_email, lead.other_emails) == ("info@bakery.example", [])
    assert lead.profiles == ["https://x.com/berger", "https://www.facebook.com/berger"]
    assert (lead.contacts, lead.why_empty) == (3, None)


@pytest.mark.parametrize(
    ("reviews", "best"), [((3, 90, 12), 1), ((None, 1, None), 1), ((None, None, None), 0)]
)
async def test_of_a_chain_the_most_reviewed_speaks_then_the_oldest(
    database: Database, reviews: tuple[int | None, ...], best: int
) -> None:
    site = a_site()
    branches = [
        a_business(site, reviews_count=each, created_at=NOW + timedelta(days=n))
        for n, each in enumerate(reviews)
    ]
    [lead] = await leads_of(database, site, *branches)

    assert (lead.local_business_id, lead.businesses) == (branches[best].id, 3)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({}, "only_social"),
        ({"profiles": []}, "no_website"),
        ({"profiles": [], "phone": None, "emails": []}, "no_website"),
    ],
)
async def test_a_business_without_a_site_has_a_lead_that_says_so(
    database: Database, told: dict[str, Any], why: str
) -> None:
    business = a_business(website_note="It is a phone number.", **told)
    [lead] = await leads_of(database, business)

    assert (lead.domain_id, lead.local_business_id, lead.businesses) == (None, business.id, 1)
    assert (lead.why_empty, lead.why_empty_detail) == (why, "It is a phone number.")
    assert (lead.phone, lead.phone_from) == (
        (business.phone, "google") if business.phone else (None, None)
    )
    assert (lead.name, lead.category, lead.rating) == ("Backhaus Berger", "bakery", 4.6)
    assert (lead.contacts, lead.website) == (0, None)


async def test_a_website_that_nobody_looked_at_makes_no_lead_yet(database: Database) -> None:
    asked: dict[str, Any] = {"website_url": "https://bakery.example", "website_kind": None}

    assert await leads_of(database, a_business(**asked)) == []


async def test_a_lead_made_again_is_the_same_lead(database: Database) -> None:
    business = a_business()
    [first] = await leads_of(database, business)
    async with database.transaction() as session:
        row = await session.get_one(LocalBusiness, business.id)
        row.phone = "+493417654321"
        await session.flush()
        await refresh_business_leads(session, [business.id, business.id])
    [second] = await all_leads(database)

    assert (second.id, second.phone) == (first.id, "+493417654321")


async def test_its_own_lead_gives_way_to_that_of_its_site(database: Database) -> None:
    business, site = a_business(), a_site()
    [own] = await leads_of(database, business)
    async with database.transaction() as session:
        (await session.get_one(Lead, own.id)).lead_curation_status = "Selected"
        session.add(site)
        await session.flush()
        (await session.get_one(LocalBusiness, business.id)).domain_id = site.id
        await session.flush()
        await refresh_business_leads(session, [business.id])
    [lead] = await all_leads(database)

    assert lead.id != own.id
    assert (lead.domain_id, lead.local_business_id) == (site.id, business.id)
    assert lead.lead_curation_status == "Selected"


async def test_a_decision_about_the_sites_lead_is_not_overruled(database: Database) -> None:
    business, site = a_business(), a_site()
    leads = await leads_of(database, site, business)
    async with database.transaction() as session:
        for lead in leads:
            row = await session.get_one(Lead, lead.id)
            row.lead_curation_status = "Archived" if lead.domain_id else "Selected"
        (await session.get_one(LocalBusiness, business.id)).domain_id = site.id
        await session.flush()
        await refresh_business_leads(session, [business.id])
    [lead] = await all_leads(database)

    assert (lead.domain_id, lead.lead_curation_status) == (site.id, "Archived")


async def suppressed(database: Database, *values: str) -> list[UUID]:
    async with database.transaction() as session:
        lines = await suppress(session, ACTOR, [SuppressionRequest(each) for each in values])
    return [each.id for each in lines if each.id is not None]


@pytest.mark.parametrize("with_site", [True, False])
async def test_whom_nobody_is_to_call_is_in_no_lead(database: Database, with_site: bool) -> None:
    site = a_site()
    business = a_business(site if with_site else None)
    await leads_of(database, *([site] if with_site else []), business)
    ids = await suppressed(database, "+49 341 1234567", "post@berger.example")
    [hushed] = await all_leads(database)
    async with database.transaction() as session:
        for each in ids:
            await delete_suppression(session, ACTOR, each)
    [again] = await all_leads(database)

    assert (hushed.phone, hushed.phone_from, hushed.best_email) == (None, None, None)
    assert (again.phone, again.best_email) == ("+493411234567", "post@berger.example")


async def test_a_suppressed_site_silences_what_providers_told_of_it(database: Database) -> None:
    site = a_site()
    await leads_of(database, site, a_business(site))
    await suppressed(database, "bakery.example")
    [lead] = await all_leads(database)

    assert (lead.phone, lead.best_email) == (None, None)


@pytest.mark.parametrize("with_site", [True, False])
async def test_an_erased_number_is_gone_from_business_and_lead(
    database: Database, with_site: bool
) -> None:
    site = a_site()
    business = a_business(site if with_site else None)
    await leads_of(database, *([site] if with_site else []), business)
    async with database.transaction() as session:
        await erase(session, ACTOR, SuppressionKind.PHONE, "+493411234567")
    [lead] = await all_leads(database)
    async with database.reading() as session:
        known = await session.get_one(LocalBusiness, business.id)

    assert (lead.phone, lead.phone_from, lead.other_phones) == (None, None, [])
    assert "1234567" not in (known.phone or "")


@pytest.mark.parametrize(("businesses", "more"), [(0, 1), (1, 2), (30, 2)])
async def test_leads_are_made_with_the_same_few_statements_however_many_businesses(
    database: Database, businesses: int, more: int
) -> None:
    """Eight without asking for businesses: they are made anew with every page that is stored."""
    site = a_site()
    await leads_of(database, site, *(a_business(site) for _ in range(businesses)))
    sent: list[str] = []

    def note(*args: Any) -> None:
        sent.append(args[2])

    event.listen(database.engine.sync_engine, "before_cursor_execute", note)
    async with database.transaction() as session:
        await refresh_leads(session, [site.id])
    about = [each for each in sent if "local_businesses" in each or "unnest" in each]

    assert len(about) == more
