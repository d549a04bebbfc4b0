"""A worker is killed at each line around a paid request; another one ends what it began.

Whatever is lost with it: every place is there once, the ledger never says less than the provider's
bill, and no cent is spent beyond the cap. Each errand here is three paid requests long when nobody
dies: a search of three pages, the details of three places, or of one that moved twice.
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Select, func, select

from scrapersky.db.session import Database
from scrapersky.models import (
    DEEP_SCAN_STATUSES,
    JOB_STATUSES,
    CostEntry,
    CostMonth,
    CostState,
    Job,
    Place,
    SearchPlace,
)
from scrapersky.models.stage_names import DEEP_SCAN_STAGE, SEARCH_STAGE
from scrapersky.pipeline.tables import EventKind, StageEvent
from scrapersky.places.budget.charges import BUDGET_EXHAUSTED
from scrapersky.places.budget.service import set_allowance
from scrapersky.scraper.providers.google import DETAILS_FULL, SEARCH_FULL
from scrapersky.scraper.providers.prices import get_price
from scrapersky.testing import FailureMode, FakePlace, PlacesProvider, ProviderService, scatter
from tests.conftest import make_settings
from tests.places.conftest import LEIPZIG
from tests.places.deep_scans import bakery, queued
from tests.places.pauses import (
    SECOND,
    Moment,
    answered_and_not_stored,
    charged_and_not_sent,
    sent_and_not_answered,
    stored_and_not_ended,
)
from tests.places.searches import ACTOR, asked
from tests.processes import HASTY, Program, running

PATIENCE_SECONDS = 300
AREA = {side: getattr(LEIPZIG, side) for side in ("south", "west", "north", "east")}
PAGES = scatter(60, LEIPZIG)
"""Three of them, twenty places each."""
THREE = scatter(3, LEIPZIG)
CHAIN = [f"ChIJ-place-{number}" for number in range(3)]
"""A place, where it moved to, and where it moved to then."""
MOVED = tuple(
    bakery(place_id=here, moved_to=there)
    for here, there in zip(CHAIN, [*CHAIN[1:], None], strict=True)
)


@dataclass(frozen=True)
class Errand:
    """Something that takes three paid requests, one after the other."""

    name: str
    stage: str
    sku: str
    world: Sequence[FakePlace]
    scanned: Sequence[str] = ()
    """The places that are to be asked for; the search asks for an area."""
    between: frozenset[str] = frozenset()
    """Places that are steps on the way to another; they are not kept."""

    @property
    def price(self) -> Decimal:
        return get_price(self.sku, already=0, free_tier=False).usd

    @property
    def stored(self) -> set[str]:
        """The places that are there in the end."""
        return {each.place_id for each in self.world} - self.between

    async def give(self, database: Database, url: str) -> None:
        if self.stage == SEARCH_STAGE:
            settings = make_settings(url, google_places_api_key="as the worker has it")
            wanted: dict[str, Any] = {
                "location": None,
                "area": AREA,
                "max_results": 60,
                "go_on": False,
            }
            await asked(database, settings, **wanted)
        else:
            async with database.transaction() as session:
                session.add_all(queued(each) for each in self.scanned)

    async def left(self, database: Database) -> set[str]:
        """How the rows stand that are not done; those that wait for money say so."""
        rows: Select[str, str | None] = select(Job.status, Job.error)
        if self.stage == DEEP_SCAN_STAGE:
            rows = select(Place.deep_scan_status, Place.deep_scan_error)
        async with database.reading() as session:
            return {
                WAITS if (error or "").startswith(BUDGET_EXHAUSTED) else status
                for status, error in await session.execute(rows)
                if status not in (JOB_STATUSES.done, DEEP_SCAN_STATUSES.done)
            }


WAITS = "waits for money"
SEARCH = Errand("search", SEARCH_STAGE, SEARCH_FULL.sku, PAGES)
DETAILS = Errand(
    "details", DEEP_SCAN_STAGE, DETAILS_FULL.sku, THREE, [each.place_id for each in THREE]
)
MOVES = Errand(
    "moves", DEEP_SCAN_STAGE, DETAILS_FULL.sku, MOVED, CHAIN[:1], between=frozenset({CHAIN[1]})
)


@dataclass(frozen=True)
class Crash:
    """An errand, when its worker is killed, and what it comes to in requests."""

    errand: Errand
    moment: Moment
    standing: tuple[int, int, int]
    """At that moment: entries that are settled, entries that are not, requests that arrived."""
    charged: int
    """In the end."""
    billed: int
    rescues: int = 1

    @property
    def name(self) -> str:
        return f"{self.errand.name}-{self.moment.__name__}"


OF_UNKNOWN_END = [
    Crash(errand, moment, standing, charged=4, billed=billed)
    for errand in (SEARCH, DETAILS)
    for moment, standing, billed in (
        (charged_and_not_sent, (2, 1, 2), 3),
        (sent_and_not_answered, (1, 1, 2), 4),
        (answered_and_not_stored, (1, 1, 2), 4),
    )
]
OF_KNOWN_END = [
    Crash(SEARCH, stored_and_not_ended, (3, 0, 3), charged=3, billed=3),
    # The completion is one statement: the server carries it out although its client was killed.
    Crash(DETAILS, stored_and_not_ended, (2, 0, 2), charged=3, billed=3, rescues=0),
]
AMID_MOVES = Crash(MOVES, charged_and_not_sent, (2, 1, 2), charged=6, billed=5)
"""What two requests told is settled, but not stored: the whole chain is asked for again."""


@dataclass(frozen=True)
class Scene:
    crash: Crash
    database: Database
    provider: PlacesProvider
    environ: Mapping[str, str]
    logs: Path

    async def kill_a_worker(self) -> None:
        """At the moment, and no line before or after it."""
        async with self.worker("dies") as worker, asyncio.timeout(PATIENCE_SECONDS):
            await self.provider.wait_for_requests(SECOND)
            async with self.crash.moment(self.database, self.provider):
                entries = await self.entries()
                settled = entries.pop(CostState.BILLED)
                arrived = self.provider.counts[ProviderService.GOOGLE]
                assert (settled, entries.total(), arrived) == self.crash.standing, worker.said()
                worker.send(signal.SIGKILL)
                await worker.ended()

    def worker(self, name: str) -> AbstractAsyncContextManager[Program]:
        stage = self.crash.errand.stage
        log = self.logs / f"{name}.log"
        return running("worker", "--stage", stage, environ=self.environ, log=log)

    async def until_left(self, *left: str) -> None:
        """Until no row is in any other state; without a state: until all is done."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await self.crash.errand.left(self.database) != set(left):
                await asyncio.sleep(0.05)

    async def entries(self) -> Counter[str]:
        """Requests in the ledger, by what is known of them."""
        async with self.database.reading() as session:
            return Counter(await session.scalars(select(CostEntry.state)))

    async def check_money(self, cap: Decimal) -> None:
        counted = select(func.sum(CostEntry.usd)).where(CostEntry.state != CostState.NOT_BILLED)
        async with self.database.reading() as session:
            ledger = await session.scalar(counted)
            month = await session.scalar(select(CostMonth.spent_usd))
            told = await session.scalar(select(Job.result_data["cost_usd"].astext))
        assert ledger is not None
        assert month is not None
        assert self.provider.bill.usd <= ledger == month <= cap
        assert told is None or Decimal(told) == ledger, "what the search says that it cost"

    async def check_places(self) -> None:
        async with self.database.reading() as session:
            found = list(await session.scalars(select(Place.place_id)))
            links = list(await session.scalars(select(SearchPlace.place_id)))
            rescued = select(func.count()).where(StageEvent.kind == EventKind.RESCUED)
            assert await session.scalar(rescued) == self.crash.rescues
        assert Counter(found) == Counter(self.crash.errand.stored)
        if self.crash.errand is SEARCH:
            assert len(set(links)) == len(links) == len(found)


@asynccontextmanager
async def given(
    crash: Crash, database: Database, url: str, logs: Path, *, cap: Decimal
) -> AsyncIterator[Scene]:
    """The errand is there to be worked; the provider will keep the second request waiting."""
    async with PlacesProvider(crash.errand.world, free_tier=False) as provider:
        provider.fail(FailureMode.SLOW, at=SECOND)
        environ = {
            **HASTY,
            **provider.environment(),
            "DATABASE_URL": url,
            "GOOGLE_FREE_REQUESTS": "false",
            "HOST_DELAY_MS": "0",
            "PLACES_MONTHLY_CAP_USD": str(cap),
            "SCRAPERSKY_DATA_DIR": str(logs),
            "DEEP_SCAN_SCHEDULER_CONCURRENCY": "1",
            # The test raises the budget itself, and wakes nobody.
            "PLACE_SEARCH_SCHEDULER_INTERVAL_MINUTES": "0.01",
            "DEEP_SCAN_SCHEDULER_INTERVAL_MINUTES": "0.01",
            # The one that is killed is noticed by its pid; a slow one shall not be taken for dead.
            "WORKER_DEAD_AFTER_SECONDS": "120",
        }
        await crash.errand.give(database, url)
        yield Scene(crash, database, provider, environ, logs)


@pytest.mark.parametrize("crash", OF_UNKNOWN_END, ids=lambda each: each.name)
async def test_a_request_whose_end_nobody_knows_counts_as_billed_until_there_is_money_for_another(
    crash: Crash, url: str, database: Database, tmp_path: Path
) -> None:
    enough = crash.errand.price * crash.charged
    too_little = enough - crash.errand.price / 2

    async with given(crash, database, url, tmp_path, cap=too_little) as scene:
        await scene.kill_a_worker()
        await scene.check_money(too_little)
        async with scene.worker("takes-over"):
            await scene.until_left(WAITS)
            await scene.check_money(too_little)
            async with database.transaction() as session:
                await set_allowance(session, ACTOR, ACTOR.tenant_id, enough)
            await scene.until_left()

    await scene.check_money(enough)
    await scene.check_places()
    entries = await scene.entries()
    assert entries == {CostState.BILLED: crash.charged - 1, CostState.ASKED: 1}
    assert scene.provider.bill.paid == crash.billed


@pytest.mark.parametrize("crash", OF_KNOWN_END, ids=lambda each: each.name)
async def test_what_was_stored_with_its_settlement_is_not_paid_for_again(
    crash: Crash, url: str, database: Database, tmp_path: Path
) -> None:
    entries = await taken_over(crash, database, url, tmp_path)

    assert entries == {CostState.BILLED: crash.charged}


async def test_a_place_that_moved_is_followed_anew_and_each_request_is_counted(
    url: str, database: Database, tmp_path: Path
) -> None:
    entries = await taken_over(AMID_MOVES, database, url, tmp_path)

    assert entries == {CostState.BILLED: AMID_MOVES.charged - 1, CostState.ASKED: 1}


async def taken_over(crash: Crash, database: Database, url: str, logs: Path) -> Counter[str]:
    """The ledger when all is done, with a budget of exactly what it takes."""
    enough = crash.errand.price * crash.charged
    async with given(crash, database, url, logs, cap=enough) as scene:
        await scene.kill_a_worker()
        await scene.check_money(enough)
        async with scene.worker("takes-over"):
            await scene.until_left()
    await scene.check_money(enough)
    await scene.check_places()
    assert scene.provider.bill.paid == crash.billed
    return await scene.entries()
