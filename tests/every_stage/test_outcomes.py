"""How a row ends: done, retried, failed, or as a dead letter."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from scrapersky.errors import (
    DatabaseUnavailable,
    Rejected,
    RetryLater,
    RowInterrupted,
    Skipped,
)
from scrapersky.pipeline.isolation import work_isolated_rows
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.outcome import MAX_INTERRUPTIONS
from scrapersky.pipeline.queue import ISOLATE_AFTER_RESCUES
from scrapersky.pipeline.stage import Tools
from scrapersky.pipeline.tables import EventKind
from tests.every_stage.bench import EVERY_STAGE, Bench, failing, returning_results

pytestmark = EVERY_STAGE


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
    assert state.error == "The work timed out after 0.1 seconds."
