"""The town's businesses as a place provider knows them: most have a site, some have not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

import idna

from scrapersky.demo.provider import FakeArea, FakePlace
from scrapersky.demo.site import TownSite
from scrapersky.models import WhyEmpty
from scrapersky.scraper.providers.model import Area

TOWN = "Harbour Town"
LOOKED_FOR = "businesses"
AREA = Area(south=50.60, west=-2.50, north=50.64, east=-2.42)
COLUMNS = 8
STEP_DEGREES = 0.004
"""Some hundred metres between two doors, so that nobody takes them for one."""
WEBSITES = (
    "http://{}/",
    "http://{}/?utm_source=maps&utm_medium=listing",
    "HTTP://WWW.{}",
    "{}/",
)
"""As people type them."""

WITHOUT_A_SITE: tuple[tuple[FakePlace, WhyEmpty], ...] = (
    (
        FakePlace(
            name="Tea & Tide",
            latitude=50.6385,
            longitude=-2.4225,
            types=("tea_house",),
            category="Tea house",
            words=(LOOKED_FOR,),
            city=TOWN,
            country="GB",
            website="https://www.facebook.com/teaandtide/?ref=page_internal",
            rating=4.8,
            reviews_count=212,
        ),
        WhyEmpty.ONLY_SOCIAL,
    ),
    (
        FakePlace(
            name="Quayside Rooms",
            latitude=50.6345,
            longitude=-2.4225,
            types=("guest_house",),
            category="Guest house",
            words=(LOOKED_FOR,),
            city=TOWN,
            country="GB",
            website="https://www.booking.com/hotel/gb/quayside-rooms.en-gb.html?aid=7",
            rating=4.1,
            reviews_count=64,
        ),
        WhyEmpty.NO_WEBSITE,
    ),
    (
        FakePlace(
            name="Harbour Fish Stall",
            latitude=50.6305,
            longitude=-2.4225,
            types=("market",),
            category="Market",
            words=(LOOKED_FOR,),
            city=TOWN,
            country="GB",
            rating=4.6,
            reviews_count=38,
        ),
        WhyEmpty.NO_WEBSITE,
    ),
)
"""Each with what its lead says of it."""


def area() -> FakeArea:
    return FakeArea(TOWN, AREA, country="GB")


def places_of(sites: Sequence[TownSite]) -> tuple[FakePlace, ...]:
    written = zip(sites, cycle(WEBSITES), strict=False)
    doors = [
        _place(number, site, as_written.format(site.name))
        for number, (site, as_written) in enumerate(written)
    ]
    without = [each for each, _ in WITHOUT_A_SITE]
    return (*doors, *without, *_branches(sites))


def _place(number: int, site: TownSite, website: str) -> FakePlace:
    row, column = divmod(number, COLUMNS)
    return FakePlace(
        name=_title(site.name),
        latitude=round(AREA.south + (row + 1) * STEP_DEGREES, 6),
        longitude=round(AREA.west + (column + 1) * STEP_DEGREES, 6),
        types=("store",),
        category="Shop",
        words=(LOOKED_FOR,),
        street="Harbour Street",
        house_number=str(number + 1),
        city=TOWN,
        country="GB",
        website=website,
        rating=round(3 + number % 20 / 10, 1),
        reviews_count=5 + number * 7,
    )


def _branches(sites: Sequence[TownSite]) -> list[FakePlace]:
    """The first house has a second shop at the station, and one site for both."""
    if not sites:
        return []
    main = sites[0]
    return [
        FakePlace(
            name=f"{_title(main.name)} at the Station",
            latitude=50.6385,
            longitude=-2.4905,
            types=("store",),
            category="Shop",
            words=(LOOKED_FOR,),
            street="Station Road",
            house_number="1",
            city=TOWN,
            country="GB",
            website=f"http://{main.name}/station",
            rating=4.0,
            reviews_count=3,
        )
    ]


def _title(name: str) -> str:
    return idna.decode(name).removesuffix(".example").replace("-", " ").title()
