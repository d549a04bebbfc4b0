"""Business pages as rendered by the server: the table, the details, and links to contacts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import httpx
import pytest

from scrapersky.db.session import Database
from scrapersky.models import LocalBusiness, Role
from tests.app import serving
from tests.auth.accounts import add_key, add_tenant, asking, signed_in_settings
from tests.conftest import make_settings
from tests.contacts.rows import store
from tests.dashboard.business_rows import (
    a_business,
    a_place,
    a_search,
    bakery_and_double,
    found_by,
    hostile_businesses,
    told_by,
)
from tests.dashboard.table_pages import MOST_BYTES, MOST_QUERIES, counting


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


async def shown(client: httpx.AsyncClient, path: str) -> str:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return " ".join(answer.text.split())


async def test_without_businesses_the_table_says_where_they_come_from(
    client: httpx.AsyncClient,
) -> None:
    page = await shown(client, "/local-businesses")

    assert "No businesses yet" in page
    assert "Search for businesses" in page


async def test_the_table_shows_who_told_us_what_the_website_is_and_how_far_it_has_come(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await bakery_and_double(database)
    async with database.transaction() as session:
        url = "https://facebook.com/berger"
        social = a_business("Berger", website_url=url, website_kind="profile")
        session.add(social)
    page = await shown(client, "/local-businesses")
    told = await shown(client, "/local-businesses?provider=google")

    assert "3 businesses" in page
    assert 'Google</bdi></span><br><span class="whole"><bdi>OpenStreetMap' in page
    assert f'<a href="/domains/{known.domain}"><bdi>berger-leipzig.de' in page
    assert '<span class="badge plain">profile</span>' in page
    assert "1 business" in told
    assert "Berger Backwaren" not in told


async def test_a_business_tells_each_fact_with_its_source_and_the_whole_chain(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await bakery_and_double(database)
    page = await shown(client, f"/local-businesses/{known.business}")

    for said in (
        '<bdi>+493414801234</bdi> <span class="soft">from <bdi>Google</bdi></span>',
        '<bdi>info@berger-leipzig.de</bdi> <span class="soft">from <bdi>OpenStreetMap</bdi>',
        "Matched by phone number.",
        "own site",
        "Monday: 06:00-18:00",
        "Find domain",
        "Read pages",
        f'href="/searches/{known.search}"',
        f'href="/places/{known.osm_place}"',
        f'href="/leads/{known.lead}"',
        f'href="/contacts/{known.contact}"',
        f'href="/merge-review?id={known.candidate}"',
        f"POST /local-businesses/{known.business}/sightings/{known.sighting}/split",
        f"POST /places/{known.place}/refresh",
        "OpenStreetMap contributors",
    ):
        assert said in page, said


async def test_a_search_that_found_two_of_its_places_is_told_once(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await bakery_and_double(database)
    page = await shown(client, f"/local-businesses/{known.business}")

    assert page.count(f'href="/searches/{known.search}"') == 1


async def test_a_contact_can_be_walked_back_to_the_search(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await bakery_and_double(database)
    contact = await shown(client, f"/contacts/{known.contact}")
    lineage = contact[contact.index('<ol class="lineage">') : contact.index("</ol>")]
    steps = (
        "/pages/",
        "/sitemap-files/",
        f"/domains/{known.domain}",
        f"/local-businesses/{known.business}",
        f"/places/{known.place}",
        f"/searches/{known.search}",
    )
    places = [lineage.index(f'href="{each}') for each in steps]

    assert places == sorted(places)


@pytest.mark.parametrize("kind", ["lead", "domain"])
async def test_a_lead_and_a_domain_name_their_business_and_the_search(
    client: httpx.AsyncClient, database: Database, kind: str
) -> None:
    known = await bakery_and_double(database)
    page = await shown(client, f"/{kind}s/{getattr(known, kind)}")

    assert f'href="/local-businesses/{known.business}"' in page
    assert f'href="/searches/{known.search}"' in page
    assert "4.6" in page


async def test_a_business_without_anything_has_a_page(
    client: httpx.AsyncClient, database: Database
) -> None:
    bare = a_business(None)
    async with database.transaction() as session:
        session.add(bare)
    page = await shown(client, f"/local-businesses/{bare.id}")

    assert "Unnamed business" in page
    assert "Split off" not in page


async def test_what_hostile_providers_say_is_shown_inert(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await hostile_businesses(database)
    paths = (
        "/local-businesses",
        f"/local-businesses/{known.business}",
        f"/leads/{known.lead}",
        f"/domains/{known.domain}",
        f"/contacts/{known.contact}",
    )
    for path in paths:
        page = await shown(client, path)
        assert "<script>alert" not in page
        assert "<img" not in page
        assert 'href="javascript' not in page
        assert len(page) < MOST_BYTES


async def test_a_viewer_is_offered_nothing_to_change_and_strangers_see_nothing(
    url: str, database: Database
) -> None:
    known = await bakery_and_double(database)
    path = f"/local-businesses/{known.business}"
    _, viewer = await add_key(database, role=Role.VIEWER)
    _, stranger = await add_key(database, await add_tenant(database, "other"))
    async with asking(signed_in_settings(url), viewer) as client:
        page = await shown(client, path)
    async with asking(signed_in_settings(url), stranger) as client:
        missing = await client.get(path)
        none = await shown(client, "/local-businesses")

    assert "data-decide" not in page
    assert "data-act" not in page
    assert missing.status_code == 404
    assert "Backhaus Berger" not in none


async def test_full_pages_are_light_and_ask_little(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await bakery_and_double(database)
    async with database.transaction() as session:
        business = await session.get_one(LocalBusiness, known.business)
        places = [a_place(f"Bakery {n} with a rather long name", "osm") for n in range(40)]
        search = a_search(subject="another")
        await store(session, search, *places)
        await store(session, *(told_by(each, business, why="Alike. " * 30) for each in places))
        await store(session, *(found_by(search, each) for each in places))
        session.add_all(a_business(f"Bakery {n}", address="Street 1, Town") for n in range(200))
    ours: Database = client.app.state.context.database  # type: ignore[attr-defined]
    paths = ("/local-businesses", f"/local-businesses/{known.business}", f"/leads/{known.lead}")
    for path in (*paths, f"/contacts/{known.contact}", f"/domains/{known.domain}"):
        with counting(ours) as said:
            answer = await client.get(path)
        assert len(answer.content) < MOST_BYTES, path
        assert len(said) <= MOST_QUERIES, (path, said)


async def test_a_business_that_is_not_there_is_told_on_a_page(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"/local-businesses/{uuid4()}")

    assert answer.status_code == 404
    assert "There is no" in answer.text


async def test_lists_of_businesses_can_be_handed_in(client: httpx.AsyncClient) -> None:
    page = await shown(client, "/import?kind=places")

    assert 'value="places" data-example="name,website,phone,city' in page
    assert 'placeholder="name,website' in page
