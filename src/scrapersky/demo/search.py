"""The town's businesses as listed by the fake place provider, and the search for them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from time import monotonic
from typing import Any
from uuid import UUID

import idna
from sqlalchemy import func, select

from scrapersky.auth.service import get_system_actor
from scrapersky.db.session import Database
from scrapersky.demo.progress import MAX_WAIT_SECONDS, POLL_SECONDS
from scrapersky.demo.sites.builder import TownSite
from scrapersky.models import (
    DEEP_SCAN_STATUSES,
    EXTRACTION_STATUSES,
    JOB_STATUSES,
    Domain,
    EmptyReason,
    Job,
    LocalBusiness,
    Place,
)
from scrapersky.places.search.schemas import SearchIn
from scrapersky.places.search.service import request_search
from scrapersky.scraper.providers.model import Area
from scrapersky.settings import Settings
from scrapersky.testing import FakeArea, FakePlace

TOWN_NAME = "Harbour Town"
SEARCH_TERM = "businesses"
TOWN_AREA = Area(south=50.60, west=-2.50, north=50.64, east=-2.42)
GRID_COLUMNS = 8
GRID_STEP_DEGREES = 0.004
"""Distance between neighbouring places: a few hundred metres, so that entity resolution does not
merge them.
"""
WEBSITE_SPELLINGS = (
    "http://{}/",
    "http://{}/?utm_source=maps&utm_medium=listing",
    "HTTP://WWW.{}",
    "{}/",
)
"""Ways in which business owners write their website."""

PLACES_WITHOUT_SITE: tuple[tuple[FakePlace, EmptyReason], ...] = (
    (
        FakePlace(
            name="Tea & Tide",
            latitude=50.6385,
            longitude=-2.4225,
            types=("tea_house",),
            category="Tea house",
            words=(SEARCH_TERM,),
            city=TOWN_NAME,
            country="GB",
            website="https://www.facebook.com/teaandtide/?ref=page_internal",
            rating=4.8,
            reviews_count=212,
        ),
        EmptyReason.ONLY_SOCIAL,
    ),
    (
        FakePlace(
            name="Quayside Rooms",
            latitude=50.6345,
            longitude=-2.4225,
            types=("guest_house",),
            category="Guest house",
            words=(SEARCH_TERM,),
            city=TOWN_NAME,
            country="GB",
            website="https://www.booking.com/hotel/gb/quayside-rooms.en-gb.html?aid=7",
            rating=4.1,
            reviews_count=64,
        ),
        EmptyReason.NO_WEBSITE,
    ),
    (
        FakePlace(
            name="Harbour Fish Stall",
            latitude=50.6305,
            longitude=-2.4225,
            types=("market",),
            category="Market",
            words=(SEARCH_TERM,),
            city=TOWN_NAME,
            country="GB",
            rating=4.6,
            reviews_count=38,
        ),
        EmptyReason.NO_WEBSITE,
    ),
)
"""Places without a site, each with the `EmptyReason` expected on its lead."""


def build_area() -> FakeArea:
    return FakeArea(TOWN_NAME, TOWN_AREA, country="GB")


def build_places(sites: Sequence[TownSite]) -> tuple[FakePlace, ...]:
    written = zip(sites, cycle(WEBSITE_SPELLINGS), strict=False)
    doors = [
        _build_place(number, site, as_written.format(site.name))
        for number, (site, as_written) in enumerate(written)
    ]
    without = [each for each, _ in PLACES_WITHOUT_SITE]
    return (*doors, *without, *_build_branches(sites))


def _build_place(number: int, site: TownSite, website: str) -> FakePlace:
    row, column = divmod(number, GRID_COLUMNS)
    return FakePlace(
        name=_format_title(site.name),
        latitude=round(TOWN_AREA.south + (row + 1) * GRID_STEP_DEGREES, 6),
        longitude=round(TOWN_AREA.west + (column + 1) * GRID_STEP_DEGREES, 6),
        types=("store",),
        category="Shop",
        words=(SEARCH_TERM,),
        street="Harbour Street",
        house_number=str(number + 1),
        city=TOWN_NAME,
        country="GB",
        website=website,
        rating=round(3 + number % 20 / 10, 1),
        reviews_count=5 + number * 7,
    )


def _build_branches(sites: Sequence[TownSite]) -> list[FakePlace]:
    """Return a second branch of the first site's business, which shares its site."""
    if not sites:
        return []
    main = sites[0]
    return [
        FakePlace(
            name=f"{_format_title(main.name)} at the Station",
            latitude=50.6385,
            longitude=-2.4905,
            types=("store",),
            category="Shop",
            words=(SEARCH_TERM,),
            street="Station Road",
            house_number="1",
            city=TOWN_NAME,
            country="GB",
            website=f"http://{main.name}/station",
            rating=4.0,
            reviews_count=3,
        )
    ]


def _format_title(name: str) -> str:
    return idna.decode(name).removesuffix(".example").replace("-", " ").title()


@dataclass(frozen=True)
class SearchOutcome:
    """State of the search, and of the places it found."""

    status: str
    result: dict[str, Any]
    error: str | None
    places: int
    businesses: int
    domains: int
    waiting: int
    """Places and businesses that are still being processed."""

    @property
    def has_ended(self) -> bool:
        return (
            self.status not in (JOB_STATUSES.queued, JOB_STATUSES.processing) and not self.waiting
        )


async def start_search(database: Database, settings: Settings) -> UUID:
    """Queue the search like any client. The stages do the rest."""
    body = SearchIn(business_type=SEARCH_TERM, location=TOWN_NAME)
    async with database.transaction() as session:
        actor = await get_system_actor(session, settings)
        job, _, _ = await request_search(session, actor, settings, body)
        return job.id


async def wait_until_ended(database: Database, search_id: UUID) -> SearchOutcome:
    """Wait until every place is a business and every website a domain.

    Return the current state if that takes longer than `MAX_WAIT_SECONDS`.
    """
    give_up_at = monotonic() + MAX_WAIT_SECONDS
    while True:
        outcome = await load_search_outcome(database, search_id)
        if outcome.has_ended or monotonic() > give_up_at:
            return outcome
        await asyncio.sleep(POLL_SECONDS)


async def load_search_outcome(database: Database, search_id: UUID) -> SearchOutcome:
    async with database.reading() as session:
        job = await session.get_one(Job, search_id)
        counts = await session.execute(
            select(
                select(func.count(Place.id)).scalar_subquery(),
                select(func.count(LocalBusiness.id)).scalar_subquery(),
                select(func.count(Domain.id)).scalar_subquery(),
                _count_waiting(Place.deep_scan_status, DEEP_SCAN_STATUSES)
                + _count_waiting(LocalBusiness.domain_extraction_status, EXTRACTION_STATUSES),
            )
        )
        return SearchOutcome(job.status, job.result_data or {}, job.error, *counts.one())


def _count_waiting(status: Any, words: Any) -> Any:
    on_its_way = status.in_((words.queued, words.processing))
    return select(func.count()).where(on_its_way).scalar_subquery()
