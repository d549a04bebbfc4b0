"""What a search of a thousand places is billed, beside full pages and beside plain quarters.

python -m benchmarks.place_search
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from scrapersky.auth.service import get_system_actor
from scrapersky.db.embedded import EmbeddedPostgres
from scrapersky.db.migrate import upgrade
from scrapersky.db.session import Database
from scrapersky.logging import configure_logging
from scrapersky.models import Job
from scrapersky.pipeline.engine import run_engine
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.places.search import execution, service
from scrapersky.places.search.schemas import SearchIn
from scrapersky.scraper.providers.geography import contains, split_area
from scrapersky.scraper.providers.model import Area
from scrapersky.scraper.providers.prices import get_total_price
from scrapersky.settings import Settings, SettingsSource, load_settings
from scrapersky.testing import FakePlace, PlacesProvider

PLACES = 1_000
TOWN = Area(51.24, 12.20, 51.44, 12.55)
AT_MOST = 1.2
"""Times the requests that full pages would take."""
PAID, FREE = "text_search.enterprise", "text_search.ids"


@dataclass(frozen=True)
class Billed:
    layout: str
    found: int
    paid: int
    free: int
    quarters: int
    """Requests that cost, were every quarter with sixty at most asked by itself."""
    usd: str
    seconds: float

    @property
    def times_ideal(self) -> float:
        return self.paid / ceil(self.found / 20)


def uniform(chance: random.Random) -> Sequence[tuple[float, float]]:
    return [
        (chance.uniform(TOWN.south, TOWN.north), chance.uniform(TOWN.west, TOWN.east))
        for _ in range(PLACES)
    ]


def clustered(chance: random.Random) -> Sequence[tuple[float, float]]:
    """Six quarters of a town, and one in ten anywhere."""
    middles = [(chance.uniform(51.27, 51.41), chance.uniform(12.25, 12.50)) for _ in range(6)]
    return [
        anywhere if chance.random() < 0.1 else _near(chance, chance.choice(middles))
        for anywhere in uniform(chance)
    ]


def one_street(chance: random.Random) -> Sequence[tuple[float, float]]:
    return [(chance.gauss(51.34, 0.0004), chance.uniform(12.3, 12.4)) for _ in range(PLACES)]


def _near(chance: random.Random, middle: tuple[float, float]) -> tuple[float, float]:
    return chance.gauss(middle[0], 0.004), chance.gauss(middle[1], 0.006)


LAYOUTS: dict[str, Callable[[random.Random], Sequence[tuple[float, float]]]] = {
    "uniform": uniform,
    "clustered": clustered,
    "one street": one_street,
}


def by_quarters(points: Sequence[tuple[float, float]], area: Area) -> int:
    inside = [each for each in points if contains(area, *each)]
    if len(inside) < 60:
        return ceil(len(inside) / 20)
    return sum(by_quarters(inside, each) for each in split_area(area))


@asynccontextmanager
async def a_database() -> AsyncIterator[str]:
    with TemporaryDirectory() as folder:
        postgres = EmbeddedPostgres(Path(folder) / "data")
        address = await asyncio.to_thread(postgres.acquire)
        try:
            yield address.url
        finally:
            await asyncio.to_thread(postgres.release)
            await asyncio.to_thread(postgres.destroy)


def settings_for(url: str, provider: PlacesProvider) -> Settings:
    named = {name.lower(): value for name, value in provider.environment().items()}
    source = SettingsSource(environ={}, env_file=None)
    return load_settings(source, database_url=url, host_delay_ms=0, **named)


async def searched(database: Database, settings: Settings, layout: str) -> Job:
    wanted = SearchIn(
        business_type="bakeries",
        location=layout,
        area={side: getattr(TOWN, side) for side in ("south", "west", "north", "east")},
        max_results=PLACES,
        go_on=False,
    )
    async with database.transaction() as session:
        actor = await get_system_actor(session, settings)
        job, _, _ = await service.request_search(session, actor, settings, wanted)
    async with run_engine(database, settings, [execution.STAGE]) as engine:
        await run_job_loop(engine.runner(execution.STAGE.name))
    async with database.reading() as session:
        return await session.get_one(Job, job.id)


async def measured(database: Database, url: str, layout: str) -> Billed:
    points = LAYOUTS[layout](random.Random(layout))
    places = [
        FakePlace(name=f"Bakery {layout} {n}", latitude=latitude, longitude=longitude)
        for n, (latitude, longitude) in enumerate(points)
    ]
    async with PlacesProvider(places) as provider:
        began = perf_counter()
        job = await searched(database, settings_for(url, provider), layout)
        seconds = perf_counter() - began
        bill = provider.bill
    return Billed(
        layout,
        int((job.result_data or {})["found"]),
        bill.billed[PAID],
        bill.billed[FREE],
        by_quarters(points, TOWN),
        f"{get_total_price(PAID, bill.billed[PAID], already=0, free_tier=False):.2f}",
        seconds,
    )


async def measure() -> list[Billed]:
    async with a_database() as url:
        database = Database(url, pool_size=10)
        await upgrade(database)
        billed = [await measured(database, url, each) for each in LAYOUTS]
        await database.close()
        return billed


def main() -> int:
    configure_logging(level="error")
    billed = asyncio.run(measure())
    titles = ("layout", "found", "paid", "× ideal", "quarters", "free", "USD at list", "seconds")
    rows = [
        (
            each.layout,
            f"{each.found:,}",
            str(each.paid),
            f"{each.times_ideal:.2f}",
            str(each.quarters),
            str(each.free),
            each.usd,
            f"{each.seconds:.1f}",
        )
        for each in billed
    ]
    for row in [titles, *rows]:
        sys.stdout.write("".join(f"{cell:>13}" for cell in row) + "\n")
    kept = all(each.times_ideal <= AT_MOST for each in billed)
    sys.stdout.write(f"at most {AT_MOST} × full pages: {'yes' if kept else 'NO'}\n")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
