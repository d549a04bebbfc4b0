"""What every stage promises, tried on every stage."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, insert, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.session import Database
from scrapersky.errors import (
    DatabaseUnavailable,
    Rejected,
    RetryLater,
    RowInterrupted,
    Skipped,
)
from scrapersky.pipeline import workers
from scrapersky.pipeline.claims import QueueStatements
from scrapersky.pipeline.isolation import work_isolated_rows
from scrapersky.pipeline.loop import StageRunner, run_job_loop
from scrapersky.pipeline.outcome import MAX_INTERRUPTIONS
from scrapersky.pipeline.queue import ISOLATE_AFTER_RESCUES, QueueState
from scrapersky.pipeline.rescue import Rescuer
from scrapersky.pipeline.stage import AnyStage, StoreImmediately, Tools
from scrapersky.pipeline.tables import DeadLetter, EventKind, Host, StageEvent
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.settings import Settings
from scrapersky.stages import STAGES
from tests.stage_cases import CASES, Case, prepare
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.parametrize("name", list(CASES))

Work = Callable[[Any, Tools], Any]


def test_every_stage_is_tried_here(name: str) -> None:
    assert {stage.name for stage in STAGES} <= set(CASES)
    assert name in CASES


@pytest.fixture
async def case(name: str, database: Database) -> Case:
    await prepare(database)
    return CASES[name]


@pytest.fixture
async def bench(case: Case, database: Database, settings: Settings) -> Bench:
    # Retries wait until the test says that their time has come.
    return Bench(case, database, settings.model_copy(update={"retry_base_seconds": 600}))


class Bench:
    """One stage on its workbench: make rows, run loops over them, look at what they became."""

    def __init__(self, case: Case, database: Database, settings: Settings) -> None:
        self.case, self.database, self.settings = case, database, settings
        self.stage: AnyStage = case.stage

    async def make_due(self, count: int = 1) -> list[UUID]:
        async with self.database.transaction() as session:
            ids = await self.case.make_due(session, count)
            if self.stage.proves_hosts and self.stage.host:
                # Others wait for their host in slots beside the stage's own.
                hosts = select(getattr(self.stage.model, self.stage.host)).distinct()
                known = [{"host": each, "is_proven": True} for each in await session.scalars(hosts)]
                await session.execute(upsert(Host).values(known).on_conflict_do_nothing())
            return ids

    async def runner(
        self,
        work: Work | None = None,
        *,
        database: Database | None = None,
        isolates: bool = False,
        **pace: Any,
    ) -> StageRunner:
        stage = self.stage if work is None else replace(self.stage, work=work)
        stage = replace(stage, pace=replace(stage.pace, **pace))
        worker = WorkerIdentity()
        runner = StageRunner(
            stage,
            database=database or self.database,
            worker=worker,
            tools=Tools(fetch=None, settings=self.settings),  # type: ignore[arg-type]
            settings=self.settings,
            isolates=isolates,
        )
        async with self.database.transaction() as session:
            await workers.record_heartbeat(session, worker)
        return runner

    async def lose_with_its_worker(self) -> None:
        """A worker claims the row and dies."""
        await self.make_everything_due()
        runner = await self.runner()
        assert len(await runner.claim(1)) == 1
        async with self.database.transaction() as session:
            await workers.sign_off(session, runner.worker)  # as a dead process leaves it
        await self.rescue()

    async def keeping(self, work: Work, keep: Callable[[Any], None]) -> StageRunner:
        """A runner whose store does nothing but give each result to `keep`."""

        async def store(session: AsyncSession, row: Any, result: Any) -> None:
            keep(result)

        self.stage = replace(self.stage, store=store)
        return await self.runner(work)

    def result_for(self, item: Any) -> Any:
        return self.case.result(item)

    async def state(self, row_id: UUID) -> QueueState:
        async with self.database.reading() as session:
            row = await session.get_one(self.stage.model, row_id)
            return self.stage.queue.of(row)

    async def statuses(self) -> Counter[str]:
        async with self.database.reading() as session:
            found = await session.scalars(select(self.stage.queue.status))
            return Counter(found)

    async def letters(self) -> list[DeadLetter]:
        async with self.database.reading() as session:
            return list(await session.scalars(select(DeadLetter)))

    async def events(self) -> Counter[str]:
        async with self.database.reading() as session:
            return Counter(await session.scalars(select(StageEvent.kind)))

    async def effects(self) -> int:
        async with self.database.reading() as session:
            return await self.case.effects(session)

    async def make_everything_due(self) -> None:
        async with self.database.transaction() as session:
            await session.execute(
                update(self.stage.model).values({self.stage.queue.due_at: func.now()})
            )

    async def expire_leases(self) -> None:
        async with self.database.transaction() as session:
            past = func.now() - timedelta(seconds=1)
            await session.execute(
                update(self.stage.model).values({self.stage.queue.lease_expires_at: past})
            )

    async def let_pass(self, time: timedelta) -> None:
        """The claims are older by this much."""
        lease = self.stage.queue.lease_expires_at
        async with self.database.transaction() as session:
            await session.execute(update(self.stage.model).values({lease: lease - time}))

    async def rescue(self) -> int:
        rescuer = Rescuer(self.database, self.settings, [self.stage], WorkerIdentity())
        return await rescuer.rescue()


def returning_results(bench: Bench) -> Work:
    async def work(item: Any, tools: Tools) -> Any:
        return bench.result_for(item)

    return work


def failing(error: Callable[[], Exception]) -> Work:
    async def work(item: Any, tools: Tools) -> Any:
        raise error()

    return work


async def test_due_rows_are_taken_once_by_eight_competing_loops(bench: Bench, url: str) -> None:
    ids = await bench.make_due(120)
    taken: list[Any] = []

    async def work(item: Any, tools: Tools) -> Any:
        taken.append(item)
        await asyncio.sleep(0)
        return bench.result_for(item)

    pools = [Database(url, pool_size=2) for _ in range(8)]
    runners = [await bench.runner(work, database=pool) for pool in pools]
    await asyncio.gather(*(run_job_loop(runner) for runner in runners))
    for pool in pools:
        await pool.close()

    assert len(taken) == len(ids)
    assert await bench.statuses() == {bench.stage.words.done: 120}


async def test_no_connection_is_held_while_work_waits_on_the_network(bench: Bench) -> None:
    await bench.make_due(3)
    waiting, go_on = asyncio.Semaphore(0), asyncio.Event()

    async def work(item: Any, tools: Tools) -> Any:
        waiting.release()
        await go_on.wait()
        return bench.result_for(item)

    run = asyncio.create_task(run_job_loop(await bench.runner(work, concurrency=3)))
    for _ in range(3):
        await waiting.acquire()
    # The loop may still be looking for more rows; the three that work hold nothing.
    await wait_until(lambda: _holds_nothing(bench.database))
    go_on.set()
    await run


async def _holds_nothing(database: Database) -> bool:
    if database.checked_out():
        return False
    async with database.reading() as session:
        in_transaction = await session.scalar(
            text(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid() AND state <> 'idle'"
            )
        )
    return not in_transaction


async def test_a_passing_failure_is_tried_again_and_succeeds(bench: Bench) -> None:
    (row_id,) = await bench.make_due()
    attempts = 0

    async def work(item: Any, tools: Tools) -> Any:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            raise ConnectionError("the first time")
        return bench.result_for(item)

    runner = await bench.runner(work)
    await run_job_loop(runner)
    waiting = await bench.state(row_id)
    await bench.make_everything_due()
    await run_job_loop(runner)
    done = await bench.state(row_id)

    assert waiting.status == bench.stage.words.queued
    assert waiting.error == "ConnectionError: the first time"
    assert (done.status, done.attempts, done.error) == (bench.stage.words.done, 2, None)


async def test_giving_up_writes_a_dead_letter(bench: Bench) -> None:
    (row_id,) = await bench.make_due()
    runner = await bench.runner(failing(lambda: ValueError("always")), max_attempts=3)
    for _ in range(4):
        await bench.make_everything_due()
        await run_job_loop(runner)

    state = await bench.state(row_id)
    (letter,) = await bench.letters()
    assert (state.status, state.attempts) == (bench.stage.words.failed, 3)
    assert (letter.stage, letter.row_id, letter.attempts) == (bench.stage.name, row_id, 3)
    assert (letter.error_class, letter.error) == ("ValueError", "ValueError: always")
    assert "raise error()" in (letter.traceback or "")
    assert letter.first_failed_at < letter.died_at


async def test_a_row_that_kills_its_workers_ends_as_a_dead_letter(bench: Bench) -> None:
    (row_id,) = await bench.make_due()
    most = bench.stage.pace.max_attempts
    for _ in range(ISOLATE_AFTER_RESCUES + most):
        await bench.lose_with_its_worker()

    (letter,) = await bench.letters()
    assert (await bench.state(row_id)).status == bench.stage.words.failed
    assert (letter.attempts, letter.error_class) == (most, "WorkerDied")
    assert (await bench.events())[EventKind.RESCUED] == ISOLATE_AFTER_RESCUES + most - 1


async def test_a_row_lost_twice_has_used_no_attempt_and_is_left_to_a_process_of_its_own(
    bench: Bench,
) -> None:
    (row_id,) = await bench.make_due()
    sharing = await bench.runner(isolates=True)
    for _ in range(ISOLATE_AFTER_RESCUES):
        assert await sharing.claim_isolated() is None
        await bench.lose_with_its_worker()
    await bench.make_everything_due()

    state = await bench.state(row_id)
    assert (state.attempts, state.rescues) == (0, ISOLATE_AFTER_RESCUES)
    assert await sharing.claim(10) == []
    alone = await bench.runner(returning_results(bench), isolates=True)
    assert await work_isolated_rows([alone]) == 1
    done = await bench.state(row_id)
    assert (done.status, done.rescues) == (bench.stage.words.done, 0)


async def test_a_database_outage_costs_no_attempt(bench: Bench) -> None:
    (row_id,) = await bench.make_due()
    outage = failing(lambda: DatabaseUnavailable("The connection was reset."))
    runner = await bench.runner(outage, max_attempts=1)
    for _ in range(3):
        await bench.make_everything_due()
        await run_job_loop(runner)

    state = await bench.state(row_id)
    assert (state.status, state.attempts) == (bench.stage.words.queued, 0)
    assert (state.interruptions, state.error) == (0, "The connection was reset.")
    assert (await bench.events())[EventKind.INTERRUPTED] == 3
    assert not await bench.letters()


async def test_a_row_that_keeps_breaking_its_connection_ends_as_a_dead_letter(
    bench: Bench,
) -> None:
    (row_id,) = await bench.make_due()
    interruption = failing(lambda: RowInterrupted("The connection was reset."))
    runner = await bench.runner(interruption)
    for _ in range(MAX_INTERRUPTIONS):
        await bench.make_everything_due()
        await run_job_loop(runner)

    (letter,) = await bench.letters()
    assert (await bench.state(row_id)).status == bench.stage.words.failed
    assert letter.error_class == "RowInterrupted"


async def test_a_worker_that_was_cut_off_drops_its_rows_and_claims_no_more(bench: Bench) -> None:
    await bench.make_due(2)
    started = asyncio.Event()

    async def work(item: Any, tools: Tools) -> Any:
        started.set()
        await asyncio.sleep(3600)

    runner = await bench.runner(work, concurrency=2, batch_size=1)
    runner.free_slots -= 1
    task = runner.begin((await runner.claim(1))[0])
    await started.wait()
    runner.suspended = True

    assert runner.drop_all() == 1
    assert await task is EventKind.FENCED
    report = await run_job_loop(runner)
    assert report is not None
    assert report.found == 0


async def test_a_lost_row_is_due_again_at_once(bench: Bench) -> None:
    (row_id,) = await bench.make_due()
    runner = await bench.runner()
    await runner.claim(1)
    await bench.expire_leases()

    assert await bench.rescue() == 1
    finisher = await bench.runner(returning_results(bench))
    await run_job_loop(finisher)
    assert (await bench.state(row_id)).status == bench.stage.words.done


async def test_a_live_worker_keeps_its_rows(bench: Bench) -> None:
    await bench.make_due()
    runner = await bench.runner()
    await runner.claim(1)

    assert await bench.rescue() == 0


async def test_a_claim_whose_answer_was_lost_is_found_again_by_its_own_worker(
    bench: Bench,
) -> None:
    (row_id,) = await bench.make_due()
    runner = await bench.runner()
    await runner.claim(1)  # and the connection broke before we heard of it
    rescuer = Rescuer(bench.database, bench.settings, [bench.stage], runner.worker)
    too_early = await rescuer.rescue_strays(runner)
    await bench.let_pass(timedelta(seconds=bench.settings.worker_dead_after_seconds + 1))

    assert too_early == 0
    assert await rescuer.rescue_strays(runner) == 1
    state = await bench.state(row_id)
    assert (state.status, state.attempts) == (bench.stage.words.queued, 0)
    assert (state.rescues, state.interruptions) == (0, 0)


async def test_a_row_that_is_held_is_no_stray(bench: Bench) -> None:
    await bench.make_due()
    go_on = asyncio.Event()

    async def work(item: Any, tools: Tools) -> Any:
        await go_on.wait()
        return bench.result_for(item)

    runner = await bench.runner(work)
    runner.free_slots -= 1
    task = runner.begin((await runner.claim(1))[0])
    rescuer = Rescuer(
        bench.database,
        bench.settings.model_copy(update={"worker_dead_after_seconds": 0}),
        [bench.stage],
        runner.worker,
    )
    strays = await rescuer.rescue_strays(runner)
    go_on.set()

    assert strays == 0
    assert await task is EventKind.COMPLETED


async def test_skipped_is_done_with_a_reason(bench: Bench) -> None:
    (row_id,) = await bench.make_due()
    await run_job_loop(await bench.runner(failing(lambda: Skipped("Nothing to do."))))

    state = await bench.state(row_id)
    words = bench.stage.words
    assert (state.status, state.error) == (words.skipped or words.done, "Nothing to do.")
    assert await bench.letters() == []


async def test_rejected_fails_at_once(bench: Bench) -> None:
    (row_id,) = await bench.make_due()
    await run_job_loop(await bench.runner(failing(lambda: Rejected("It cannot be."))))

    state = await bench.state(row_id)
    assert (state.status, state.attempts) == (bench.stage.words.failed, 1)
    assert [letter.error for letter in await bench.letters()] == ["It cannot be."]


async def test_retry_later_waits_and_costs_no_attempt(bench: Bench) -> None:
    (row_id,) = await bench.make_due()
    before = await bench.state(row_id)
    later = failing(lambda: RetryLater("Come back.", after=timedelta(hours=1)))
    await run_job_loop(await bench.runner(later))

    state = await bench.state(row_id)
    assert (state.status, state.attempts) == (bench.stage.words.queued, 0)
    assert timedelta(minutes=59) < state.due_at - before.due_at < timedelta(minutes=61)


async def test_the_timeout_fires(bench: Bench) -> None:
    (row_id,) = await bench.make_due()

    async def work(item: Any, tools: Tools) -> Any:
        await asyncio.sleep(3600)

    await run_job_loop(await bench.runner(work, timeout_seconds=0.1))

    state = await bench.state(row_id)
    assert state.status == bench.stage.words.queued
    assert state.error == "The work was not done within 0.1 seconds."


async def test_the_result_of_a_lost_claim_is_refused(bench: Bench) -> None:
    (row_id,) = await bench.make_due()

    async def work(item: Any, tools: Tools) -> Any:
        await bench.expire_leases()
        await bench.rescue()
        return bench.result_for(item)

    before = await bench.effects()
    runner = await bench.runner(work, max_instances=1, concurrency=1)
    held = (await runner.claim(1))[0]
    runner.free_slots -= 1

    assert await runner.begin(held) is EventKind.FENCED
    assert await bench.effects() == before
    assert (await bench.state(row_id)).status == bench.stage.words.queued


async def test_work_of_a_row_that_was_taken_away_is_cancelled(bench: Bench) -> None:
    await bench.make_due()
    started, ended = asyncio.Event(), asyncio.Event()

    async def work(item: Any, tools: Tools) -> Any:
        started.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    runner = await bench.runner(work)
    runner.free_slots -= 1
    task = runner.begin((await runner.claim(1))[0])
    await started.wait()
    await bench.expire_leases()
    await bench.rescue()

    async with bench.database.reading() as session:
        assert await runner.drop_disowned(session) == 1
    assert await task is EventKind.FENCED
    assert ended.is_set()


async def test_a_row_whose_outcome_is_being_written_is_not_taken_for_a_lost_one(
    bench: Bench,
) -> None:
    await bench.make_due()
    runner = await bench.runner()
    (held,) = await runner.claim(1)
    runner.held[held.claim.token] = held
    await bench.expire_leases()
    await bench.rescue()  # as its completion does, this leaves the token holding nothing
    held.ending = True

    async with bench.database.reading() as session:
        assert await runner.drop_disowned(session) == 0
    assert not held.lost


async def test_a_stop_hands_rows_back_without_counting_the_attempt(bench: Bench) -> None:
    ids = await bench.make_due(3)
    started = asyncio.Semaphore(0)

    async def work(item: Any, tools: Tools) -> Any:
        started.release()
        await asyncio.sleep(3600)

    runner = await bench.runner(work, concurrency=3)
    run = asyncio.create_task(run_job_loop(runner))
    for _ in ids:
        await started.acquire()
    assert await runner.finish(grace_seconds=0) == 3
    await run

    states = [await bench.state(row_id) for row_id in ids]
    assert {(state.status, state.attempts) for state in states} == {(bench.stage.words.queued, 0)}
    assert all(state.lease_token is None for state in states)


async def test_a_claim_under_way_when_it_stops_is_handed_back_too(bench: Bench) -> None:
    (row_id,) = await bench.make_due()
    runner = await bench.runner(returning_results(bench))
    claimed, answer = asyncio.Event(), asyncio.Event()
    really_claim = runner.claim

    async def claim_slowly(wanted: int, share: Any = None) -> Any:
        rows = await really_claim(wanted, share)
        claimed.set()
        await answer.wait()
        return rows

    runner.claim = claim_slowly  # type: ignore[method-assign]
    run = asyncio.create_task(run_job_loop(runner))
    await claimed.wait()
    stop = asyncio.create_task(runner.finish(grace_seconds=0))
    await asyncio.sleep(0)
    answer.set()
    await asyncio.gather(run, stop)

    state = await bench.state(row_id)
    assert (state.status, state.attempts) == (bench.stage.words.queued, 0)


async def test_storing_twice_stores_once(bench: Bench) -> None:
    (row_id,) = await bench.make_due()
    items: list[Any] = []

    async def work(item: Any, tools: Tools) -> Any:
        items.append(item)
        return bench.result_for(item)

    await run_job_loop(await bench.runner(work))
    once = await bench.effects()
    assert bench.stage.store is not None
    with contextlib.suppress(Skipped):
        async with bench.database.transaction() as session:
            row = await session.get_one(bench.stage.model, row_id)
            await bench.stage.store(session, row, bench.result_for(items[0]))

    assert once > 0
    assert await bench.effects() == once


async def test_streamed_results_are_stored_as_they_come(bench: Bench) -> None:
    (row_id,) = await bench.make_due()
    stored: list[tuple[int, str]] = []

    async def work(item: Any, tools: Tools) -> AsyncIterator[int]:
        for number in range(3):
            yield number

    async def store(session: Any, row: Any, result: int) -> None:
        stored.append((result, bench.stage.queue.of(row).status))

    runner = await bench.runner(work)
    runner.stage = replace(runner.stage, store=store)
    runner.claims.stage = runner.stage
    await run_job_loop(runner)

    words = bench.stage.words
    assert stored == [(0, words.processing), (1, words.processing), (2, words.done)]
    assert (await bench.state(row_id)).status == words.done


async def test_a_stream_that_loses_its_claim_stores_nothing_more(bench: Bench) -> None:
    await bench.make_due()
    stored: list[int] = []

    async def work(item: Any, tools: Tools) -> AsyncIterator[int]:
        yield 0
        yield 1
        await bench.expire_leases()
        await bench.rescue()
        yield 2
        yield 3

    async def store(session: Any, row: Any, result: int) -> None:
        stored.append(result)

    runner = await bench.runner(work)
    runner.stage = replace(runner.stage, store=store)
    runner.free_slots -= 1
    kind = await runner.begin((await runner.claim(1))[0])

    assert kind is EventKind.FENCED
    assert stored == [0]


async def test_one_rows_failure_to_store_touches_no_other(bench: Bench) -> None:
    ids = await bench.make_due(5)
    bad = ids[2]
    assert bench.stage.store is not None

    async def store(session: Any, row: Any, result: Any) -> None:
        if row.id == bad:
            await session.execute(text("SELECT 1 / 0"))
        await CASES[bench.stage.name].stage.store(session, row, result)  # type: ignore[misc]

    bench.stage = replace(bench.stage, store=store)
    await run_job_loop(await bench.runner(returning_results(bench)))

    words = bench.stage.words
    assert await bench.statuses() == {words.done: 4, words.queued: 1}
    assert "division by zero" in ((await bench.state(bad)).error or "")


async def test_a_row_that_cannot_be_read_fails_alone(bench: Bench) -> None:
    ids = await bench.make_due(3)
    real = bench.stage.read

    def read(row: Any) -> Any:
        if row.id == ids[1]:
            raise KeyError("domain")
        return real(row)

    bench.stage = replace(bench.stage, read=read)
    await run_job_loop(await bench.runner(returning_results(bench)))

    words = bench.stage.words
    assert await bench.statuses() == {words.done: 2, words.failed: 1}
    assert "does not fit" in ((await bench.state(ids[1])).error or "")


async def test_a_process_works_at_most_its_concurrency(bench: Bench) -> None:
    await bench.make_due(12)
    now = most = 0
    full = asyncio.Event()

    async def work(item: Any, tools: Tools) -> Any:
        nonlocal now, most
        now += 1
        most = max(most, now)
        if most == 3:
            full.set()
        await asyncio.wait_for(full.wait(), PATIENCE_SECONDS)
        await asyncio.sleep(0.01)
        now -= 1
        return bench.result_for(item)

    runner = await bench.runner(work, concurrency=3, batch_size=10, max_instances=4)
    await asyncio.gather(*(run_job_loop(runner) for _ in range(4)))

    assert most == 3
    assert await bench.statuses() == {bench.stage.words.done: 12}


async def test_a_paused_stage_claims_nothing(bench: Bench) -> None:
    await bench.make_due()
    async with bench.database.transaction() as session:
        await session.execute(
            text("INSERT INTO stage_controls (stage, paused) VALUES (:name, true)"),
            {"name": bench.stage.name},
        )
    runner = await bench.runner(returning_results(bench))
    report = await run_job_loop(runner)

    assert report is not None
    assert report.found == 0


async def test_the_claim_finds_due_rows_by_index_among_100_000(bench: Bench) -> None:
    await bench.make_due()
    model, queue = bench.stage.model, bench.stage.queue
    table: Any = model.__table__
    own = {"id": func.gen_random_uuid(), queue.status.key: bench.stage.words.done}
    differing: dict[str, Any] = {
        "domain": lambda column: func.concat(column, text("n")),
        "subject": lambda column: func.concat(column, text("n")),
        "url_digest": lambda column: func.decode(func.md5(func.concat(text("n"))), "hex"),
    }
    if table.name == "places":
        differing["place_id"] = differing["subject"]
    unique = {name: made(table.c[name]) for name, made in differing.items() if name in table.c}
    generated = {"id"}
    copied = [c for c in table.c if c.name not in {*generated, *unique, queue.status.key}]
    source = (
        select(*[own["id"], text(f"'{bench.stage.words.done}'"), *unique.values(), *copied])
        .select_from(table)
        .join(func.generate_series(1, 100_000).table_valued(name="n").alias("n"), text("true"))
    )
    names = ["id", queue.status.key, *unique, *(c.name for c in copied)]
    async with bench.database.transaction() as session:
        await session.execute(insert(table).from_select(names, source))
        await session.execute(text(f"ANALYZE {table.name}"))

    plan = await generic_plan(bench)
    assert any(f"ix_{table.name}_" in line and "due" in line for line in plan), plan
    assert not any(f"Seq Scan on {table.name}" in line for line in plan), plan


async def generic_plan(bench: Bench) -> list[str]:
    """How the server claims when it plans without looking at the parameters' values."""
    claim = QueueStatements(bench.stage).claim.sql
    assert "MATERIALIZED" in claim
    async with bench.database.reading() as session:
        raw = await (await session.connection()).get_raw_connection()
        driver: Any = raw.driver_connection
        await driver.execute("SET plan_cache_mode = force_generic_plan")
        await driver.execute(f"PREPARE claim AS {claim}")
        nothing = ", ".join(["NULL"] * len(set(re.findall(r"\$\d+", claim))))
        return [row[0] for row in await driver.fetch(f"EXPLAIN EXECUTE claim({nothing})")]


class _Permission(StoreImmediately):
    """Must be written down before the work goes on."""


async def test_what_must_stand_at_once_is_stored_before_the_work_goes_on(bench: Bench) -> None:
    (row_id,) = await bench.make_due()
    stored: list[object] = []
    seen: list[object] = []

    async def work(item: Any, tools: Tools) -> AsyncIterator[Any]:
        yield "first"
        yield _Permission()
        seen.extend(stored)
        yield "last"

    await run_job_loop(await bench.keeping(work, stored.append))

    assert (seen[0], len(seen), stored[-1]) == ("first", 2, "last")
    assert isinstance(seen[1], _Permission)
    assert (await bench.state(row_id)).status == bench.stage.words.done


async def test_a_store_that_says_not_now_ends_the_work_before_it_goes_on(bench: Bench) -> None:
    (row_id,) = await bench.make_due()
    went_on: list[bool] = []

    async def work(item: Any, tools: Tools) -> AsyncIterator[Any]:
        yield _Permission()
        went_on.append(True)
        yield "never"

    def refuse(result: object) -> None:
        raise RetryLater("The budget is used up.", after=timedelta(hours=1))

    await run_job_loop(await bench.keeping(work, refuse))

    state = await bench.state(row_id)
    assert (went_on, state.attempts, state.error) == ([], 0, "The budget is used up.")
    assert state.status == bench.stage.words.queued
