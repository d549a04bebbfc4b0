"""Repeated searches: when they run, and what changed since the previous run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import func, select, update

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import Actor, Job, Place, SavedSearch, Tenant, User
from scrapersky.places.search.saved_searches import start_due_searches
from scrapersky.settings import Settings
from scrapersky.testing import FakePlace, PlacesProvider
from tests.app import serving
from tests.places.searches import ACTOR, at_full_speed, found, links, places, worked

SEARCH = "/api/v3/places/search"


async def saved(database: Database) -> SavedSearch:
    async with database.reading() as session:
        return (await session.scalars(select(SavedSearch))).one()


async def make_saved_due(database: Database) -> None:
    async with database.transaction() as session:
        await session.execute(update(SavedSearch).values(next_run_at=func.now()))


async def jobs(database: Database) -> int:
    async with database.reading() as session:
        return int(await session.scalar(select(func.count(Job.id))) or 0)


async def test_a_saved_search_is_started_when_it_is_due_and_not_before(
    database: Database, place_settings: Settings
) -> None:
    first = await found(database, place_settings, max_results=60, repeat_days=7)
    too_early = await start_due_searches(database, place_settings)
    await make_saved_due(database)

    assert (too_early, await start_due_searches(database, place_settings)) == (0, 1)
    assert await start_due_searches(database, place_settings) == 0
    row = await saved(database)
    assert await jobs(database) == 2
    assert row.last_search_id != first.id
    async with database.reading() as session:
        wait = await session.scalar(select(SavedSearch.next_run_at - func.now()))
    assert timedelta(days=6, hours=23) < wait <= timedelta(days=7)  # type: ignore[operator]


async def test_no_second_one_is_started_while_one_is_active(
    database: Database, place_settings: Settings
) -> None:
    await found(database, place_settings, max_results=60, repeat_days=1)
    for _ in range(3):
        await make_saved_due(database)
        await start_due_searches(database, place_settings)

    assert await jobs(database) == 2


async def test_repetition_is_begun_changed_listed_and_ended_by_the_api(
    database: Database, place_settings: Settings
) -> None:
    job = await found(database, place_settings, max_results=60)
    idle = at_full_speed(place_settings, scheduler_enabled=False)
    async with serving(idle) as client:
        path = f"{SEARCH}/{job.id}/repeat"
        begun = (await client.post(path, json={"every_days": 30})).json()
        changed = (await client.post(path, json={"every_days": 7})).json()
        listed = (await client.get("/api/v3/places/searches/saved")).json()["items"]
        ended = (await client.delete(path)).json()
        again = await client.delete(path)

    assert (begun["repeat_days"], changed["repeat_days"]) == (30, 7)
    assert begun["id"] == changed["id"] == listed[0]["id"]
    assert (ended["is_active"], again.status_code) == (False, 404)
    await make_saved_due(database)
    assert await start_due_searches(database, place_settings) == 0


async def test_the_changes_since_the_run_before_are_told(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    stale = place_settings.model_copy(update={"place_details_max_age_days": 0.000_000_1})
    stays, moves, goes, *_ = provider.map.places
    provider.map.places = [stays, moves, goes]
    first = await found(database, stale, max_results=60, repeat_days=1)
    comes = FakePlace(name="Bakery New", latitude=51.3, longitude=12.3)
    changed = replace(moves, website="http://changed.example/")
    provider.map.places = [stays, changed, comes]
    await make_saved_due(database)
    await start_due_searches(database, stale)
    await worked(database, stale)
    second = (await saved(database)).last_search_id

    async with serving(at_full_speed(stale, scheduler_enabled=False)) as client:
        body = (await client.get(f"{SEARCH}/{second}/changes", params={"limit": 2})).json()
        rest = (
            await client.get(
                f"{SEARCH}/{second}/changes", params={"limit": 2, "cursor": body["next_cursor"]}
            )
        ).json()
        none = (await client.get(f"{SEARCH}/{first.id}/changes")).json()

    told: list[Any] = [*body["items"], *rest["items"]]
    assert body["previous_search_id"] == str(first.id)
    assert [(each["kind"], each["place"]["place_id"]) for each in told] == [
        ("new", comes.place_id),
        ("changed", moves.place_id),
        ("gone", goes.place_id),
    ]
    assert told[1]["changes"] == {"website_url": [moves.website, "http://changed.example/"]}
    assert (none["items"], none["previous_search_id"]) == ([], None)


async def test_two_tenants_have_the_same_place_each_for_itself(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    tenant_id, user_id = uuid7(), uuid7()
    async with database.transaction() as session:
        session.add(Tenant(id=tenant_id, name="other"))
        await session.flush()
        session.add(User(id=user_id, tenant_id=tenant_id, name="somebody", role="admin"))
    other = Actor(user_id, tenant_id)
    mine = await found(database, place_settings, max_results=60)
    paid = provider.bill.paid

    theirs = await found(database, place_settings, actor=other, max_results=60)

    assert provider.bill.paid == 2 * paid  # what one tenant paid for is not the other's
    assert len(await links(database, mine.id)) == len(await links(database, theirs.id)) == 40
    async with database.reading() as session:
        owners = await session.execute(
            select(Place.tenant_id, func.count()).group_by(Place.tenant_id)
        )
    assert {row[0]: row[1] for row in owners} == {ACTOR.tenant_id: 40, tenant_id: 40}
    assert len(await places(database)) == 40
