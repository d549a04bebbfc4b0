"""The queue as a state machine: whatever happens in whatever order, its promises hold.

Hypothesis picks what happens next (enqueue, claim, complete, fail, beat, crash, time, rescue,
cancel, replay, ask a host); the real statements do it in a real database; a model of a few lines
says what must have come of it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.pipeline import dead_letters, workers
from scrapersky.pipeline.bulk import is_letter_open
from scrapersky.pipeline.hosts import HostGate, SlotReservation
from scrapersky.pipeline.loop import StageRunner
from scrapersky.pipeline.outcome import (
    AttemptOutcome,
    build_completed,
    build_error_outcome,
    build_handed_back,
    build_interruption_outcome,
    build_outage_outcome,
)
from scrapersky.pipeline.queue import ISOLATE_AFTER_RESCUES, Claim
from scrapersky.pipeline.rescue import Rescuer
from scrapersky.pipeline.settle import settle
from scrapersky.pipeline.stage import AnyStage, Tools
from scrapersky.pipeline.tables import DeadLetter, Host, HostSlot, StageEvent, Worker
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.settings import Settings
from tests import noop_hosts, stage_cases
from tests.conftest import make_settings
from tests.effort import choose
from tests.noop import NOOP, NoopRow
from tests.noop_hosts import HOSTED, HostedRow

EXAMPLES, STEPS = choose({"Queue": 12, "QueueByHost": 6}, {"Queue": 300, "QueueByHost": 120}), 40
MAX_ATTEMPTS = 3
WORKERS = range(3)
HOST, HOST_LIMIT = "bakery.example", 2
HOSTS = (HOST, "florist.example", "")

T = TypeVar("T")


async def _store(session: AsyncSession, row: Any, result: UUID) -> None:
    """Not idempotent on purpose: an effect that happens twice shows."""
    row.effects += 1


def _tried(stage: AnyStage) -> AnyStage:
    pace = replace(stage.pace, max_attempts=MAX_ATTEMPTS, timeout_seconds=5)
    return replace(stage, store=_store, pace=pace)


@dataclass
class Expected:
    """What a row must look like."""

    status: str = "queued"
    attempts: int = 0
    token: UUID | None = None
    effects: int = 0
    rescues: int = 0
    interruptions: int = 0


@dataclass
class Place:
    """One worker: what it believes to hold, whether or not that is still true."""

    runner: StageRunner
    gate: HostGate
    believes: list[Claim] = field(default_factory=list)
    turns: list[SlotReservation] = field(default_factory=list)


class Surroundings:
    """The database and the loop that all examples share."""

    def __init__(self, url: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.settings: Settings = make_settings(url, host_concurrency=HOST_LIMIT)
        self.database = Database(url, pool_size=5)
        self.run(stage_cases.prepare(self.database))
        self.run(noop_hosts.prepare(self.database))

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(coroutine)

    def close(self) -> None:
        self.run(self.database.close())
        self.loop.close()


class Queue(RuleBasedStateMachine):
    surroundings: Surroundings
    stage: AnyStage = _tried(NOOP)
    model: Any = NoopRow

    @initialize()
    def begin(self) -> None:
        self.rows: dict[UUID, Expected] = {}
        self.places = [self._place() for _ in WORKERS]
        self.run(self._clear())

    def _place(self) -> Place:
        around, worker = self.surroundings, WorkerIdentity()
        runner = StageRunner(
            self.stage,
            database=around.database,
            worker=worker,
            tools=Tools(fetch=None, settings=around.settings),  # type: ignore[arg-type]
            settings=around.settings,
        )
        return Place(runner, HostGate(around.database, around.settings, worker_id=worker.id))

    async def _clear(self) -> None:
        async with self.database.transaction() as session:
            for table in (self.model, DeadLetter, StageEvent, Worker, HostSlot, Host):
                await session.execute(delete(table))
            session.add(Host(host=HOST))
        for place in self.places:
            await self._beat(place)

    @property
    def database(self) -> Database:
        return self.surroundings.database

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.surroundings.run(coroutine)

    # What may happen

    @rule(hosts=st.lists(st.sampled_from(HOSTS), min_size=1, max_size=3))
    def enqueue(self, hosts: Sequence[str]) -> None:
        async def act() -> list[UUID]:
            async with self.database.transaction() as session:
                rows = [self._new_row(host) for host in hosts]
                session.add_all(rows)
                return [row.id for row in rows]

        self.rows |= {row_id: Expected() for row_id in self.run(act())}

    def _new_row(self, host: str) -> Any:
        return NoopRow(id=uuid7())

    @rule(number=st.sampled_from(WORKERS), wanted=st.integers(1, 4))
    def claim(self, number: int, wanted: int) -> None:
        place = self.places[number]
        held = self.run(place.runner.claim(wanted))
        assert len(held) <= wanted
        for each in held:
            row = self.rows[each.claim.row_id]
            assert row.status == "queued", "claimed although somebody else had it"
            row.status, row.token, row.attempts = "processing", each.claim.token, row.attempts + 1
            assert each.claim.attempts == row.attempts
            place.believes.append(each.claim)

    @rule(number=st.sampled_from(WORKERS), pick=st.integers(0, 9))
    def complete(self, number: int, pick: int) -> None:
        self._end(number, pick, lambda claim: build_completed(claim, claim.row_id))

    @rule(number=st.sampled_from(WORKERS), pick=st.integers(0, 9))
    def fail(self, number: int, pick: int) -> None:
        rules = self.places[number].runner.rule
        self._end(number, pick, lambda claim: build_error_outcome(claim, OSError("away"), rules))

    @rule(number=st.sampled_from(WORKERS), pick=st.integers(0, 9))
    def interrupt(self, number: int, pick: int) -> None:
        """A database outage ends the attempt."""
        self._end(number, pick, lambda claim: build_outage_outcome(claim, OSError("away")))

    @rule(number=st.sampled_from(WORKERS), pick=st.integers(0, 9))
    def interrupt_statements(self, number: int, pick: int) -> None:
        """The row's own statements lose their connection."""
        self._end(number, pick, lambda claim: build_interruption_outcome(claim, OSError("away")))

    @rule(number=st.sampled_from(WORKERS), pick=st.integers(0, 9))
    def hand_back(self, number: int, pick: int) -> None:
        self._end(number, pick, build_handed_back)

    def _end(self, number: int, pick: int, outcome_of: Any) -> None:
        place = self.places[number]
        if not place.believes:
            return
        claim = place.believes.pop(pick % len(place.believes))
        outcome: AttemptOutcome = outcome_of(claim)
        row = self.rows[claim.row_id]
        is_ours = row.status == "processing" and row.token == claim.token
        assert self.run(self._settle(place, outcome)) is is_ours
        if is_ours:
            self._expect(row, outcome)

    def _expect(self, row: Expected, outcome: AttemptOutcome) -> None:
        row.status = outcome.change(self.stage.words).status
        row.attempts -= outcome.refund
        row.token = None
        row.effects += outcome.kind == "completed"
        row.interruptions += outcome.kind == "interrupted" and outcome.tally is None
        if outcome.kind not in ("interrupted", "handed_back"):
            row.rescues = row.interruptions = 0

    async def _settle(self, place: Place, outcome: AttemptOutcome) -> bool:
        runner = place.runner
        async with self.database.transaction() as session:
            settled = await settle(
                session, runner.claims, [outcome], rule=runner.rule, worker=runner.worker
            )
        return bool(settled.written)

    @rule(number=st.sampled_from(WORKERS))
    def beat(self, number: int) -> None:
        self.run(self._beat(self.places[number]))

    async def _beat(self, place: Place) -> None:
        async with self.database.transaction() as session:
            await workers.record_heartbeat(session, place.runner.worker)

    @rule(number=st.sampled_from(WORKERS))
    def crash(self, number: int) -> None:
        """It forgets everything, and whoever comes in its place is somebody else."""
        self.places[number] = self._place()
        self.run(self._beat(self.places[number]))

    @rule(seconds=st.sampled_from([0.1, 1.0, 3.0, 10.0, 60.0]))
    def time_passes(self, seconds: float) -> None:
        """Everything that was written down moves into the past, which is the same."""

        async def act() -> None:
            by = timedelta(seconds=seconds)
            async with self.database.transaction() as session:
                await session.execute(
                    update(self.model).values(
                        due_at=self.model.due_at - by,
                        lease_expires_at=self.model.lease_expires_at - by,
                    )
                )
                await session.execute(update(Worker).values(beat_at=Worker.beat_at - by))
                await session.execute(update(HostSlot).values(expires_at=HostSlot.expires_at - by))
                await session.execute(update(Host).values(next_slot_at=Host.next_slot_at - by))

        self.run(act())

    @rule()
    def rescue(self) -> None:
        lost = self.run(self._lost())
        rescuer = Rescuer(
            self.database, self.surroundings.settings, [self.stage], self.places[0].runner.worker
        )
        assert self.run(rescuer.rescue()) == len(lost)
        for row_id in lost:
            row = self.rows[row_id]
            row.token = None
            was_alone = row.rescues >= ISOLATE_AFTER_RESCUES
            if was_alone and row.attempts >= MAX_ATTEMPTS:
                row.status, row.rescues, row.interruptions = "failed", 0, 0
            else:
                row.status, row.rescues = "queued", row.rescues + 1
                row.attempts -= not was_alone

    async def _lost(self) -> list[UUID]:
        """In plain words: in work, and past the lease or of a worker that has fallen silent."""
        silent = timedelta(seconds=self.surroundings.settings.worker_dead_after_seconds)
        alive = select(Worker.id).where(Worker.beat_at > func.now() - silent)
        async with self.database.reading() as session:
            found = await session.scalars(
                select(self.model.id).where(
                    self.model.status == "processing",
                    (self.model.lease_expires_at < func.now()) | self.model.worker_id.not_in(alive),
                )
            )
            return list(found)

    @precondition(lambda self: any(each.status == "failed" for each in self.rows.values()))
    @rule()
    def replay(self) -> None:
        failed = [row_id for row_id, row in self.rows.items() if row.status == "failed"]

        async def act() -> list[UUID]:
            async with self.database.transaction() as session:
                return await dead_letters.requeue(session, self.stage, failed)

        assert set(self.run(act())) == set(failed)
        for row_id in failed:
            self.rows[row_id] = Expected(effects=self.rows[row_id].effects)

    @precondition(lambda self: any(each.status == "processing" for each in self.rows.values()))
    @rule(pick=st.integers(0, 9))
    def cancel(self, pick: int) -> None:
        """Somebody takes a row out of its worker's hands for good."""
        held = [row_id for row_id, row in self.rows.items() if row.status == "processing"]
        row_id = held[pick % len(held)]

        async def act() -> None:
            async with self.database.transaction() as session:
                await session.execute(
                    update(self.model)
                    .where(self.model.id == row_id)
                    .values(status="done", lease_token=None, worker_id=None)
                )

        self.run(act())
        self.rows[row_id].status, self.rows[row_id].token = "done", None

    @rule(number=st.sampled_from(WORKERS))
    def ask_host(self, number: int) -> None:
        place = self.places[number]
        before = self.run(self._in_flight())
        turn = self.run(place.gate._try_once(HOST, exempt=True))
        assert (turn is not None) is (before < HOST_LIMIT)
        if turn is not None:
            place.turns.append(turn)

    @rule(number=st.sampled_from(WORKERS))
    def answered(self, number: int) -> None:
        place = self.places[number]
        if place.turns:
            self.run(place.gate._release(place.turns.pop()))

    async def _in_flight(self) -> int:
        async with self.database.reading() as session:
            counted = select(func.count()).where(HostSlot.expires_at > func.now())
            return int(await session.scalar(counted) or 0)

    # What must be true at any time

    @invariant()
    def every_row_is_what_the_model_says(self) -> None:
        if not hasattr(self, "rows"):
            return
        found = self.run(self._rows())
        assert found == self.rows

    async def _rows(self) -> dict[UUID, Expected]:
        async with self.database.reading() as session:
            found = await session.scalars(select(self.model))
            return {
                row.id: Expected(
                    row.status,
                    row.attempts,
                    row.lease_token,
                    row.effects,
                    row.rescues,
                    row.interruptions,
                )
                for row in found
            }

    @invariant()
    def limits_hold(self) -> None:
        if hasattr(self, "rows"):
            assert all(row.attempts <= MAX_ATTEMPTS for row in self.rows.values())
            assert all(row.effects <= 1 for row in self.rows.values())
            assert self.run(self._in_flight()) <= HOST_LIMIT

    @invariant()
    def a_failed_row_has_its_open_letter_and_no_other_row_has_one(self) -> None:
        if not hasattr(self, "rows"):
            return
        failed = {row_id for row_id, row in self.rows.items() if row.status == "failed"}
        assert self.run(self._open_letters()) == failed

    async def _open_letters(self) -> set[UUID]:
        async with self.database.reading() as session:
            letters = select(DeadLetter.row_id).where(is_letter_open())
            return set(await session.scalars(letters))

    def teardown(self) -> None:
        """Left to itself, every row ends, and each has had its effect once or was given up."""
        if not hasattr(self, "rows"):
            return
        self.crash(0)
        for _ in range(2 * MAX_ATTEMPTS + 2):
            self.time_passes(1000.0)
            self.beat(0)
            self.rescue()
            self._work_all()
        assert {row.status for row in self.rows.values()} <= {"done", "failed"}
        self.every_row_is_what_the_model_says()

    def _work_all(self) -> None:
        """Hosts give no more rows at once than they have places."""
        self.claim(0, 10_000)
        while self.places[0].believes:
            while self.places[0].believes:
                self.complete(0, 0)
            self.claim(0, 10_000)


class QueueByHost(Queue):
    """The same for rows that are claimed host by host."""

    stage = _tried(HOSTED)
    model = HostedRow

    def _new_row(self, host: str) -> Any:
        return HostedRow(id=uuid7(), host=host)

    @invariant()
    def no_host_is_given_more_rows_than_it_has_places(self) -> None:
        worked = self.run(self._worked_hosts())
        assert all(worked[host] <= HOST_LIMIT for host in HOSTS if host)

    async def _worked_hosts(self) -> Counter[str]:
        worked = select(HostedRow.host).where(HostedRow.status == "processing")
        async with self.database.reading() as session:
            return Counter(await session.scalars(worked))


@pytest.mark.parametrize("machine", [Queue, QueueByHost])
def test_the_queue_keeps_its_promises_in_any_order_of_events(
    url: str, machine: type[Queue]
) -> None:
    Queue.surroundings = Surroundings(url)
    try:
        run_state_machine_as_test(
            machine,
            settings=hypothesis_settings(
                max_examples=EXAMPLES[machine.__name__],
                stateful_step_count=STEPS,
                deadline=None,
                # Time goes on in the database, so a story cannot be told again and made shorter.
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        Queue.surroundings.close()
