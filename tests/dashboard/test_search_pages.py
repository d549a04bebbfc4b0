"""Search pages as rendered by the server: their content by role, and their number of queries."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import httpx
import pytest
from sqlalchemy import update

from scrapersky.db.session import Database
from scrapersky.models import Job, Role, SavedSearch
from scrapersky.places.budget.charges import BUDGET_EXHAUSTED
from tests.app import serving
from tests.auth.accounts import SYSTEM, add_key, add_tenant, asking, signed_in_settings
from tests.conftest import make_settings
from tests.contacts.rows import store
from tests.dashboard.search_rows import (
    LEIPZIG,
    PARAMS,
    SUBJECT,
    a_place,
    a_search,
    a_search_under_way,
    a_tile,
    found_by,
)
from tests.dashboard.table_pages import MOST_BYTES, MOST_QUERIES, counting
from tests.dashboard.table_rows import HOSTILE
from tests.stage_cases import OWNED


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


async def shown(client: httpx.AsyncClient, path: str) -> str:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return " ".join(answer.text.split())


async def change(database: Database, search_id: UUID, **values: object) -> None:
    async with database.transaction() as session:
        await session.execute(update(Job).where(Job.id == search_id).values(**values))


async def test_a_search_shows_how_it_is_doing_and_what_it_cost(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await a_search_under_way(database)
    page = await shown(client, f"/searches/{known.search}")

    for said in (
        "<h1><bdi>bakeries in Leipzig</bdi></h1>",
        "Fetching places",
        "42 %",
        "<dt>Places found</dt><dd>6</dd>",
        "<dt>Match filters</dt><dd>5</dd>",
        "<dt>Businesses</dt><dd>1</dd>",
        "<dt>Cost so far</dt><dd>0.035 USD</dd>",
        "2 requests</a>, 1 within the free quota",
        "<dt>Website</dt><dd><bdi>required</bdi></dd>",
        f'data-live="/live/search?subject={known.search}"',
        f'data-act="POST /jobs/{known.search}/cancel"',
    ):
        assert said in page


async def test_each_place_leads_on_to_what_became_of_it(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await a_search_under_way(database)
    page = await shown(client, f"/searches/{known.search}")

    for path in (
        f"/places/{known.place}",
        f"/local-businesses/{known.business}",
        f"/domains/{known.domain}",
        f"/leads/{known.lead}",
        f"/places?search_id={known.search}",
        f"/places?search_id={known.search}&amp;fits=true",
    ):
        assert f'href="{path}"' in page
    assert "info@backhaus-berger.example" in page


async def test_what_was_covered_is_a_picture_a_table_and_a_sentence(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await a_search_under_way(database)
    page = await shown(client, f"/searches/{known.search}")
    drawing = page[page.index('<svg class="map"') : page.index("</svg>", page.index("<svg class"))]

    for state in ("done", "saturated", "waiting", "not_asked"):
        assert drawing.count(f'<path class="tile {state}"') == 1
    assert drawing.count('class="dot"') == 1
    assert drawing.count("h0") == 6
    assert "The area is partly covered: 1 part still pending;" in page
    assert "50 % of 676 km² searched." in page
    assert "partly searched" in page
    assert "More than 60 places within 50 metres." in page
    assert "OpenStreetMap contributors" in page


async def test_a_search_that_waits_for_money_says_so_and_where_to_give_it(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await a_search_under_way(database)
    await change(database, known.search, status="pending", error=f"{BUDGET_EXHAUSTED}: 5 of 5.")
    page = await shown(client, f"/searches/{known.search}")

    assert "budget is used up: 5 of 5." in page
    assert "Retries automatically" in page
    assert '<a href="/budget">View budget</a>' in page


async def test_a_search_costs_few_queries_and_little_weight(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await a_search_under_way(database, places=300)
    with counting(client.app.state.context.database) as said:  # type: ignore[attr-defined]
        page = await shown(client, f"/searches/{known.search}")

    assert 1 <= len(said) <= MOST_QUERIES, said
    assert len(page) < MOST_BYTES
    assert page.count("h0") >= 300


async def test_what_providers_say_is_shown_inert(
    client: httpx.AsyncClient, database: Database
) -> None:
    search = a_search("complete", params={**PARAMS, "business_type": HOSTILE, "provider": "osm"})
    place = a_place(HOSTILE, formatted_address=HOSTILE, provider="osm")
    tile = a_tile(search, "", LEIPZIG, state="done", note=HOSTILE)
    async with database.transaction() as session:
        await store(session, search, place, tile, found_by(search, place, 1))
    for path in (f"/searches/{search.id}", "/searches", f"/searches/new?from={search.id}"):
        page = await shown(client, path)
        assert "<script>document" not in page
        assert "<img" not in page


async def test_a_repeated_search_says_what_changed_since_and_when_it_runs_again(
    client: httpx.AsyncClient, database: Database
) -> None:
    now = datetime.now(UTC)
    before = a_search("complete", created_at=now - timedelta(days=30))
    search = a_search("complete", result_data={"covered": True})
    gone, kept, new = a_place("Gone bakery"), a_place("Kept bakery"), a_place("New bakery")
    saved = SavedSearch(subject=SUBJECT, params=PARAMS, repeat_days=30, next_run_at=now, **OWNED)
    changes = {"phone": [None, "+49341123"]}
    async with database.transaction() as session:
        await store(session, before, search, gone, kept, new, saved)
        await store(
            session, found_by(before, gone, 1), found_by(before, kept, 2), found_by(search, new, 1),
            found_by(search, kept, 2, sighted="changed", changes=changes),
        )  # fmt: skip
    page = await shown(client, f"/searches/{search.id}")
    changed = page[page.index('id="search-changes"') : page.index('id="search-coverage"')]

    assert f'href="/searches/{before.id}"' in changed
    for name, kind in (("New", "new"), ("Kept", "changed"), ("Gone", "removed")):
        row = changed[changed.index(f"{name} bakery") :]
        assert f">{kind}</span>" in row[: row.index("</tr>")]
    assert "phone: <bdi>nothing</bdi> → <bdi>+49341123</bdi>" in changed
    assert "repeats every 30 days, next" in page
    assert f'data-act="DELETE /places/search/{search.id}/repeat"' in page


async def test_a_search_without_hits_says_what_to_do(
    client: httpx.AsyncClient, database: Database
) -> None:
    search = a_search("complete")
    async with database.transaction() as session:
        await store(session, search)
    page = await shown(client, f"/searches/{search.id}")

    assert f'No places found. <a href="/searches/new?from={search.id}">' in page
    assert "No area was searched." in page


async def test_the_page_of_a_job_that_is_a_search_is_the_page_of_the_search(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await a_search_under_way(database)
    scan = Job(job_type="sitemap", subject="bakery.example", **OWNED)
    async with database.transaction() as session:
        await store(session, scan)

    answer = await client.get(f"/jobs/{known.search}")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/searches/{known.search}")
    assert (await client.get(f"/searches/{scan.id}")).status_code == 404


async def test_the_form_offers_google_only_with_a_key_and_says_what_to_set(url: str) -> None:
    google = 'value="google" checked aria-describedby'
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        page = await shown(client, "/searches/new")
        assert 'value="google" disabled' in page
        assert "<code>GOOGLE_PLACES_API_KEY</code>" in page
        assert 'value="osm" checked' in page
    keyed = make_settings(url, scheduler_enabled=False, google_places_api_key="a-key")
    async with serving(keyed) as client:
        page = await shown(client, "/searches/new")
        assert google in page
        assert "a-key" not in page


async def test_a_search_like_another_begins_with_what_that_asked(
    client: httpx.AsyncClient, database: Database
) -> None:
    params = {
        **PARAMS, "location": None, "provider": "osm", "radius_km": 7.5,
        "center": {"latitude": 51.34, "longitude": 12.37}, "go_on": False,
        "filters": {"has_phone": False, "min_rating": 4},
    }  # fmt: skip
    search = a_search("complete", params=params)
    async with database.transaction() as session:
        await store(session, search)
    page = await shown(client, f"/searches/new?from={search.id}")

    for said in (
        'value="bakeries"',
        'value="around" checked',
        'value="51.34"',
        'value="12.37"',
        'value="7.5"',
        '<option value="false" selected>none</option>',
        'name="filters.min_rating" data-kind="number" inputmode="decimal" autocomplete="off" '
        'placeholder="0–5" value="4"',
    ):
        assert said in page
    assert 'name="go_on" data-kind="boolean">' in page


async def test_who_only_looks_is_offered_nothing_that_changes_a_search(
    url: str, database: Database
) -> None:
    known = await a_search_under_way(database)
    _, viewers = await add_key(database, SYSTEM, role=Role.VIEWER)
    async with asking(signed_in_settings(url), viewers) as client:
        page = await shown(client, f"/searches/{known.search}")
        assert [each for each in ("data-act", "data-open", "<dialog") if each in page] == []
        assert "/searches/new" not in page
        assert (await client.get("/searches/new")).status_code == 403


async def test_another_tenant_sees_nothing_of_a_search(url: str, database: Database) -> None:
    known = await a_search_under_way(database)
    _, theirs = await add_key(database, await add_tenant(database, "Others"))
    async with asking(signed_in_settings(url), theirs) as client:
        assert (await client.get(f"/searches/{known.search}")).status_code == 404
        assert (await client.get(f"/searches/new?from={known.search}")).status_code == 404
