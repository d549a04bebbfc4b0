"""A row is claimed once, by index, and belongs to its claim until that ends or is lost."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from typing import Any

from sqlalchemy import func, insert, select, text

from scrapersky.db.session import Database
from scrapersky.pipeline.claims import QueueStatements
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.rescue import Rescuer
from scrapersky.pipeline.stage import Tools
from scrapersky.pipeline.tables import EventKind
from tests.every_stage.bench import EVERY_STAGE, Bench, returning_results
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = EVERY_STAGE


async def test_due_rows_are_taken_once_by_eight_competing_loops(bench: Bench, url: str) -> None:
    ids = await bench.make_due(48)
    taken: list[Any] = []

    async def work(item: Any, tools: Tools) -> Any:
        taken.append(item)
        await asyncio.sleep(0)
        return bench.result_for(item)

    # No more rows in progress than connections: stores that wait for a shared row hold theirs.
    pools = [Database(url, pool_size=2) for _ in range(8)]
    runners = [await bench.runner(work, database=pool, concurrency=2) for pool in pools]
    await asyncio.gather(*(run_job_loop(runner) for runner in runners))
    for pool in pools:
        await pool.close()

    assert len(taken) == len(ids)
    assert await bench.statuses() == {bench.stage.words.done: len(ids)}


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

    async def claim_slowly(limit: int, share: Any = None) -> Any:
        rows = await really_claim(limit, share)
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


async def test_the_claim_finds_due_rows_by_index_among_20_000(bench: Bench) -> None:
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
        .join(func.generate_series(1, 20_000).table_valued(name="n").alias("n"), text("true"))
    )
    names = ["id", queue.status.key, *unique, *(c.name for c in copied)]
    async with bench.database.transaction() as session:
        # What each row points at is there; to have that looked up for each takes longest.
        await session.execute(text("SET LOCAL session_replication_role = replica"))
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
