"""Place pages as rendered by the server: the table, and the details."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import httpx
import pytest

from scrapersky.db.session import Database
from scrapersky.models import Role
from tests.app import serving
from tests.auth.accounts import add_key, add_tenant, asking, signed_in_settings
from tests.conftest import make_settings
from tests.dashboard.business_rows import a_place, bakery_and_double, hostile_businesses
from tests.dashboard.table_pages import MOST_BYTES, MOST_QUERIES, counting


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


async def shown(client: httpx.AsyncClient, path: str) -> str:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return " ".join(answer.text.split())


async def test_without_places_the_table_says_where_they_come_from(
    client: httpx.AsyncClient,
) -> None:
    assert "Search for places" in await shown(client, "/places")


async def test_the_table_shows_who_told_us_and_how_far_each_has_come(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await bakery_and_double(database)
    page = await shown(client, "/places")
    of_osm = await shown(client, "/places?provider=osm")

    for said in ("Backhaus Berger", "4.6", "(213)", "OpenStreetMap", "Completed"):
        assert said in page
    assert f'href="/local-businesses/{known.business}"' in page
    assert "© OpenStreetMap contributors" in page
    assert "2 places" in of_osm
    assert "Backhaus Berger" not in of_osm


async def test_a_place_tells_what_its_provider_says_who_found_it_and_which_business_it_is(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await bakery_and_double(database)
    page = await shown(client, f"/places/{known.place}")

    for said in (
        "Details from Google",
        "Karl-Heine-Straße 12",
        "+493414801234",
        "Monday: 06:00-18:00",
        "bakery in Leipzig",
        "ChIJ1",
        f'href="/searches/{known.search}"',
        f'href="/local-businesses/{known.business}"',
        f'href="/domains/{known.domain}"',
        "No similar business existed.",
        f"POST /places/{known.place}/refresh",
    ):
        assert said in page
    assert "OpenStreetMap contributors" not in page


async def test_a_place_of_openstreetmap_names_its_makers_and_is_not_asked_for_alone(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await bakery_and_double(database)
    page = await shown(client, f"/places/{known.osm_place}")

    assert "OpenStreetMap contributors" in page
    assert "https://www.openstreetmap.org/copyright" in page
    assert "/refresh" not in page
    assert "empty → <bdi>+493414801234" in page
    assert "Matched by phone number. " in page


async def test_what_a_hostile_provider_says_is_shown_inert(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await hostile_businesses(database)
    for path in ("/places", f"/places/{known.place}"):
        page = await shown(client, path)
        assert "<script>alert" not in page
        assert "<img" not in page
        assert 'href="javascript' not in page
        assert len(page) < MOST_BYTES


async def test_a_viewer_is_offered_nothing_to_change_and_strangers_see_nothing(
    url: str, database: Database
) -> None:
    known = await bakery_and_double(database)
    path = f"/places/{known.place}"
    _, viewer = await add_key(database, role=Role.VIEWER)
    _, stranger = await add_key(database, await add_tenant(database, "other"))
    async with asking(signed_in_settings(url), viewer) as client:
        page = await shown(client, path)
    async with asking(signed_in_settings(url), stranger) as client:
        missing = await client.get(path)
        none = await shown(client, "/places")

    assert "data-decide" not in page
    assert "data-act" not in page
    assert missing.status_code == 404
    assert "Backhaus Berger" not in none


async def test_full_pages_are_light_and_ask_little(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await bakery_and_double(database)
    async with database.transaction() as session:
        session.add_all(
            a_place(f"Bakery {n} with a rather long name", formatted_address="Street 1, Town")
            for n in range(200)
        )
    ours: Database = client.app.state.context.database  # type: ignore[attr-defined]
    for path in ("/places", f"/places/{known.place}"):
        with counting(ours) as said:
            answer = await client.get(path)
        assert len(answer.content) < MOST_BYTES, path
        assert len(said) <= MOST_QUERIES, said


async def test_a_place_that_is_not_there_is_told_on_a_page(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"/places/{uuid4()}")

    assert answer.status_code == 404
    assert "There is no place" in answer.text
