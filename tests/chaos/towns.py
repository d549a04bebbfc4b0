"""Towns on the map of a provider that is slow and sometimes fails."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from decimal import Decimal

from scrapersky.scraper.providers import Area
from scrapersky.testing import FailureMode, FakePlace, PlacesProvider, scatter
from tests.effort import CHAOS_SECONDS

TOWNS, PLACES = 4 if CHAOS_SECONDS else 2, 25
"""Each town is two pages long."""
CAP_USD = Decimal("0.375") * TOWNS
"""For the time of trouble: half of what the towns cost with all their details. The rest waits for
the operator, who raises it when all is over."""
ANSWER_SECONDS = 0.1
FAULTS = (FailureMode.SERVER_ERROR, FailureMode.UNAVAILABLE, FailureMode.CUT, FailureMode.TRUNCATED)
FAULTY = 0.3
"""The share of searches during which something goes wrong at the provider."""


@dataclass(frozen=True)
class Town:
    number: int

    @property
    def area(self) -> Area:
        """Far from all others."""
        return Area(51.0, 10.0 + self.number, 51.2, 10.3 + self.number)

    @property
    def places(self) -> Sequence[FakePlace]:
        """Each with a telephone of its own: nobody shall take two of them for one business."""
        found = scatter(PLACES, self.area, seed=self.number + 1, city=f"Town {self.number}")
        return [
            replace(each, phone=f"+49 34{self.number} {3_000_000 + 1_000 * number}")
            for number, each in enumerate(found)
        ]

    @property
    def wanted(self) -> dict[str, object]:
        """The search for it, as it is asked for."""
        sides = {side: getattr(self.area, side) for side in ("south", "west", "north", "east")}
        return {"business_type": "bakeries", "area": sides, "max_results": 60}


def build_towns() -> list[Town]:
    return [Town(number) for number in range(TOWNS)]


@asynccontextmanager
async def selling(towns: Sequence[Town]) -> AsyncIterator[PlacesProvider]:
    """A provider at which every request costs money."""
    places = [place for town in towns for place in town.places]
    async with PlacesProvider(places, free_tier=False) as provider:
        provider.answer_seconds = ANSWER_SECONDS
        yield provider


def disturb(provider: PlacesProvider, rng: random.Random) -> None:
    """Sometimes, one of the next requests goes wrong."""
    if rng.random() < FAULTY:
        provider.fail(rng.choice(FAULTS), retry_after=1)


def environ_of(provider: PlacesProvider) -> dict[str, str]:
    """Every place is asked for its details, too, as if those of the search were old by then."""
    return {
        **provider.environment(),
        "GOOGLE_FREE_REQUESTS": "false",
        "PLACES_MONTHLY_CAP_USD": str(CAP_USD),
        "PLACE_DETAILS_MAX_AGE_DAYS": "0.0000001",
        "AUTO_EXTRACT_DOMAINS": "false",
        "PLACE_SEARCH_SCHEDULER_MAX_ATTEMPTS": "8",
    }
