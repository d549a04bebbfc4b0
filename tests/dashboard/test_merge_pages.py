"""Merge review as rendered by the server: the order of pairs, and the comparison of facts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from scrapersky.dashboard.views.merge_review import (
    ComparisonLine,
    build_comparison,
    format_distance,
    suggest_survivor,
)
from scrapersky.db.session import Database
from scrapersky.models import Role
from tests.app import serving
from tests.auth.accounts import add_key, add_tenant, asking, signed_in_settings
from tests.conftest import make_settings
from tests.contacts.rows import store
from tests.dashboard.business_rows import (
    a_business,
    bakery_and_double,
    hostile_businesses,
    may_be_one,
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


async def pairs(database: Database, scores: list[float], **more: Any) -> list[UUID]:
    """Questions with these scores, each about two businesses of its own."""
    made = []
    async with database.transaction() as session:
        for score in scores:
            both = (a_business(f"Left {score}"), a_business(f"Right {score}"))
            await store(session, *both)
            made.append(may_be_one(*both, score=score, **more))
        await store(session, *made)
    return [each.id for each in made]


async def test_with_nothing_to_decide_the_page_says_so(client: httpx.AsyncClient) -> None:
    assert "No pairs to review" in await shown(client, "/merge-review")
    assert "No pairs yet" in await shown(client, "/merge-candidates")


async def test_a_pair_is_compared_fact_by_fact_in_words(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await bakery_and_double(database)
    page = await shown(client, f"/merge-review?id={known.candidate}")

    for said in (
        "1 of 1",
        "72 %",
        "The names are alike.",
        "m apart",
        "≠</span> differs",
        "·</span> only one",
        f'data-only="{""}" data-sightings="2"',
        f'href="/local-businesses/{known.double}"',
        'data-key="m"',
        'data-key="a"',
        "OpenStreetMap contributors",
    ):
        assert said in page, said


async def test_pairs_come_in_order_with_their_neighbours(
    client: httpx.AsyncClient, database: Database
) -> None:
    low, high, middle = await pairs(database, [0.5, 0.9, 0.7])
    await pairs(database, [0.95], state="apart")
    first = await shown(client, "/merge-review")
    second = await shown(client, f"/merge-review?id={middle}")
    last = await shown(client, f"/merge-review?id={low}")

    assert f'data-pair="{high}"' in first
    assert "1 of 3" in first
    assert f'data-next href="/merge-review?id={middle}"' in first
    assert "data-before" not in first
    assert "2 of 3" in second
    assert f'data-before href="/merge-review?id={high}"' in second
    assert f'data-next href="/merge-review?id={low}"' in second
    assert "3 of 3" in last
    assert "data-next" not in last


async def test_a_pair_that_waits_no_more_leads_to_the_likeliest(
    client: httpx.AsyncClient, database: Database
) -> None:
    (waiting,) = await pairs(database, [0.6])
    page = await shown(client, f"/merge-review?id={uuid4()}")

    assert "That pair was already decided" in page
    assert f'data-pair="{waiting}"' in page


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        ("Backhaus  Berger", "backhaus berger", "same"),
        ("Backhaus Berger", "Berger", "differs"),
        ("Backhaus Berger", None, "only one"),
    ],
)
def test_facts_are_the_same_whatever_their_case(left: str, right: str | None, verdict: str) -> None:
    assert ComparisonLine("Name", left, right).verdict == verdict


def test_what_nobody_knows_is_left_out_and_distances_are_told_in_words() -> None:
    here = a_business("A", latitude=51.0, longitude=12.0, categories=[], emails=[])
    there = a_business("A", latitude=51.0, longitude=12.01, categories=[], emails=[])
    nowhere = a_business("A", categories=[], emails=[])
    far = a_business("A", latitude=52.0, longitude=12.0, categories=[], emails=[])

    assert [each.label for each in build_comparison(here, there)] == ["Name"]
    assert format_distance(here, there) == "700 m"
    assert format_distance(here, far) == "111.2 km"
    assert format_distance(here, nowhere) == ""


def test_the_one_that_was_decided_about_is_kept() -> None:
    new, chosen = a_business("A", status="New"), a_business("B", status="Selected")

    assert suggest_survivor(new, chosen) == "right"
    assert suggest_survivor(chosen, new) == "left"
    assert suggest_survivor(new, new) == "left"


async def test_the_list_of_pairs_leads_to_the_comparison(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await bakery_and_double(database)
    await pairs(database, [0.4], state="apart")
    waiting = await shown(client, "/merge-candidates")
    decided = await shown(client, "/merge-candidates?state=apart")

    assert f'href="/merge-review?id={known.candidate}"' in waiting
    assert "Berger Backwaren" in waiting
    assert "Left 0.4" not in waiting
    assert "Left 0.4" in decided


async def test_who_may_decide_can_have_a_pair_asked_again_from_the_list(
    url: str, database: Database
) -> None:
    (apart,) = await pairs(database, [0.4], state="apart")
    await pairs(database, [0.6])
    _, viewer = await add_key(database, role=Role.VIEWER)
    _, curator = await add_key(database, role=Role.CURATOR)
    offer = f'data-path="/merge-candidates/{apart}/reopen"'
    settings = signed_in_settings(url)
    async with asking(settings, curator) as client:
        offered = await shown(client, "/merge-candidates?state=apart")
        waiting = await shown(client, "/merge-candidates")
    async with asking(settings, viewer) as client:
        only_shown = await shown(client, "/merge-candidates?state=apart")

    assert offer in offered
    assert "Left 0.4" in only_shown
    assert "/reopen" not in waiting + only_shown


async def test_hostile_businesses_are_compared_inert(
    client: httpx.AsyncClient, database: Database
) -> None:
    await hostile_businesses(database)
    for path in ("/merge-review", "/merge-candidates"):
        page = await shown(client, path)
        assert "<script>alert" not in page
        assert "<img" not in page
        assert 'href="javascript' not in page
        assert len(page) < MOST_BYTES


async def test_a_viewer_decides_nothing_and_strangers_see_nothing(
    url: str, database: Database
) -> None:
    await bakery_and_double(database)
    _, viewer = await add_key(database, role=Role.VIEWER)
    _, stranger = await add_key(database, await add_tenant(database, "other"))
    async with asking(signed_in_settings(url), viewer) as client:
        page = await shown(client, "/merge-review")
    async with asking(signed_in_settings(url), stranger) as client:
        none = await shown(client, "/merge-review")

    assert "Backhaus Berger" in page
    assert "data-merge" not in page
    assert "No pairs to review" in none


async def test_the_review_asks_little(client: httpx.AsyncClient, database: Database) -> None:
    await pairs(database, [n / 100 for n in range(60)])
    ours: Database = client.app.state.context.database  # type: ignore[attr-defined]
    for path in ("/merge-review", "/merge-candidates"):
        with counting(ours) as said:
            answer = await client.get(path)
        assert len(answer.content) < MOST_BYTES, path
        assert len(said) <= MOST_QUERIES, said
