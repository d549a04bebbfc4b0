"""Four worker processes reach the cap at the same time, and it is not exceeded by a cent."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.models import CostEntry, CostMonth, CostState, Place
from scrapersky.models.stage_names import DEEP_SCAN_STAGE
from scrapersky.pipeline.tables import Worker
from scrapersky.places.budget.charges import BUDGET_EXHAUSTED
from scrapersky.testing import PlacesProvider, scatter
from tests.places.conftest import LEIPZIG
from tests.places.deep_scans import PRICE, queued
from tests.processes import running

PLACES = 40
AFFORDABLE = 17
CAP = PRICE * AFFORDABLE + PRICE / 2
"""Half a request more than so many cost: not a cent of it may be spent."""


async def standing(database: Database) -> Counter[str]:
    """How many places are done, wait for money, or anything else."""
    async with database.reading() as session:
        found = await session.execute(select(Place.deep_scan_status, Place.deep_scan_error))
        return Counter(
            "waits"
            if (each.deep_scan_error or "").startswith(BUDGET_EXHAUSTED)
            else each.deep_scan_status
            for each in found
        )


async def beating(database: Database) -> int:
    async with database.reading() as session:
        return await session.scalar(select(func.count()).select_from(Worker)) or 0


async def test_four_workers_at_once_do_not_pass_the_cap(
    url: str, database: Database, tmp_path: Path
) -> None:
    async with (
        PlacesProvider(scatter(PLACES, LEIPZIG), free_tier=False) as provider,
        AsyncExitStack() as started,
    ):
        environ = {
            **provider.environment(),
            "DATABASE_URL": url,
            "LOG_LEVEL": "warning",
            "GOOGLE_FREE_REQUESTS": "false",
            "PLACES_MONTHLY_CAP_USD": str(CAP),
            "DEEP_SCAN_SCHEDULER_BATCH_SIZE": "4",
            "DEEP_SCAN_SCHEDULER_INTERVAL_MINUTES": "0.01",
            "HOST_CONCURRENCY": "16",
            "HOST_DELAY_MS": "0",
            "SCRAPERSKY_DATA_DIR": str(tmp_path),
        }
        workers = [
            await started.enter_async_context(
                running(
                    "worker",
                    "--stage",
                    DEEP_SCAN_STAGE,
                    environ=environ,
                    log=tmp_path / f"worker{n}.log",
                )
            )
            for n in range(4)
        ]
        async with asyncio.timeout(600):
            while await beating(database) < len(workers):
                assert all(each.process.poll() is None for each in workers), workers[0].said()
                await asyncio.sleep(0.1)
            async with database.transaction() as session:
                session.add_all(queued(each.place_id) for each in provider.map.places)
            while (await standing(database)).keys() - {"Completed", "waits"}:
                assert all(each.process.poll() is None for each in workers), workers[0].said()
                await asyncio.sleep(0.1)
        billed, ends = provider.bill.usd, await standing(database)
    async with database.reading() as session:
        spent = await session.scalar(select(CostMonth.spent_usd))
        assert spent is not None
        counted = await session.scalar(
            select(func.sum(CostEntry.usd)).where(CostEntry.state != CostState.NOT_BILLED)
        )
    # All of the budget that can be spent is; the provider bills no more than was counted.
    assert billed <= PRICE * AFFORDABLE == counted == spent < CAP
    assert ends.total() == PLACES
    assert 0 < ends["Completed"] <= AFFORDABLE
