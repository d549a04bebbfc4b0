"""A search in progress, for tests of the search and budget pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import (
    CostEntry,
    CostMeter,
    CostMonth,
    Domain,
    Job,
    Lead,
    LocalBusiness,
    Place,
    ProviderPause,
    SearchPlace,
    SearchTile,
)
from scrapersky.places.budget.ledger import get_provider_time
from scrapersky.scraper.providers.geography import split_area
from scrapersky.scraper.providers.model import Area
from tests.contacts.rows import a_domain, store
from tests.stage_cases import OWNED

TENANT = {"tenant_id": OWNED["tenant_id"]}
LEIPZIG = Area(51.2, 12.2, 51.45, 12.55)
SUBJECT = "bakeries in leipzig, 200 at most, with website"
PARAMS = {
    "business_type": "bakeries",
    "location": "Leipzig",
    "radius_km": None,
    "center": None,
    "area": None,
    "provider": "google",
    "max_results": 200,
    "filters": {"has_website": True},
    "language": None,
    "region": None,
    "go_on": True,
}
STATES = ("done", "saturated", "waiting", "not_asked")


@dataclass(frozen=True)
class Searched:
    """The ids of its rows."""

    search: UUID
    place: UUID
    business: UUID
    domain: UUID
    lead: UUID


def a_search(status: str = "processing", **more: Any) -> Job:
    known = {"subject": SUBJECT, "params": PARAMS, **OWNED}
    return Job(id=uuid7(), job_type="place_search", status=status, **{**known, **more})


def a_tile(search: Job, path: str, area: Area, **more: Any) -> SearchTile:
    sides = {each: getattr(area, each) for each in ("south", "west", "north", "east")}
    return SearchTile(search_id=search.id, path=path, **sides, **TENANT, **more)


def a_place(name: str | None, **more: Any) -> Place:
    known = {"provider": "google", "place_id": f"p{uuid7().hex}", **OWNED}
    return Place(id=uuid7(), name=name, **{**known, **more})


def found_by(search: Job, place: Place, position: int, **more: Any) -> SearchPlace:
    known = {"position": position, "sighted": "new", **TENANT}
    return SearchPlace(search_id=search.id, place_id=place.id, **{**known, **more})


def an_entry(search: Job | None, usd: str, month: date, **more: Any) -> CostEntry:
    known = {"provider": "google", "sku": "text_search.enterprise", "state": "billed", **TENANT}
    price = Decimal(usd)
    return CostEntry(
        id=uuid7(), usd=price, is_free=not price, month=month,
        search_id=search.id if search else None, **{**known, **more},
    )  # fmt: skip


async def a_search_under_way(database: Database, *, places: int = 6) -> Searched:
    """Four quarters in four states; the first place is a lead already, the last is filtered out."""
    search = a_search(progress=0.42, phase="Fetching places", started_at=datetime.now(UTC))
    async with database.transaction() as session:
        month = (await get_provider_time(session)).month
        await store(session, search, a_tile(search, "", LEIPZIG, state="split", requests=3))
        for number, (area, state) in enumerate(zip(split_area(LEIPZIG), STATES, strict=True)):
            note = "More than 60 places within 50 metres." if state == "saturated" else None
            tile = a_tile(
                search, str(number), area, state=state, found=number, requests=3,
                paid_requests=1, note=note,
            )  # fmt: skip
            await store(session, tile)
        lead = await _first(session, search)
        for number in range(2, places + 1):
            place = a_place(
                f"Bakery {number}", latitude=51.2 + 0.2 * number / places,
                longitude=12.2 + (0.07 * number * number) % 0.33,
                formatted_address=f"Street {number}, Leipzig",
            )  # fmt: skip
            fits = number < places
            await store(session, place, found_by(search, place, number, fits=fits))
        await store(
            session, an_entry(search, "0", month), an_entry(search, "0.035", month),
            an_entry(search, "0.035", month, state="not_billed", note="The provider was down."),
        )  # fmt: skip
    return lead


async def _first(session: Any, search: Job) -> Searched:
    domain: Domain = a_domain("backhaus-berger.example")
    business = LocalBusiness(
        id=uuid7(), business_name="Backhaus Berger", website_kind="own", domain_id=domain.id,
        domain_extraction_status="Completed", **OWNED,
    )  # fmt: skip
    place = a_place(
        "Backhaus Berger", latitude=51.33, longitude=12.37, deep_scan_status="Completed",
        formatted_address="Hauptstraße 5, 04109 Leipzig", local_business_id=business.id,
    )  # fmt: skip
    lead = Lead(
        id=uuid7(), name="Backhaus Berger", domain_id=domain.id, local_business_id=business.id,
        best_email="info@backhaus-berger.example", **OWNED,
    )  # fmt: skip
    await store(session, domain, business, place, found_by(search, place, 1), lead)
    return Searched(search.id, place.id, business.id, domain.id, lead.id)


async def spend(database: Database, usd: str, *, free_used: int = 0, paused: str = "") -> None:
    """As the governor leaves it behind."""
    async with database.transaction() as session:
        time = await get_provider_time(session)
        sku = "text_search.enterprise"
        await store(
            session,
            CostMonth(month=time.month, spent_usd=Decimal(usd), requests=40, **TENANT),
            CostMeter(provider="google", sku=sku, month=time.month, requests=free_used),
            an_entry(None, usd, time.month),
        )
        if paused:
            until = time.now + timedelta(hours=3)
            pause = ProviderPause(
                provider="google", method="SearchText", until=until, reason=paused
            )
            await store(session, pause)
