"""Unconfirmed Google data is deleted after the retention period, if one is set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import func, select

from scrapersky.businesses.resolution import resolve_place
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import LocalBusiness, Place, Tenant
from scrapersky.places.freshness import EMPTY_FACTS, expire_unconfirmed_places
from scrapersky.settings import Settings
from tests.conftest import make_settings
from tests.places.deep_scans import queued

LONG_AGO = datetime.now(UTC) - timedelta(days=40)
SAID: dict[str, Any] = {
    "name": "Bäckerei Berger",
    "formatted_address": "Hauptstraße 1, 04109 Leipzig",
    "latitude": 51.34,
    "longitude": 12.37,
    "phone": "+493412000001",
    "rating": 4.5,
    "hours": {"weekday_descriptions": ["Monday: 6 to 18"]},
    "raw_data": {"displayName": {"text": "Bäckerei Berger"}},
    "details_at": LONG_AGO,
    "seen_at": LONG_AGO,
}


async def noted(database: Database, *places: Place) -> None:
    """Each becomes a business, or another sighting of one."""
    async with database.transaction() as session:
        session.add_all(places)
        await session.flush()
        for each in places:
            await resolve_place(session, each)


async def place(database: Database, row_id: UUID) -> Place:
    async with database.reading() as session:
        return await session.get_one(Place, row_id)


async def business(database: Database, row_id: UUID) -> LocalBusiness:
    async with database.reading() as session:
        found = await session.scalar(
            select(LocalBusiness)
            .join(Place, Place.local_business_id == LocalBusiness.id)
            .where(Place.id == row_id)
        )
        assert found is not None
        return found


def strict(url: str) -> Settings:
    return make_settings(url, place_retention_days=30)


async def test_by_default_nothing_is_forgotten(database: Database, settings: Settings) -> None:
    known = queued("known", **SAID)
    await noted(database, known)
    assert await expire_unconfirmed_places(database, settings) == 0
    assert (await place(database, known.id)).name == "Bäckerei Berger"


async def test_only_the_id_the_links_and_the_decisions_are_left(
    database: Database, url: str
) -> None:
    known = queued("known", status="Selected", deep_scan_status="Completed", **SAID)
    await noted(database, known)
    assert await expire_unconfirmed_places(database, strict(url)) == 1
    left = await place(database, known.id)
    assert {name: getattr(left, name) for name in EMPTY_FACTS} == EMPTY_FACTS
    assert (left.place_id, left.status, left.deep_scan_status) == (
        "known",
        "Selected",
        "Completed",
    )
    its = await business(database, known.id)
    assert (its.business_name, its.phone, its.rating, its.facts_from) == (None, None, None, {})
    assert await expire_unconfirmed_places(database, strict(url)) == 0
    async with database.reading() as session:
        assert await session.scalar(select(Place.id).where(Place.hours.is_not(None))) is None


async def test_what_was_confirmed_lately_or_said_by_others_stays(
    database: Database, url: str
) -> None:
    fresh = queued("fresh", **{**SAID, "seen_at": func.now(), "phone": "+493412000002"})
    on_map = queued("node/1", provider="osm", **{**SAID, "phone": "+493412000003"})
    await noted(database, fresh, on_map)
    assert await expire_unconfirmed_places(database, strict(url)) == 0
    assert (await place(database, fresh.id)).name == "Bäckerei Berger"
    assert (await place(database, on_map.id)).name == "Bäckerei Berger"


async def test_a_business_that_others_know_too_keeps_what_they_say(
    database: Database, url: str
) -> None:
    google = queued("google", **SAID)
    osm = queued("node/1", provider="osm", **{**SAID, "rating": None, "name": "Berger"})
    await noted(database, google, osm)
    before = await business(database, google.id)
    assert (before.business_name, before.rating) == ("Bäckerei Berger", 4.5)
    assert (await business(database, osm.id)).id == before.id
    assert await expire_unconfirmed_places(database, strict(url)) == 1
    after = await business(database, google.id)
    assert (after.business_name, after.rating) == ("Berger", None)
    assert "google" not in after.facts_from.values()


async def test_places_of_all_tenants_are_forgotten(database: Database, url: str) -> None:
    other = uuid7()
    async with database.transaction() as session:
        session.add(Tenant(id=other, name="other"))
    await noted(database, queued("mine", **SAID))
    await noted(database, queued("theirs", **{**SAID, "tenant_id": other}))
    assert await expire_unconfirmed_places(database, strict(url)) == 2
