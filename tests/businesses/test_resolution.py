"""Several sources of one business are resolved to one row."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import pytest

from scrapersky.businesses.resolution import resolve_place
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import Place, Suppression
from scrapersky.models.suppression import compute_digest
from tests.auth.accounts import add_tenant
from tests.businesses.rows import (
    a_place,
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
from tests.stage_cases import OWNED


async def test_the_same_from_three_providers_is_one_business(database: Database) -> None:
    first, second, third = await noted(
        database, google(), osm(), csv(phone="+493411234567", emails=["hallo@kornblume-brot.de"])
    )
    found = await business(database, first)
    seen = await sightings(database)

    assert first == second == third
    assert [(each.provider, each.matched_by) for each in seen] == [
        ("google", "first"),
        ("osm", "name_and_distance"),
        ("csv", "phone"),
    ]
    assert seen[1].why == (
        "The names are the same: Bäckerei Kornblume. They have the same address."
    )
    assert found.facts_from["rating"] == "google"
    assert (found.business_name, found.facts_from["business_name"]) == ("Kornblume Bäckerei", "csv")
    assert (found.street, found.city, found.facts_from["street"]) == (
        "Karl-Heine-Straße",
        "Leipzig",
        "google",
    )
    assert found.emails == ["hallo@kornblume-brot.de"]
    assert found.site_key == "kornblume-brot.de"


async def test_what_is_doubtful_is_two_businesses_and_a_question(database: Database) -> None:
    hotel = google(
        "hotel", name="Hotel Adlerhorst", types=["hotel"], website_url=None, business_status=None
    )
    restaurant = osm(
        "node/1", name="Restaurant Adlerhorst", types=["restaurant"], phone="+493411234567"
    )
    first, second = await noted(database, hotel, restaurant)
    await again(database, restaurant)
    [question] = await questions(database)

    assert first != second
    assert {question.left_id, question.right_id} == {first, second}
    assert (question.state, question.left_id < question.right_id) == ("open", True)
    assert "They are in different trades." in question.reasons


async def test_others_are_others(database: Database) -> None:
    neighbour = osm("node/2", name="Buchhandlung Seitenweise")
    branch = google("branch", latitude=51.35, address_parts={"street": "Markt", "city": "Leipzig"})
    namesake = csv("row-9", name="Bäckerei Kornblume", address_parts={"city": "Dresden"})
    found = await noted(database, google(), neighbour, branch, namesake)

    assert len(set(found)) == 4


async def test_what_was_decided_apart_is_not_asked_again(database: Database) -> None:
    hotel = google("hotel", name="Hotel Adlerhorst", website_url=None, types=["hotel"])
    restaurant = osm("node/1", name="Restaurant Adlerhorst", phone="+493411234567", types=[])
    await noted(database, hotel, restaurant)
    [question] = await questions(database)
    async with database.transaction() as session:
        (await session.get_one(type(question), question.id)).state = "apart"
    later = csv("row-3", name="Hotel Adlerhorst", phone="+493411234567")
    await noted(database, later)
    await again(database, restaurant, rating=4.0)

    assert [each.state for each in await questions(database)].count("apart") == 1
    pairs = [(each.left_id, each.right_id) for each in await questions(database)]
    assert len(pairs) == len(set(pairs)) == 1
    assert len(await businesses(database)) == 2


async def test_a_refresh_changes_facts_and_never_what_people_decided(database: Database) -> None:
    place = google()
    [made] = await noted(database, place, extract=True)
    await change(database, made, status="Not a Fit", domain_extraction_status="Completed")
    await again(database, place, extract=True, rating=3.9, phone="+493417654321")
    found = await business(database, made)

    assert (found.rating, found.phone) == (3.9, "+493417654321")
    assert (found.status, found.domain_extraction_status) == ("Not a Fit", "Completed")


async def test_the_website_is_looked_at_once_and_again_when_it_is_another(
    database: Database,
) -> None:
    place = google()
    [made] = await noted(database, place, extract=True)
    first = (await business(database, made)).domain_extraction_status
    done = {"domain_extraction_status": "Completed", "website_kind": "own", "site_key": "found.de"}
    await change(database, made, **done)
    await again(database, place, extract=True, rating=4.4)
    unchanged = await business(database, made)
    await again(database, place, extract=True, website_url="https://kornblume.example.org")
    changed = await business(database, made)

    assert first == "Queued"
    assert (unchanged.domain_extraction_status, unchanged.site_key) == ("Completed", "found.de")
    assert (changed.domain_extraction_status, changed.website_kind) == ("Queued", None)
    assert changed.site_key != "found.de"


@pytest.mark.parametrize(
    ("place", "extract"),
    [
        (google(), False),
        (google(website_url=None), True),
        (google(business_status="closed_permanently"), True),
    ],
)
async def test_nothing_is_queued_that_is_not_wanted(
    database: Database, place: Place, extract: bool
) -> None:
    copied = a_place(
        place.provider,
        place.place_id,
        name=place.name,
        website_url=place.website_url,
        business_status=place.business_status,
    )
    [made] = await noted(database, copied, extract=extract)

    assert (await business(database, made)).domain_extraction_status == "New"


async def test_a_place_that_moved_takes_its_business_with_it(database: Database) -> None:
    old = google("old")
    [made] = await noted(database, old)
    await change(database, made, status="Selected")
    await again(database, old, moved_to="new")
    new = google("new", latitude=51.36, address_parts={"street": "Neue Str.", "city": "Leipzig"})
    [followed] = await noted(database, new)
    found = await business(database, made)

    assert followed == made
    assert (found.street, found.status) == ("Neue Str.", "Selected")
    assert [each.matched_by for each in await sightings(database)] == ["first", "moved"]


async def test_a_place_that_moved_to_one_we_know_makes_one_of_two(database: Database) -> None:
    old, new = google("old"), google("new", latitude=51.36, address_parts={"street": "Neue Str."})
    first, second = await noted(database, old, new)
    await change(database, first, status="Selected")
    kept = await again(database, old, moved_to="new")
    [found] = await businesses(database)

    assert first != second
    assert (found.id, found.status) == (kept, "Selected") == (second, "Selected")
    assert len(await sightings(database)) == 2


async def test_a_place_that_is_gone_counts_after_the_others(database: Database) -> None:
    place = google(name="Kornblume")
    [made] = await noted(database, place)
    await noted(database, osm(name="Bäckerei Kornblume", phone="+493411234567"))
    await again(database, place, gone_at=datetime(2026, 6, 1, tzinfo=UTC))
    found = await business(database, made)

    assert (found.business_name, found.facts_from["business_name"]) == ("Bäckerei Kornblume", "osm")
    assert (found.rating, found.facts_from["rating"]) == (4.5, "google")


async def test_tenants_have_businesses_of_their_own(database: Database) -> None:
    other = await add_tenant(database, "others")
    theirs = google()
    theirs.tenant_id, theirs.created_by = other.tenant_id, other.user_id
    first, second = await noted(database, google(), theirs)

    assert first != second
    assert (await business(database, second)).tenant_id == other.tenant_id
    assert await questions(database) == []


async def test_who_was_erased_is_not_told_of_again(database: Database) -> None:
    async with database.transaction() as session:
        for kind, value in (("email", "eva@kornblume.de"), ("phone", "+493411234567")):
            session.add(Suppression(id=uuid7(), kind=kind, digest=compute_digest(value), **OWNED))
    [made] = await noted(database, google(emails=["eva@kornblume.de", "info@kornblume.de"]))
    found = await business(database, made)

    assert (found.emails, found.phone) == (["info@kornblume.de"], None)
    assert "eva@" not in str([each.facts for each in await sightings(database)])


async def test_workers_that_meet_it_at_once_make_one_business(database: Database) -> None:
    places = [
        google(),
        osm(),
        osm("way/8", address_parts={}),
        csv(phone="+493411234567"),
        csv("row-2", website_url="kornblume-brot.de"),
        csv("row-3", name="Bäckerei Kornblume"),
    ]
    async with database.transaction() as session:
        session.add_all(places)
    together = asyncio.Barrier(len(places))

    async def note(place: Place) -> None:
        async with database.transaction() as session:
            row = await session.get_one(Place, place.id)
            await together.wait()
            await resolve_place(session, row)

    await asyncio.gather(*(note(each) for each in places))
    [made] = await businesses(database)

    assert [each.business_id for each in await sightings(database)] == [made.id] * len(places)
    assert await questions(database) == []


async def test_two_that_a_third_connects_turn_out_to_be_one(database: Database) -> None:
    by_phone = csv("row-1", name="Kornblume", phone="+493411234567", address_parts={})
    by_site = csv("row-2", name="Kornblume", website_url="kornblume-brot.de", address_parts={})
    first, second = await noted(database, by_phone, by_site)
    await change(database, second, status="Maybe")
    [third] = await noted(database, google())
    [left] = await businesses(database)

    assert first != second
    assert (left.id, left.status) == (third, "Maybe")
    assert {each.business_id for each in await sightings(database)} == {left.id}


async def test_many_places_in_one_transaction_do_not_deadlock_with_others(
    database: Database,
) -> None:
    names = [f"Werkstatt {word}" for word in ("Amsel", "Drossel", "Fink", "Star", "Meise")]
    places = [
        [a_place(provider, f"{provider}/{n}", name=name, latitude=50.0 + n, longitude=9.0)
         for n, name in enumerate(names)]
        for provider in ("google", "osm", "csv")
    ]  # fmt: skip
    together = asyncio.Barrier(len(places))

    async def note(part: list[Place]) -> list[UUID]:
        async with database.transaction() as session:
            session.add_all(part)
            await session.flush()
            await together.wait()
            return [(await resolve_place(session, each)).id for each in part]

    found = await asyncio.gather(note(places[0]), note(places[1][::-1]), note(places[2]))

    assert set(found[0]) == set(found[1]) == set(found[2])
    assert len(await businesses(database)) == len(names)


async def test_a_number_in_the_field_for_the_website_is_the_business_s(database: Database) -> None:
    [first] = await noted(database, google(website_url="0341 998877", phone=None))
    [second] = await noted(
        database, google("other", name="Berger", website_url="0341 112233", phone="+49341445566")
    )

    assert (await business(database, first)).phone == "+49341998877"
    assert (await business(database, second)).phone == "+49341445566"


async def test_in_the_middle_of_a_city_the_nearest_are_compared_first(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More lie around a place than are looked at."""
    monkeypatch.setattr("scrapersky.businesses.candidates.MAX_PER_KEY", 3)
    around = [
        google(f"shop-{n}", name=f"Laden {n}", latitude=51.3345, website_url=None, phone=None)
        for n in range(4)
    ]
    await noted(database, *around)
    [bakery] = await noted(database, google(website_url=None, phone=None))

    [found] = await noted(database, osm(name="Backhaus Kornblumen"))

    assert found == bakery
