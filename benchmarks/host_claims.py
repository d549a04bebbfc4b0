"""Claims host by host beside claims in plain order, where one host has half of all the rows.

python -m benchmarks.host_claims

Two hundred hosts have 500 rows each, and one has 100,000 that have waited longest. A host may be
asked by so many rows at once; rows are held for twenty claims, then they end. Only the claims are
timed, and of the rows claimed only those count that found a place at their host: the others sit in
a worker's slot and wait at the gate.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from time import perf_counter
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, insert, select, text, update
from sqlalchemy.orm import Mapped, mapped_column

from benchmarks.processes import temporary_server
from scrapersky.db.base import Base, uuid7
from scrapersky.db.migrate import upgrade
from scrapersky.db.session import Database
from scrapersky.logging import configure_logging
from scrapersky.pipeline.claims import QueueStatements
from scrapersky.pipeline.loop import StageRunner
from scrapersky.pipeline.queue import StatusNames, declare_queue
from scrapersky.pipeline.slots import HeldRow
from scrapersky.pipeline.stage import AnyStage, Stage, Tools
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.settings import Settings, SettingsSource, load_settings

HOSTS, ROWS_EACH, ROWS_OF_THE_LARGE = 200, 500, 100_000
LARGE = "large.example"
LIMIT = 10
HELD_FOR = 20
"""Claims, after which a row has ended."""
WARM_UP, MEASURED = 30, 100
"""Claims."""
WORDS = StatusNames(queued="queued", processing="processing", done="done", failed="failed")


@declare_queue("status", words=WORDS, order=("host",))
class ByHostRow(Base):
    __tablename__ = "noop_by_host"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    host: Mapped[str]


@declare_queue("status", words=WORDS)
class PlainRow(Base):
    __tablename__ = "noop_plain"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    host: Mapped[str]


@declare_queue("status", words=WORDS)
class GatedRow(Base):
    __tablename__ = "noop_gated"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    host: Mapped[str]


async def work(item: str, tools: Tools) -> None:
    """Nothing: only claims are measured."""


BY_HOST: AnyStage = Stage(
    name="by_host",
    does="Nothing.",
    model=ByHostRow,
    status="status",
    words=WORDS,
    prefix="BY_HOST",
    read=lambda row: row.host,
    work=work,
    host="host",
)
PLAIN: AnyStage = replace(BY_HOST, name="plain", model=PlainRow, prefix="PLAIN", host=None)
GATED: AnyStage = replace(PLAIN, name="gated", model=GatedRow, prefix="GATED")


class Gated(QueueStatements):
    """In plain order, but none of a host whose places are taken: what one would write first."""

    places: int

    def is_due(self) -> ColumnElement[bool]:
        full = (
            select(self.model.host)
            .where(self.is_processing())
            .group_by(self.model.host)
            .having(func.count() >= self.places)
        )
        return and_(super().is_due(), self.model.host.not_in(full))


@dataclass
class Tally:
    seconds: float = 0.0
    claims: int = 0
    rows: int = 0
    with_a_place: int = 0

    def __str__(self) -> str:
        return (
            f"{self.ms_each:7.2f} ms a claim, {self.rate:6.0f} rows/s with a place; "
            f"{self.with_a_place} of {self.rows} rows had one"
        )

    @property
    def ms_each(self) -> float:
        return self.seconds / self.claims * 1000

    @property
    def rate(self) -> float:
        """Rows a second that found a place."""
        return self.with_a_place / self.seconds


class Trial:
    """One way of claiming, with rows that are held for a while and then end."""

    def __init__(self, runner: StageRunner, places: int) -> None:
        self._runner, self._places = runner, places
        self._held: deque[Sequence[HeldRow]] = deque()
        self._in_flight: Counter[str] = Counter()
        self.tally = Tally()

    async def claim(self) -> None:
        began = perf_counter()
        claimed = await self._runner.claim(LIMIT)
        self.tally.seconds += perf_counter() - began
        self.tally.claims += 1
        self.tally.rows += len(claimed)
        for each in claimed:
            self._in_flight[each.item] += 1
            self.tally.with_a_place += self._in_flight[each.item] <= self._places
        self._held.append(claimed)
        if len(self._held) > HELD_FOR:
            await self._end(self._held.popleft())

    async def _end(self, rows: Sequence[HeldRow]) -> None:
        model = self._runner.stage.model
        ids = [each.claim.row_id for each in rows]
        self._in_flight.subtract(each.item for each in rows)
        async with self._runner.database.transaction() as session:
            await session.execute(
                update(model.__table__).where(model.__table__.c.id.in_(ids)).values(status="done")
            )


async def fill(database: Database, stage: AnyStage) -> None:
    table = stage.model.__table__
    async with database.engine.begin() as connection:
        await connection.run_sync(table.create)
        for rows, host, waited in (
            (HOSTS * ROWS_EACH, text(f"'host' || n % {HOSTS} || '.example'"), timedelta(0)),
            (ROWS_OF_THE_LARGE, text(f"'{LARGE}'"), timedelta(hours=1)),
        ):
            number = func.generate_series(1, rows).table_valued(name="n").alias("n")
            source = select(func.gen_random_uuid(), host, func.now() - waited).select_from(number)
            await connection.execute(insert(table).from_select(["id", "host", "due_at"], source))
        await connection.execute(text(f"ANALYZE {table.name}"))


def trial(database: Database, settings: Settings, stage: AnyStage, *, gated: bool = False) -> Trial:
    runner = StageRunner(
        stage,
        database=database,
        worker=WorkerIdentity(),
        tools=Tools(fetch=None, settings=settings),  # type: ignore[arg-type]
        settings=settings,
    )
    if gated:
        Gated.places = settings.host_concurrency
        runner.claims = Gated(stage)
    return Trial(runner, settings.host_concurrency)


async def measure(url: str) -> dict[str, Tally]:
    """Interleaved, so that whatever disturbs the machine disturbs all of them."""
    settings = load_settings(SettingsSource(environ={}, env_file=None))
    database = Database(url, pool_size=5)
    await upgrade(database)
    for stage in (BY_HOST, GATED, PLAIN):
        await fill(database, stage)
    trials = {
        "host by host": trial(database, settings, BY_HOST),
        "plain order, full hosts left out": trial(database, settings, GATED, gated=True),
        "plain order": trial(database, settings, PLAIN),
    }
    for number in range(WARM_UP + MEASURED):
        for each in trials.values():
            if number == WARM_UP:
                each.tally = Tally()
            await each.claim()
    await database.close()
    return {name: each.tally for name, each in trials.items()}


def main() -> int:
    configure_logging(level="error")
    with temporary_server() as server:
        found = asyncio.run(measure(server.url("scrapersky")))
    for name, tally in found.items():
        print(f"{name:34}{tally}")
    ours, gated, plain = found.values()
    print(f"host by host claims {ours.rate / gated.rate:.1f} × as many rows a second as the gated")
    print(f"and one claim takes {ours.ms_each / plain.ms_each:.1f} × as long as the plain one")
    return 0


if __name__ == "__main__":
    sys.exit(main())
