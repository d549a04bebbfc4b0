"""Results are stored once, as they come, and each row fails alone."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import RetryLater, Skipped
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.stage import StoreImmediately, Tools
from scrapersky.pipeline.tables import EventKind
from tests.every_stage.bench import EVERY_STAGE, Bench, returning_results
from tests.stage_cases import CASES

pytestmark = EVERY_STAGE


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
    last = words.processing if bench.stage.stores_separately else words.done
    assert stored == [(0, words.processing), (1, words.processing), (2, last)]
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
    # Other stages hold the latest result back, in case it is the last.
    assert stored == ([0, 1] if bench.stage.stores_separately else [0])


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
    assert "data is invalid" in ((await bench.state(ids[1])).error or "")


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


@pytest.mark.parametrize("separately", [True, False])
async def test_the_last_result_is_stored_with_the_completion_unless_stored_separately(
    bench: Bench, separately: bool
) -> None:
    await bench.make_due()
    statuses: list[str] = []

    async def store(session: AsyncSession, row: Any, result: Any) -> None:
        statuses.append(bench.stage.queue.of(row).status)

    bench.stage = replace(bench.stage, store=store, stores_separately=separately)
    await run_job_loop(await bench.runner(returning_results(bench)))

    words = bench.stage.words
    assert statuses == [words.processing if separately else words.done]
    assert await bench.statuses() == {words.done: 1}


async def test_a_result_stored_separately_is_kept_when_the_work_then_skips_the_row(
    bench: Bench,
) -> None:
    (row_id,) = await bench.make_due()
    stored: list[object] = []

    async def work(item: Any, tools: Tools) -> AsyncIterator[Any]:
        yield "result"
        raise Skipped("Nothing to read.")

    bench.stage = replace(bench.stage, stores_separately=True)
    await run_job_loop(await bench.keeping(work, stored.append))

    assert stored == ["result"]
    assert (await bench.state(row_id)).error == "Nothing to read."


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
