"""Places to scan, and runners that scan them at a fake provider."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, update

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import CostMeter, LocalBusiness, Place
from scrapersky.pipeline import workers
from scrapersky.pipeline.loop import StageRunner, run_job_loop
from scrapersky.pipeline.stage import Tools
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.places import deep_scan
from scrapersky.places.budget.ledger import get_provider_time
from scrapersky.scraper.http.addresses import AddressRules
from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.providers.google import DETAILS_FULL
from scrapersky.scraper.providers.prices import get_price, get_sku
from scrapersky.settings import Settings
from scrapersky.testing import FakePlace, PlacesProvider
from tests.stage_cases import OWNED

LOOPBACK = AddressRules(allowed_networks=(ipaddress.ip_network("127.0.0.0/8"),))
SKU = DETAILS_FULL.sku
FREE = get_sku(SKU).free_a_month or 0
PRICE = get_price(SKU, already=FREE, free_tier=True).usd


def queued(place_id: str, **more: Any) -> Place:
    return Place(
        id=uuid7(),
        **{
            "provider": "google",
            "place_id": place_id,
            "deep_scan_status": "Queued",
            **OWNED,
            **more,
        },
    )


@dataclass
class Scanner:
    """Runs the stage on one database."""

    database: Database
    settings: Settings
    fetch: Fetcher

    async def add(self, *places: Place) -> list[UUID]:
        async with self.database.transaction() as session:
            session.add_all(places)
            return [each.id for each in places]

    async def run(self, **pace: Any) -> None:
        await run_job_loop(await self.runner())

    async def runner(self) -> StageRunner:
        worker = WorkerIdentity()
        async with self.database.transaction() as session:
            await workers.record_heartbeat(session, worker)
        return StageRunner(
            deep_scan.STAGE,
            database=self.database,
            worker=worker,
            tools=Tools(fetch=self.fetch, settings=self.settings),
            settings=self.settings,
        )

    async def scan(self, *places: Place) -> list[Place]:
        """Stored, worked, and read again."""
        ids = await self.add(*places)
        await self.run()
        return [await self.place(each) for each in ids]

    async def place(self, row_id: UUID) -> Place:
        async with self.database.reading() as session:
            return await session.get_one(Place, row_id)

    async def named(self, place_id: str) -> Place:
        async with self.database.reading() as session:
            found = await session.scalar(select(Place).where(Place.place_id == place_id))
            assert found is not None, place_id
            return found

    async def business(self, place: Place) -> LocalBusiness:
        assert place.local_business_id is not None
        async with self.database.reading() as session:
            return await session.get_one(LocalBusiness, place.local_business_id)

    async def again(self, place: Place, **changes: Any) -> Place:
        """Queued and worked once more."""
        async with self.database.transaction() as session:
            await session.execute(
                update(Place)
                .where(Place.id == place.id)
                .values(deep_scan_status="Queued", deep_scan_due_at=func.now(), **changes)
            )
        await self.run()
        return await self.place(place.id)


@asynccontextmanager
async def scanning(database: Database, settings: Settings) -> AsyncIterator[Scanner]:
    async with Fetcher(user_agent="test", rules=LOOPBACK) as fetch:
        yield Scanner(database, settings, fetch)


async def use_up_free_requests(database: Database, provider: PlacesProvider) -> None:
    """From now on every request costs, here and there."""
    provider.bill.before[SKU] = FREE
    async with database.transaction() as session:
        time = await get_provider_time(session)
        session.add(CostMeter(provider="google", sku=SKU, month=time.month, requests=FREE))


def bakery(**more: Any) -> FakePlace:
    return FakePlace(
        **{
            "name": "Bäckerei Berger",
            "latitude": 51.34,
            "longitude": 12.37,
            "street": "Hauptstraße",
            "house_number": "1",
            "postal_code": "04109",
            "city": "Leipzig",
            "phone": "+49 341 2000001",
            "website": "http://berger.example/",
            "rating": 4.5,
            "reviews_count": 12,
            **more,
        }
    )
