"""A place is resolved to a business: without a request if its details are fresh, otherwise within
the budget.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import func, select, update

from scrapersky.db.session import Database
from scrapersky.models import (
    CostEntry,
    CostMonth,
    Job,
    LocalBusiness,
    Place,
    ProviderPause,
)
from scrapersky.pipeline.tables import DeadLetter
from scrapersky.places.budget.charges import BUDGET_EXHAUSTED
from scrapersky.places.store import build_place_values
from scrapersky.scraper.providers.model import OperationalStatus, PlaceFacts
from scrapersky.settings import Settings
from scrapersky.testing import FailureMode, PlacesProvider
from tests.places.deep_scans import (
    PRICE,
    Scanner,
    bakery,
    queued,
    scanning,
    use_up_free_requests,
)
from tests.stage_cases import OWNED


@pytest.fixture
async def scanner(database: Database, place_settings: Settings) -> AsyncIterator[Scanner]:
    # Retries wait until the test says that their time has come.
    patient = place_settings.model_copy(update={"retry_base_seconds": 600})
    async with scanning(database, patient) as made:
        yield made


async def ledger(database: Database) -> list[tuple[str, Decimal]]:
    async with database.reading() as session:
        found = await session.scalars(select(CostEntry).order_by(CostEntry.id))
        return [(each.state, each.usd) for each in found]


async def spent(database: Database) -> Decimal:
    async with database.reading() as session:
        return await session.scalar(select(func.sum(CostMonth.spent_usd))) or Decimal(0)


async def test_a_place_whose_details_are_known_costs_nothing(
    scanner: Scanner, provider: PlacesProvider, database: Database
) -> None:
    known = queued("ChIJ-known", name="Bäckerei Berger", details_at=func.now())
    (place,) = await scanner.scan(known)
    assert (place.deep_scan_status, place.deep_scan_error) == ("Completed", None)
    assert (await scanner.business(place)).business_name == "Bäckerei Berger"
    assert provider.bill.requests == []
    assert await ledger(database) == []


@pytest.mark.parametrize("name", ["osm", "csv"])
async def test_others_than_google_are_never_asked_for_one_by_one(
    name: str, scanner: Scanner, provider: PlacesProvider
) -> None:
    (place,) = await scanner.scan(queued("node/1", provider=name, name="Bakery", details_at=None))
    assert place.deep_scan_status == "Completed"
    assert (await scanner.business(place)).business_name == "Bakery"
    assert provider.bill.requests == []


async def test_a_place_without_details_is_asked_for_and_becomes_a_business(
    scanner: Scanner, provider: PlacesProvider, database: Database
) -> None:
    provider.map.places = [bakery(place_id="ChIJ-berger")]
    (place,) = await scanner.scan(queued("ChIJ-berger"))
    assert (place.deep_scan_status, place.name) == ("Completed", "Bäckerei Berger")
    assert (place.phone, place.website_url) == ("+493412000001", "http://berger.example/")
    assert place.details_at is not None
    assert place.raw_data["displayName"]["text"] == "Bäckerei Berger"
    business = await scanner.business(place)
    assert (business.phone, business.city) == ("+493412000001", "Leipzig")
    assert business.domain_extraction_status == "Queued"
    assert await ledger(database) == [("billed", Decimal(0))]
    assert provider.bill.paid == 1


async def test_without_the_policy_a_website_waits_for_a_person(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = [bakery(place_id="ChIJ-berger")]
    settings = place_settings.model_copy(update={"auto_extract_domains": False})
    async with scanning(database, settings) as scanner:
        (place,) = await scanner.scan(queued("ChIJ-berger"))
        assert (await scanner.business(place)).domain_extraction_status == "New"


async def test_old_details_are_asked_for_again_and_young_ones_only_when_wanted(
    scanner: Scanner, provider: PlacesProvider
) -> None:
    provider.map.places = [bakery(place_id="ChIJ-berger")]
    now = datetime.now(UTC)
    old = queued("ChIJ-berger", name="Berger", details_at=now - timedelta(days=181))
    (place,) = await scanner.scan(old)
    assert (place.name, provider.bill.paid) == ("Bäckerei Berger", 1)
    await scanner.again(place)
    assert provider.bill.paid == 1
    place = await scanner.again(place, refresh_asked_at=func.now())
    assert provider.bill.paid == 2
    await scanner.again(place)
    assert provider.bill.paid == 2


async def test_a_scan_refreshes_facts_and_never_what_people_decided(
    scanner: Scanner, provider: PlacesProvider, database: Database
) -> None:
    provider.map.places = [bakery(place_id="ChIJ-berger")]
    (place,) = await scanner.scan(queued("ChIJ-berger", status="Selected"))
    async with database.transaction() as session:
        await session.execute(update(LocalBusiness).values(status="Not a Fit"))
    provider.map.places = [bakery(place_id="ChIJ-berger", name="Berger & Sohn", phone=None)]
    place = await scanner.again(place, refresh_asked_at=func.now())
    business = await scanner.business(place)
    assert (place.name, place.phone) == ("Berger & Sohn", None)
    assert (business.business_name, business.phone) == ("Berger & Sohn", None)
    assert (place.status, business.status) == ("Selected", "Not a Fit")


async def test_the_language_is_that_of_the_search_that_found_it(
    scanner: Scanner, provider: PlacesProvider, database: Database
) -> None:
    provider.map.places = [bakery(place_id="ChIJ-berger")]
    search = Job(
        job_type="place_search",
        subject="bakeries in leipzig",
        params={"language": "de", "region": "DE"},
        status="complete",
        **OWNED,
    )
    async with database.transaction() as session:
        session.add(search)
    (place,) = await scanner.scan(queued("ChIJ-berger", search_id=search.id))
    assert place.deep_scan_status == "Completed"
    assert place.raw_data["displayName"]["languageCode"] == "de"


async def test_a_place_that_moved_is_followed_and_stays_one_business(
    scanner: Scanner, provider: PlacesProvider, database: Database
) -> None:
    provider.map.places = [
        bakery(place_id="ChIJ-old-place", moved_to="ChIJ-between-place"),
        bakery(place_id="ChIJ-between-place", moved_to="ChIJ-new-place"),
        bakery(place_id="ChIJ-new-place", house_number="77"),
    ]
    (old,) = await scanner.scan(queued("ChIJ-old-place", status="Selected"))
    new = await scanner.named("ChIJ-new-place")
    assert (old.moved_to, old.deep_scan_status) == ("ChIJ-new-place", "Completed")
    assert (new.moved_to, new.deep_scan_status, new.status) == (None, "Completed", "Selected")
    assert new.local_business_id == old.local_business_id
    assert (await scanner.business(new)).house_number == "77"
    assert [state for state, _ in await ledger(database)] == ["billed"] * 3


@pytest.mark.parametrize(
    ("moves", "requests"),
    [({"a": "a"}, 1), ({"a": "b", "b": "a"}, 2), ({"a": "b", "b": "c", "c": "b"}, 3)],
)
async def test_moves_in_a_circle_come_to_an_end(
    moves: dict[str, str], requests: int, scanner: Scanner, provider: PlacesProvider
) -> None:
    provider.map.places = [
        bakery(place_id=f"ChIJ-place-{one}", moved_to=f"ChIJ-place-{to}")
        for one, to in moves.items()
    ]
    (place,) = await scanner.scan(queued("ChIJ-place-a"))
    assert place.deep_scan_status == "Completed"
    assert provider.bill.paid == requests


async def test_endless_moves_are_not_followed_for_ever(
    scanner: Scanner, provider: PlacesProvider
) -> None:
    provider.map.places = [
        bakery(place_id=f"ChIJ-place-{n}", moved_to=f"ChIJ-place-{n + 1}") for n in range(50)
    ]
    (place,) = await scanner.scan(queued("ChIJ-place-0"))
    assert place.deep_scan_status == "Completed"
    assert provider.bill.paid == 6


async def test_a_place_that_is_gone_is_kept_and_done(
    scanner: Scanner, provider: PlacesProvider, database: Database
) -> None:
    provider.map.places = [bakery(place_id="ChIJ-berger")]
    (place,) = await scanner.scan(queued("ChIJ-berger"))
    provider.map.places = [bakery(place_id="ChIJ-berger", gone=True)]
    place = await scanner.again(place, refresh_asked_at=func.now())
    assert place.deep_scan_status == "Completed"
    assert place.deep_scan_error is not None
    assert "no longer" in place.deep_scan_error
    assert place.gone_at is not None
    assert place.name == "Bäckerei Berger"
    business = await scanner.business(place)
    assert (business.business_name, business.business_status) == ("Bäckerei Berger", "operational")
    assert [state for state, _ in await ledger(database)] == ["billed", "not_billed"]


async def test_a_place_that_moved_to_one_that_is_gone_keeps_what_was_told(
    scanner: Scanner, provider: PlacesProvider
) -> None:
    provider.map.places = [bakery(place_id="ChIJ-old-place", moved_to="ChIJ-gone-place")]
    (place,) = await scanner.scan(queued("ChIJ-old-place"))
    assert (place.deep_scan_status, place.moved_to) == ("Completed", "ChIJ-gone-place")
    assert (await scanner.business(place)).business_name == "Bäckerei Berger"


async def test_that_it_closed_for_good_is_noted(scanner: Scanner, provider: PlacesProvider) -> None:
    provider.map.places = [
        bakery(place_id="ChIJ-berger", status=OperationalStatus.CLOSED_PERMANENTLY)
    ]
    (place,) = await scanner.scan(queued("ChIJ-berger"))
    assert place.business_status == "closed_permanently"
    business = await scanner.business(place)
    assert business.business_status == "closed_permanently"
    assert business.domain_extraction_status == "New"


async def test_a_place_without_name_address_or_coordinates_is_one_too(
    scanner: Scanner, provider: PlacesProvider
) -> None:
    provider.map.places = [
        bakery(place_id="ChIJ-nameless", name=None, website=None, phone=None),
        bakery(place_id="ChIJ-plumber", name="Rohr Frei", is_service_area=True, website=None),
    ]
    nameless, plumber = await scanner.scan(queued("ChIJ-nameless"), queued("ChIJ-plumber"))
    assert (nameless.deep_scan_status, plumber.deep_scan_status) == ("Completed", "Completed")
    assert (await scanner.business(nameless)).business_name is None
    assert (plumber.is_service_area, plumber.latitude) == (True, None)
    assert (await scanner.business(plumber)).business_name == "Rohr Frei"


async def test_when_the_budget_is_used_up_places_wait_and_nothing_is_asked(
    scanner: Scanner, provider: PlacesProvider, database: Database
) -> None:
    provider.map.places = [bakery(place_id="ChIJ-berger")]
    await use_up_free_requests(database, provider)
    (place,) = await scanner.scan(queued("ChIJ-berger"))
    assert place.deep_scan_status == "Queued"
    assert place.deep_scan_error is not None
    assert place.deep_scan_error.startswith(BUDGET_EXHAUSTED)
    assert place.deep_scan_attempts == 0
    assert place.deep_scan_due_at > datetime.now(UTC)
    assert provider.bill.requests == []
    assert await ledger(database) == []


async def test_what_is_paid_is_what_the_provider_bills(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    await use_up_free_requests(database, provider)
    settings = place_settings.model_copy(update={"places_monthly_cap_usd": 1})
    places = [queued(each.place_id) for each in provider.map.places]
    async with scanning(database, settings) as scanner:
        scanned = await scanner.scan(*places)
    assert {each.deep_scan_status for each in scanned} == {"Completed"}
    assert await spent(database) == provider.bill.usd == PRICE * len(places)


async def test_without_a_key_the_setting_is_named_and_nothing_is_charged(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    settings = place_settings.model_copy(update={"google_places_api_key": ""})
    async with scanning(database, settings) as scanner:
        (place,) = await scanner.scan(queued("ChIJ-berger"))
    assert place.deep_scan_status == "Error"
    assert "GOOGLE_PLACES_API_KEY" in str(place.deep_scan_error)
    assert await ledger(database) == []


@pytest.mark.parametrize("trouble", [FailureMode.KEY_INVALID, FailureMode.BILLING_OFF])
async def test_a_key_that_is_refused_fails_at_once_and_costs_nothing(
    trouble: FailureMode, scanner: Scanner, provider: PlacesProvider, database: Database
) -> None:
    provider.map.places = [bakery(place_id="ChIJ-berger")]
    await use_up_free_requests(database, provider)
    scanner.settings = scanner.settings.model_copy(update={"places_monthly_cap_usd": 1})
    provider.fail(trouble)
    (place,) = await scanner.scan(queued("ChIJ-berger"))
    assert (place.deep_scan_status, place.deep_scan_attempts) == ("Error", 1)
    assert [state for state, _ in await ledger(database)] == ["not_billed"]
    assert await spent(database) == 0
    async with database.reading() as session:
        letter = await session.scalar(select(DeadLetter))
        assert letter is not None
        assert scanner.settings.google_places_api_key not in f"{letter.error}{letter.traceback}"


@pytest.mark.parametrize(
    ("trouble", "least", "most"),
    [
        (FailureMode.MINUTE_QUOTA, timedelta(seconds=0), timedelta(minutes=2)),
        (FailureMode.DAY_QUOTA, timedelta(seconds=1), timedelta(hours=25)),
    ],
)
async def test_a_quota_that_is_used_up_parks_the_method_for_everybody(
    trouble: FailureMode,
    least: timedelta,
    most: timedelta,
    scanner: Scanner,
    provider: PlacesProvider,
    database: Database,
) -> None:
    """One at a time: the second is not sent at all."""
    provider.fail(trouble)
    await scanner.scan(queued("ChIJ-one-place"))
    (place,) = await scanner.scan(queued("ChIJ-two-place"))
    assert (place.deep_scan_status, place.deep_scan_attempts) == ("Queued", 0)
    assert len(provider.bill.requests) == 1
    async with database.reading() as session:
        waits = await session.scalar(select(ProviderPause.until - func.now()))
    assert waits is not None
    assert least < waits < most
    assert [state for state, _ in await ledger(database)] == ["not_billed"]


@pytest.mark.parametrize(
    "trouble", [FailureMode.SERVER_ERROR, FailureMode.WEB_PAGE, FailureMode.TRUNCATED]
)
async def test_a_provider_that_is_down_is_asked_again_and_the_ledger_agrees(
    trouble: FailureMode, scanner: Scanner, provider: PlacesProvider, database: Database
) -> None:
    provider.map.places = [bakery(place_id="ChIJ-berger")]
    await use_up_free_requests(database, provider)
    scanner.settings = scanner.settings.model_copy(update={"places_monthly_cap_usd": 1})
    provider.fail(trouble)
    (place,) = await scanner.scan(queued("ChIJ-berger"))
    assert (place.deep_scan_status, place.deep_scan_attempts) == ("Queued", 1)
    place = await scanner.again(place)
    assert place.deep_scan_status == "Completed"
    assert await spent(database) >= provider.bill.usd


async def test_a_connection_that_was_cut_counts_as_billed(
    scanner: Scanner, provider: PlacesProvider, database: Database
) -> None:
    provider.map.places = [bakery(place_id="ChIJ-berger")]
    await use_up_free_requests(database, provider)
    scanner.settings = scanner.settings.model_copy(update={"places_monthly_cap_usd": 1})
    provider.fail(FailureMode.CUT)
    await scanner.scan(queued("ChIJ-berger"))
    assert [state for state, _ in await ledger(database)] == ["billed"]
    assert await spent(database) == PRICE


async def test_facts_with_characters_that_cannot_be_stored_are_stored_without_them(
    scanner: Scanner, provider: PlacesProvider
) -> None:
    odd: dict[str, Any] = {"displayName": {"text": "Ber\x00ger", "languageCode": "de"}}
    provider.map.places = [bakery(place_id="ChIJ-berger", extra=odd)]
    (place,) = await scanner.scan(queued("ChIJ-berger"))
    assert (place.deep_scan_status, place.name) == ("Completed", "Ber ger")
    assert place.raw_data["displayName"]["text"] == "Berger"


def test_facts_are_columns_of_a_place_and_no_decisions() -> None:
    written = build_place_values(PlaceFacts("google", "x", has_details=True))
    assert not {"status", "deep_scan_status", "created_by", "tenant_id"} & set(written)
    assert set(written) <= set(Place.__table__.c.keys())
