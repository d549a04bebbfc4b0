"""Possible duplicates: a person decides, and no data is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import select

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import (
    BusinessSighting,
    Domain,
    Job,
    Lead,
    LocalBusiness,
    MergeCandidate,
    Place,
    Role,
    SearchPlace,
)
from tests.app import serving
from tests.auth.accounts import add_key, add_tenant, asking, signed_in_settings
from tests.businesses.rows import (
    again,
    business,
    businesses,
    change,
    csv,
    google,
    noted,
    osm,
    questions,
    sightings,
)
from tests.conftest import make_settings
from tests.stage_cases import OWNED

CANDIDATES, BUSINESSES = "/api/v3/merge-candidates", "/api/v3/local-businesses"


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


def hotel() -> Place:
    more: dict[str, Any] = {"name": "Hotel Adlerhorst", "types": ["hotel"]}
    return google("hotel", website_url="https://adlerhorst.de", **more)


def restaurant() -> Place:
    more: dict[str, Any] = {"name": "Restaurant Adlerhorst", "types": ["restaurant"]}
    return osm("node/1", phone="+493411234567", emails=["essen@adlerhorst.de"], **more)


@pytest.fixture
async def pair(database: Database) -> tuple[UUID, UUID]:
    """A hotel and a restaurant of one name behind one door, with one number."""
    first, second = await noted(database, hotel(), restaurant())
    return first, second


async def _question(database: Database) -> MergeCandidate:
    [question] = await questions(database)
    return question


async def test_the_review_shows_both_sides_and_why(
    client: httpx.AsyncClient, pair: tuple[UUID, UUID]
) -> None:
    [shown] = (await client.get(CANDIDATES)).json()["items"]
    same = (await client.get(f"{CANDIDATES}/{shown['id']}")).json()
    about = (await client.get(CANDIDATES, params={"business_id": str(pair[1])})).json()["items"]
    nobody = (await client.get(CANDIDATES, params={"business_id": str(uuid4())})).json()["items"]

    assert {shown["left"]["id"], shown["right"]["id"]} == {str(each) for each in pair}
    assert {tuple(shown[side]["told_by"]) for side in ("left", "right")} == {("google",), ("osm",)}
    assert "They are in different trades." in shown["reasons"]
    assert (shown["state"], same, about, nobody) == ("open", shown, [shown], [])


async def test_a_merge_moves_everything_to_the_one_that_is_kept(
    client: httpx.AsyncClient, database: Database, pair: tuple[UUID, UUID]
) -> None:
    question = await _question(database)
    search = Job(id=uuid7(), job_type="place_search", subject="restaurants", **OWNED)
    site = Domain(id=uuid7(), domain="adlerhorst.de", local_business_id=pair[1], **OWNED)
    async with database.transaction() as session:
        place = await session.scalar(select(Place.id).where(Place.provider == "osm"))
        session.add_all([search, site])
        await session.flush()
        found = {"place_id": place, "position": 1, "sighted": "new"}
        tenant = OWNED["tenant_id"]
        session.add(SearchPlace(search_id=search.id, tenant_id=tenant, **found))
    answer = await client.post(f"{CANDIDATES}/{question.id}/merge", json={"keep": "left"})
    kept, gone = question.left_id, question.right_id
    body = (await client.get(f"{BUSINESSES}/{kept}")).json()

    assert (answer.status_code, answer.json()["kept_id"]) == (200, str(kept))
    assert (await client.get(f"{BUSINESSES}/{gone}")).status_code == 404
    assert {each["provider"] for each in body["sightings"]} == {"google", "osm"}
    assert [each["search_id"] for each in body["searches"]] == [str(search.id)]
    assert (body["rating"], body["emails"]) == (4.5, ["essen@adlerhorst.de"])
    assert body["facts_from"]["emails"] == "osm"
    assert (await client.get(CANDIDATES, params={"state": ["open", "merged"]})).json()[
        "items"
    ] == []
    async with database.reading() as session:
        pointing = list(await session.scalars(select(Place.local_business_id)))
        assert (await session.get_one(Domain, site.id)).local_business_id == kept
    assert pointing == [kept, kept]


async def test_a_merge_is_noted_with_what_was_given_up(
    client: httpx.AsyncClient, database: Database, pair: tuple[UUID, UUID]
) -> None:
    question = await _question(database)
    await client.post(f"{CANDIDATES}/{question.id}/merge", json={})
    again_ = await client.post(f"{CANDIDATES}/{question.id}/merge", json={})
    noted_ = (await client.get("/api/v3/audit", params={"action": "merge_candidate.merge"})).json()
    [entry] = noted_["items"]

    assert again_.status_code == 404
    assert {entry["details"]["kept"], entry["details"]["given_up"]} == {str(each) for each in pair}
    assert len(entry["details"]["sightings"]) == 1


DECISIONS = [
    ("New", "Selected", "Selected"),
    ("Maybe", "Not a Fit", "Not a Fit"),
    ("Selected", "Archived", "Selected"),
    ("Archived", "New", "Archived"),
    ("New", "Maybe", "Maybe"),
]


@pytest.mark.parametrize(("kept", "given_up", "then"), DECISIONS)
async def test_the_more_decided_of_two_decisions_stays(
    client: httpx.AsyncClient,
    database: Database,
    pair: tuple[UUID, UUID],
    kept: str,
    given_up: str,
    then: str,
) -> None:
    question = await _question(database)
    await change(database, question.left_id, status=kept)
    await change(database, question.right_id, status=given_up)
    answer = await client.post(f"{CANDIDATES}/{question.id}/merge", json={"keep": "left"})

    assert answer.json()["business"]["status"] == then


async def test_unless_told_which_the_one_that_was_decided_about_is_kept(
    client: httpx.AsyncClient, database: Database, pair: tuple[UUID, UUID]
) -> None:
    question = await _question(database)
    await change(database, question.right_id, status="Selected")
    answer = await client.post(f"{CANDIDATES}/{question.id}/merge", json={})

    assert answer.json()["kept_id"] == str(question.right_id)


async def test_the_website_that_was_looked_at_is_not_looked_at_again(
    client: httpx.AsyncClient, database: Database, pair: tuple[UUID, UUID]
) -> None:
    site = Domain(id=uuid7(), domain="adlerhorst.de", **OWNED)
    async with database.transaction() as session:
        session.add(site)
    done = {"domain_extraction_status": "Completed", "website_kind": "own", "domain_id": site.id}
    await change(database, pair[0], **done)
    question = await _question(database)
    keep = "right" if question.left_id == pair[0] else "left"
    body = (await client.post(f"{CANDIDATES}/{question.id}/merge", json={"keep": keep})).json()
    found = body["business"]

    assert found["id"] == str(pair[1])
    assert (found["website_kind"], found["domain_id"]) == ("own", str(site.id))
    assert found["domain_extraction_status"] == "Completed"
    async with database.reading() as session:
        leads = list(await session.scalars(select(Lead)))
    assert [(each.domain_id, each.local_business_id) for each in leads] == [(site.id, pair[1])]


async def test_leads_of_two_without_a_site_become_one_with_its_decision(
    client: httpx.AsyncClient, database: Database, pair: tuple[UUID, UUID]
) -> None:
    async with database.transaction() as session:
        await session.execute(select(Lead).with_for_update())
        for each, status in zip(pair, ("New", "Selected"), strict=True):
            known = await session.scalar(select(Lead).where(Lead.local_business_id == each))
            lead = known or Lead(id=uuid7(), local_business_id=each, **OWNED)
            lead.lead_curation_status = status
            session.add(lead)
        for row in await session.scalars(select(LocalBusiness)):
            row.website_kind = "none"
    question = await _question(database)
    keep = "left" if question.left_id == pair[0] else "right"
    await client.post(f"{CANDIDATES}/{question.id}/merge", json={"keep": keep})
    async with database.reading() as session:
        [lead] = list(await session.scalars(select(Lead)))

    assert (lead.local_business_id, lead.lead_curation_status) == (pair[0], "Selected")


async def test_kept_apart_means_for_ever(
    client: httpx.AsyncClient, database: Database, pair: tuple[UUID, UUID]
) -> None:
    question = await _question(database)
    answer = await client.post(f"{CANDIDATES}/{question.id}/apart")
    twice = await client.post(f"{CANDIDATES}/{question.id}/apart")
    refused = await client.post(f"{CANDIDATES}/{question.id}/merge", json={})
    await noted(database, csv("row-8", name="Restaurant Adlerhorst", phone="+493411234567"))
    noted_ = (await client.get("/api/v3/audit", params={"action": "merge_candidate.apart"})).json()

    assert (answer.json()["state"], twice.json()) == ("apart", answer.json())
    assert refused.status_code == 409
    assert len(noted_["items"]) == 1
    assert (await client.get(CANDIDATES)).json()["items"] == []
    assert len(await businesses(database)) == 2


async def test_a_pair_that_was_kept_apart_is_asked_about_again_when_reopened(
    client: httpx.AsyncClient, database: Database, pair: tuple[UUID, UUID]
) -> None:
    question = await _question(database)
    where = f"{CANDIDATES}/{question.id}"
    apart = (await client.post(f"{where}/apart")).json()
    answer = await client.post(f"{where}/reopen")
    waiting = (await client.get(CANDIDATES)).json()["items"]
    noted_ = (await client.get("/api/v3/audit", params={"action": "merge_candidate.reopen"})).json()
    merged = await client.post(f"{where}/merge", json={})

    body = answer.json()
    assert (answer.status_code, body["state"]) == (200, "open")
    assert (body["decided_by"], body["decided_at"]) == (None, None)
    assert waiting == [body]
    [entry] = noted_["items"]
    assert entry["subject_id"] == str(question.id)
    assert {entry["details"]["left"], entry["details"]["right"]} == {str(each) for each in pair}
    assert entry["details"]["apart_by"] == apart["decided_by"]
    assert merged.status_code == 200


async def test_only_what_is_kept_apart_can_be_reopened(
    client: httpx.AsyncClient, database: Database, pair: tuple[UUID, UUID]
) -> None:
    question = await _question(database)
    where = f"{CANDIDATES}/{question.id}"
    still_open = await client.post(f"{where}/reopen")
    await client.post(f"{where}/apart")
    once, twice = [await client.post(f"{where}/reopen") for _ in range(2)]
    noted_ = (await client.get("/api/v3/audit", params={"action": "merge_candidate.reopen"})).json()
    unknown = await client.post(f"{CANDIDATES}/{uuid4()}/reopen")

    assert [each.status_code for each in (still_open, once, twice)] == [409, 200, 409]
    assert "not kept apart" in still_open.json()["detail"]
    assert len(noted_["items"]) == 1
    assert unknown.status_code == 404


async def test_a_pair_whose_business_is_gone_is_not_reopened(
    client: httpx.AsyncClient, database: Database, pair: tuple[UUID, UUID]
) -> None:
    """The pair went with the business, so there is nothing to ask about."""
    question = await _question(database)
    await client.post(f"{CANDIDATES}/{question.id}/apart")
    async with database.transaction() as session:
        await session.delete(await session.get_one(LocalBusiness, pair[1]))
    gone = await client.post(f"{CANDIDATES}/{question.id}/reopen")

    assert gone.status_code == 404
    assert "One of its businesses may have been merged" in gone.json()["detail"]


async def test_what_was_asked_about_the_one_given_up_is_asked_about_the_other(
    client: httpx.AsyncClient, database: Database, pair: tuple[UUID, UUID]
) -> None:
    third = [
        LocalBusiness(id=uuid7(), business_name=name, **OWNED) for name in ("Adlerhorst", "Adler")
    ]
    question = await _question(database)
    tenant = OWNED["tenant_id"]
    async with database.transaction() as session:
        session.add_all(third)
        await session.flush()
        for other, state in zip(third, ("open", "apart"), strict=True):
            left, right = sorted((question.right_id, other.id))
            session.add(
                MergeCandidate(
                    tenant_id=tenant, left_id=left, right_id=right, score=0.4, state=state
                )
            )
    await client.post(f"{CANDIDATES}/{question.id}/merge", json={"keep": "left"})
    asked = await questions(database)
    pairs = {frozenset((each.left_id, each.right_id)): each.state for each in asked}

    assert pairs == {
        frozenset((question.left_id, third[0].id)): "open",
        frozenset((question.left_id, third[1].id)): "apart",
    }
    assert all(each.left_id < each.right_id for each in asked)


async def test_a_sighting_that_was_split_off_stays_so(
    client: httpx.AsyncClient, database: Database
) -> None:
    told, place = google(), osm()
    first, second = await noted(database, told, place)
    seen = next(each for each in await sightings(database) if each.provider == "osm")
    answer = await client.post(f"{BUSINESSES}/{first}/sightings/{seen.id}/split")
    new = UUID(answer.json()["id"])
    stays = await again(database, place)
    await again(database, told)
    await noted(database, osm("way/9"))

    assert first == second
    assert (answer.status_code, new != first, stays) == (200, True, new)
    assert (await business(database, first)).facts_from["business_name"] == "google"
    assert (await business(database, new)).facts_from["business_name"] == "osm"
    asked = [(each.state, {each.left_id, each.right_id}) for each in await questions(database)]
    assert ("apart", {first, new}) in asked
    assert len(await businesses(database)) == 2


async def test_the_only_sighting_of_a_business_cannot_be_split_off(
    client: httpx.AsyncClient, database: Database
) -> None:
    [made] = await noted(database, google())
    [seen] = await sightings(database)

    refused = await client.post(f"{BUSINESSES}/{made}/sightings/{seen.id}/split")
    unknown = await client.post(f"{BUSINESSES}/{made}/sightings/{uuid4()}/split")

    assert (refused.status_code, unknown.status_code) == (409, 404)


async def test_a_merge_and_what_providers_say_meanwhile_do_not_block_each_other(
    client: httpx.AsyncClient, database: Database, pair: tuple[UUID, UUID]
) -> None:
    question = await _question(database)
    async with database.reading() as session:
        places = list(await session.scalars(select(Place)))
    told = [again(database, each, rating=3.0) for each in places for _ in range(3)]
    saying = asyncio.gather(*told)
    answer = await client.post(f"{CANDIDATES}/{question.id}/merge", json={})
    await saying
    [left] = await businesses(database)

    assert answer.status_code == 200, answer.text
    assert str(left.id) == answer.json()["kept_id"]
    assert {each.business_id for each in await sightings(database)} == {left.id}


async def test_nobody_decides_about_the_businesses_of_others(
    url: str, database: Database, pair: tuple[UUID, UUID]
) -> None:
    question = await _question(database)
    others = await add_tenant(database, "others")
    _, theirs = await add_key(database, others)
    _, viewer = await add_key(database, role=Role.VIEWER)
    async with database.reading() as session:
        seen = await session.scalar(select(BusinessSighting.id))
    paths = [
        f"{CANDIDATES}/{question.id}/merge",
        f"{CANDIDATES}/{question.id}/apart",
        f"{CANDIDATES}/{question.id}/reopen",
        f"{BUSINESSES}/{pair[0]}/sightings/{seen}/split",
    ]
    settings = signed_in_settings(url)
    async with asking(settings, theirs) as client:
        foreign = [(await client.post(each, json={})).status_code for each in paths]
        listed = (await client.get(CANDIDATES)).json()["items"]
    async with asking(settings, viewer) as client:
        refused = [(await client.post(each, json={})).status_code for each in paths]

    assert (foreign, listed) == ([404] * len(paths), [])
    assert refused == [403] * len(paths)
    assert len(await businesses(database)) == 2
