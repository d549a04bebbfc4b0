"""The lineage of every contact and lead leads back to its search."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import event, select

from scrapersky.cli.contact import print_contact
from scrapersky.contacts import service
from scrapersky.contacts.schemas import ContactDetail
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.leads.build import refresh_business_leads
from scrapersky.models import (
    BusinessSighting,
    Contact,
    Domain,
    Job,
    Lead,
    LocalBusiness,
    Page,
    Place,
    SearchPlace,
    SitemapFile,
)
from tests.auth.accounts import add_key, add_tenant, asking, signed_in_settings
from tests.contacts.rows import a_contact, a_domain, a_file, a_page, a_sighting, store
from tests.stage_cases import OWNED

API = "/api/v3"
TENANT = {"tenant_id": OWNED["tenant_id"]}


def a_search(what: str, day: int = 1) -> Job:
    params = {"business_type": what, "location": "Leipzig", "provider": "google"}
    asked = {"subject": f"{what} in Leipzig", "created_at": datetime(2026, 6, day, tzinfo=UTC)}
    return Job(id=uuid7(), job_type="place_search", params=params, **asked, **OWNED)


def a_place(provider: str) -> Place:
    return Place(id=uuid7(), provider=provider, place_id=uuid7().hex, name="Backhaus", **OWNED)


def found(search: Job, place: Place) -> SearchPlace:
    return SearchPlace(search_id=search.id, place_id=place.id, position=1, sighted="new", **TENANT)


def a_business(domain: Domain | None = None, **more: Any) -> LocalBusiness:
    known = {"business_name": "Backhaus Berger", "website_kind": "own", **OWNED, **more}
    return LocalBusiness(id=uuid7(), domain_id=domain.id if domain else None, **known)


def told(business: LocalBusiness, place: Place) -> BusinessSighting:
    return BusinessSighting(
        id=uuid7(),
        business_id=business.id,
        provider=place.provider,
        source_key=place.place_id,
        place_id=place.id,
        matched_by="phone",
        why="Both have the same number.",
        **TENANT,
    )


@dataclass
class Chain:
    """Two searches found two places of one business; a branch of it was found by the second."""

    searches: list[Job]
    places: list[Place]
    businesses: list[LocalBusiness]
    domain: Domain
    file: SitemapFile
    page: Page
    contact: Contact


@pytest.fixture
async def chain(database: Database) -> Chain:
    searches = [a_search("bakeries"), a_search("cafes", day=2)]
    places = [a_place("google"), a_place("osm"), a_place("google")]
    domain = a_domain()
    file = a_file(domain)
    page = a_page(domain, "/kontakt", sitemap_file_id=file.id, page_type="contact")
    contact = a_contact(domain, "info@backhaus-berger.de", page)
    businesses = [a_business(domain, reviews_count=9), a_business(domain, reviews_count=2)]
    links = [
        found(searches[0], places[0]),
        found(searches[1], places[0]),
        found(searches[1], places[1]),
        found(searches[1], places[2]),
        told(businesses[0], places[0]),
        told(businesses[0], places[1]),
        told(businesses[1], places[2]),
    ]
    seen = [a_sighting(contact, page), a_sighting(contact, page, method="json_ld", confidence=0.5)]
    async with database.transaction() as session:
        rows = (*searches, *places, domain, file, page, contact, *seen, *businesses, *links)
        await store(session, *rows)
        await refresh_business_leads(session, [each.id for each in businesses])
    return Chain(searches, places, businesses, domain, file, page, contact)


async def lead_of(database: Database) -> Lead:
    async with database.reading() as session:
        (lead,) = await session.scalars(select(Lead))
        return lead


def ids(steps: list[dict[str, Any]]) -> list[str]:
    return [each["id"] for each in steps]


async def test_a_contact_leads_back_to_the_searches(
    client: httpx.AsyncClient, chain: Chain
) -> None:
    answer = await client.get(f"{API}/contacts/{chain.contact.id}/lineage")
    body = answer.json()

    assert answer.status_code == 200, answer.text
    assert body["contact"]["value"] == "info@backhaus-berger.de"
    [page] = body["pages"]
    assert (page["id"], page["methods"]) == (str(chain.page.id), ["mailto", "json_ld"])
    assert page["sitemap_file_id"] == body["sitemap_files"][0]["id"] == str(chain.file.id)
    assert (body["domain"]["id"], body["domain"]["domain"]) == (
        str(chain.domain.id),
        "backhaus-berger.de",
    )
    assert ids(body["businesses"]) == [str(each.id) for each in chain.businesses]
    assert [len(each["sightings"]) for each in body["businesses"]] == [2, 1]
    assert body["businesses"][0]["sightings"][0]["matched_by"] == "phone"
    assert set(ids(body["places"])) == {str(each.id) for each in chain.places}
    assert ids(body["searches"]) == [str(each.id) for each in chain.searches]
    bakeries, cafes = body["searches"]
    assert bakeries["query"]["business_type"] == "bakeries"
    assert bakeries["subject"] == "bakeries in Leipzig"
    assert bakeries["places"] == [str(chain.places[0].id)]
    assert set(cafes["places"]) == {str(each.id) for each in chain.places}


async def test_a_lead_leads_back_to_the_searches(
    client: httpx.AsyncClient, chain: Chain, database: Database
) -> None:
    lead = await lead_of(database)
    body = (await client.get(f"{API}/leads/{lead.id}/lineage")).json()

    assert (body["lead"]["id"], body["lead"]["name"]) == (str(lead.id), "Backhaus Berger")
    assert body["domain"]["id"] == str(chain.domain.id)
    assert ids(body["businesses"]) == [str(each.id) for each in chain.businesses]
    assert ids(body["searches"]) == [str(each.id) for each in chain.searches]


async def test_a_lead_without_a_site_leads_back_too(
    client: httpx.AsyncClient, database: Database
) -> None:
    search, place = a_search("plumbers"), a_place("google")
    business = a_business(website_kind="none")
    async with database.transaction() as session:
        links = (found(search, place), told(business, place))
        await store(session, search, place, business, *links)
        await refresh_business_leads(session, [business.id])
    lead = await lead_of(database)
    body = (await client.get(f"{API}/leads/{lead.id}/lineage")).json()

    assert body["domain"] is None
    assert (ids(body["businesses"]), ids(body["searches"])) == (
        [str(business.id)],
        [str(search.id)],
    )


async def test_what_somebody_handed_in_comes_from_nobody(
    client: httpx.AsyncClient, database: Database
) -> None:
    domain = a_domain()
    contact = a_contact(domain, "info@backhaus-berger.de", method="manual")
    async with database.transaction() as session:
        await store(session, domain, contact)
    body = (await client.get(f"{API}/contacts/{contact.id}/lineage")).json()

    assert body["domain"]["id"] == str(domain.id)
    empty = ("pages", "sitemap_files", "businesses", "places", "searches")
    assert all(body[name] == [] for name in empty)


async def test_every_link_that_leads_to_something_of_ours_is_answered(
    client: httpx.AsyncClient, chain: Chain, database: Database
) -> None:
    body = (await client.get(f"{API}/contacts/{chain.contact.id}/lineage")).json()
    steps = [body["contact"], body["domain"], *body["pages"], *body["sitemap_files"]]
    links = [each["link"] for each in (*steps, *body["businesses"], *body["places"])]
    links += [each["link"] for each in body["searches"]]
    answers = [(each, (await client.get(each)).status_code) for each in links]

    assert [each for each in answers if each[1] != 200] == []


async def test_it_takes_few_statements_however_long_the_chain_is(
    chain: Chain, database: Database
) -> None:
    sent: list[str] = []
    engine = database.engine.sync_engine
    async with database.reading() as session:
        contact = await session.get_one(Contact, chain.contact.id)
        event.listen(engine, "before_cursor_execute", lambda *given: sent.append(given[2]))
        walked = await service.get_lineage(session, contact)

    assert len(walked.searches) == 2
    assert len(sent) == 5


async def test_the_contact_itself_names_the_first_of_each(
    client: httpx.AsyncClient, chain: Chain, capsys: pytest.CaptureFixture[str]
) -> None:
    body = (await client.get(f"{API}/contacts/{chain.contact.id}")).json()
    lineage = body["lineage"]
    print_contact(ContactDetail.model_validate(body))
    shown = " ".join(capsys.readouterr().out.split())

    assert (lineage["business_id"], lineage["business_name"]) == (
        str(chain.businesses[0].id),
        "Backhaus Berger",
    )
    assert (lineage["search_id"], lineage["search"]) == (
        str(chain.searches[0].id),
        "bakeries in Leipzig",
    )
    assert lineage["place_id"] == str(chain.places[0].id)
    assert "← backhaus-berger.de ← Backhaus Berger ← search bakeries in Leipzig" in shown


async def test_leads_are_found_by_their_search_also_through_a_branch(
    client: httpx.AsyncClient, chain: Chain, database: Database
) -> None:
    lead = await lead_of(database)
    listed = {
        name: ids(
            (await client.get(f"{API}/leads", params={"search_id": str(wanted)})).json()["items"]
        )
        for name, wanted in (
            ("first", chain.searches[0].id),
            ("second", chain.searches[1].id),
            ("other", uuid4()),
        )
    }

    assert listed == {"first": [str(lead.id)], "second": [str(lead.id)], "other": []}


@pytest.fixture
async def stranger(url: str, database: Database) -> AsyncIterator[httpx.AsyncClient]:
    _, key = await add_key(database, await add_tenant(database, "others"))
    async with asking(signed_in_settings(url), key) as made:
        yield made


async def test_nobody_else_sees_where_it_comes_from(
    stranger: httpx.AsyncClient, chain: Chain, database: Database
) -> None:
    lead = await lead_of(database)
    paths = (f"/contacts/{chain.contact.id}/lineage", f"/leads/{lead.id}/lineage")
    answers = [await stranger.get(f"{API}{path}") for path in paths]
    listed = await stranger.get(f"{API}/leads", params={"search_id": str(chain.searches[0].id)})

    assert [each.status_code for each in answers] == [404, 404]
    assert listed.json()["items"] == []
