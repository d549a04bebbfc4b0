"""Rows are claimed host by host: fairly, within the limits of each host, and none is starved."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, insert, select, text, update

from scrapersky.contacts import extraction
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.pipeline.engine import Engine, run_engine
from scrapersky.pipeline.health import HealthIssueKind
from scrapersky.pipeline.host_claims import MIN_HOSTS
from scrapersky.pipeline.loop import StageRunner, run_job_loop
from scrapersky.pipeline.queue_stats import load_queue_stats
from scrapersky.pipeline.report import report_stage
from scrapersky.pipeline.scheduler import Scheduler, run_scheduler
from scrapersky.pipeline.slots import HeldRow, SlotShare
from scrapersky.pipeline.stage import AnyStage, Tools
from scrapersky.pipeline.tables import Host, HostSlot, StageControl
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.scraper.http import limits
from scrapersky.settings import Pace, Settings
from tests.noop_hosts import HOSTED, HostedRow, Item, prepare
from tests.waiting import PATIENCE_SECONDS

RARELY = Pace(interval_minutes=600, batch_size=10, concurrency=8)


@pytest.fixture(autouse=True)
async def _table(database: Database) -> None:
    await prepare(database)


@pytest.fixture
def runner(database: Database, settings: Settings) -> StageRunner:
    return make_runner(database, settings)


def make_runner(database: Database, settings: Settings, **changes: Any) -> StageRunner:
    return StageRunner(
        replace(HOSTED, **changes),
        database=database,
        worker=WorkerIdentity(),
        tools=Tools(fetch=None, settings=settings),  # type: ignore[arg-type]
        settings=settings,
    )


async def add(database: Database, *hosts: str, rows: int = 1, **facts: Any) -> list[UUID]:
    made = [{"id": uuid7(), "host": host} for host in hosts for _ in range(rows)]
    async with database.transaction() as session:
        await session.execute(insert(HostedRow).values(**facts), made)
    return [each["id"] for each in made]  # type: ignore[misc]


async def note(database: Database, host: str, **facts: Any) -> None:
    async with database.transaction() as session:
        session.add(Host(host=host, **facts))


async def ask(database: Database, host: str, *, seconds: float = 60) -> None:
    """A request somebody else has under way."""
    async with database.transaction() as session:
        until = func.now() + timedelta(seconds=seconds)
        session.add(HostSlot(host=host, worker_id=None, expires_at=until))


async def end(database: Database, *held: HeldRow) -> None:
    ids = [each.claim.row_id for each in held]
    async with database.transaction() as session:
        await session.execute(
            update(HostedRow).where(HostedRow.id.in_(ids)).values(status="done", lease_token=None)
        )


def hosts_of(claimed: Iterable[HeldRow]) -> Counter[str]:
    return Counter(each.item.host for each in claimed)


async def statuses(database: Database) -> Counter[str]:
    async with database.reading() as session:
        return Counter(await session.scalars(select(HostedRow.status)))


async def test_a_host_with_a_thousand_rows_keeps_no_other_waiting(
    database: Database, runner: StageRunner
) -> None:
    await add(database, "large.example", rows=1000, due_at=func.now() - timedelta(hours=1))
    await add(database, "small.example")

    assert hosts_of(await runner.claim(10)) == {"large.example": 4, "small.example": 1}


async def test_hosts_share_a_claim_in_equal_parts(database: Database, runner: StageRunner) -> None:
    await add(database, "a.example", "b.example", "c.example", rows=20)

    assert hosts_of(await runner.claim(6)) == {"a.example": 2, "b.example": 2, "c.example": 2}


async def test_a_claim_goes_on_after_the_host_that_was_served_last(
    database: Database, runner: StageRunner
) -> None:
    await add(database, "a.example", "b.example", "c.example", "d.example", "e.example", rows=9)
    turns = [sorted(hosts_of(await runner.claim(2))) for _ in range(3)]

    first_letters = ["".join(host[0] for host in turn) for turn in turns]
    assert first_letters == ["ab", "cd", "ae"]


async def test_a_host_gives_its_rows_by_priority_and_due_time(
    database: Database, runner: StageRunner
) -> None:
    earlier = func.now() - timedelta(minutes=1)
    (later,) = await add(database, "a.example", priority=3)
    (last,) = await add(database, "a.example", priority=7, due_at=earlier)
    (first,) = await add(database, "a.example", priority=1)
    (second,) = await add(database, "a.example", priority=3, due_at=earlier)

    order = [(await runner.claim(1))[0].claim.row_id for _ in range(4)]
    assert order == [first, second, later, last]


async def test_a_host_at_its_limit_is_passed_by_and_its_rows_come_later(
    database: Database, runner: StageRunner
) -> None:
    await note(database, "full.example", max_concurrency=2)
    await add(database, "full.example", "other.example", rows=3)
    at_first = await runner.claim(10)
    meanwhile = await runner.claim(10)
    await end(database, *(each for each in at_first if each.item.host == "full.example"))

    assert hosts_of(at_first) == {"full.example": 2, "other.example": 3}
    assert meanwhile == []
    assert hosts_of(await runner.claim(10)) == {"full.example": 1}


async def test_requests_under_way_take_places_too(database: Database, runner: StageRunner) -> None:
    await add(database, "a.example", rows=9)
    for _ in range(3):
        await ask(database, "a.example")
    await ask(database, "a.example", seconds=-1)  # of these nobody waits for an answer any more

    assert len(await runner.claim(10)) == 1


async def test_a_host_that_is_left_alone_is_passed_by(
    database: Database, runner: StageRunner
) -> None:
    later = func.now() + timedelta(minutes=1)
    await note(database, "open.example", circuit_open_until=later)
    await note(database, "asked-us-to-wait.example", next_slot_at=later)
    await note(database, "in-a-moment.example", next_slot_at=func.now() + timedelta(seconds=0.8))
    await note(database, "well-again.example", circuit_open_until=func.now())
    hosts = ("asked-us-to-wait", "in-a-moment", "open", "unheard-of", "well-again")
    await add(database, *(f"{each}.example" for each in hosts))

    claimed = hosts_of(await runner.claim(10))
    assert set(claimed) == {"in-a-moment.example", "unheard-of.example", "well-again.example"}


async def test_a_host_with_a_long_crawl_delay_gives_one_row_at_a_time(
    database: Database, runner: StageRunner
) -> None:
    await note(database, "slow.example", crawl_delay_seconds=10)
    await note(database, "tiny.example", crawl_delay_seconds=1e-300)
    await note(database, "none.example", crawl_delay_seconds=0)
    await add(database, "slow.example", "tiny.example", "none.example", rows=6)

    claimed = hosts_of(await runner.claim(20))
    assert claimed == {"slow.example": 1, "tiny.example": 4, "none.example": 4}


async def test_rows_of_unknown_hosts_are_worked_without_a_limit(
    database: Database, runner: StageRunner
) -> None:
    await add(database, "", rows=20)
    await add(database, "a.example")

    assert hosts_of(await runner.claim(10)) == {"": 9, "a.example": 1}
    await run_job_loop(runner)
    assert (await statuses(database))["queued"] == 0


async def test_a_ready_host_is_found_behind_any_number_that_are_not(
    database: Database, runner: StageRunner
) -> None:
    many = 6 * MIN_HOSTS
    async with database.transaction() as session:
        await session.execute(
            insert(Host).values(circuit_open_until=func.now() + timedelta(hours=1)),
            [{"host": f"a{n}.example"} for n in range(many)],
        )
    await add(database, *(f"a{n}.example" for n in range(many)))
    await add(database, "z.example")

    assert hosts_of(await runner.claim(1)) == {"z.example": 1}
    assert await runner.claim(1) == []


async def test_a_host_that_has_not_answered_yet_is_tried_with_one_row(
    database: Database, settings: Settings
) -> None:
    runner = make_runner(database, settings, name="proving", proves_hosts=True)
    await note(database, "proven.example", is_proven=True)
    await note(database, "silent.example")
    await add(database, "proven.example", "silent.example", "unheard-of.example", "", rows=3)
    claimed = await runner.claim(20)

    assert hosts_of(claimed) == {
        "proven.example": 3,
        "silent.example": 1,
        "unheard-of.example": 1,
        "": 3,
    }
    assert hosts_of(each for each in claimed if each.waits) == {
        "silent.example": 1,
        "unheard-of.example": 1,
    }
    assert await runner.claim(20) == []


async def test_rows_of_unproven_hosts_take_only_the_slots_meant_for_them(
    database: Database, settings: Settings
) -> None:
    runner = make_runner(database, settings, name="proving", proves_hosts=True)
    for number in range(4):
        await note(database, f"z{number}.example", is_proven=True)
        await add(database, f"a{number}.example", f"z{number}.example")

    claims = [await runner.claim(3, SlotShare(*share)) for share in ((2, 1), (0, 2), (3, 0))]
    kinds = [Counter(host[0] for host in hosts_of(each)) for each in claims]
    assert kinds == [{"a": 1, "z": 2}, {"a": 2}, {"z": 2}]


async def test_hosts_that_nobody_has_asked_go_before_those_that_timed_out(
    database: Database, settings: Settings
) -> None:
    runner = make_runner(database, settings, name="proving", proves_hosts=True)
    await note(database, "a.example", timeouts=1)
    await add(database, "a.example", "b.example", "c.example")

    assert hosts_of(await runner.claim(2)) == {"b.example": 1, "c.example": 1}
    assert hosts_of(await runner.claim(2)) == {"a.example": 1}


async def test_hosts_that_never_answer_fill_their_slots_and_no_others(
    database: Database, settings: Settings
) -> None:
    """Eight times as many of them as there are slots for them, all queued before the others."""
    answer = asyncio.Event()
    done: list[str] = []

    async def work(item: Item, tools: Tools) -> Item:
        if item.host.startswith("pit"):
            await answer.wait()
        done.append(item.host)
        return item

    few = settings.model_copy(update={"slow_host_slots": 5})
    runner = make_runner(database, few, name="proving", proves_hosts=True, work=work)
    await add(database, *(f"pit{number}.example" for number in range(40)))
    for number in range(4):
        await note(database, f"well{number}.example", is_proven=True)
        await add(database, f"well{number}.example", rows=25)
    run = asyncio.create_task(run_job_loop(runner))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(done) < 100:
            await asyncio.sleep(0.02)
    pits = [each for each in runner.held.values() if each.item.host.startswith("pit")]
    answer.set()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await run

    assert len(pits) == 5
    assert len(done) == 140
    assert (runner.free_slots, runner.free_slow_slots) == (HOSTED.pace.concurrency, 5)


async def test_a_row_whose_host_keeps_it_waiting_leaves_its_slot_to_others(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any stage: nobody knows its hosts before they are asked."""
    monkeypatch.setattr(limits, "SLOW_AFTER_SECONDS", 0.01)
    answer, free = asyncio.Event(), []
    runner: StageRunner

    async def work(item: Item, tools: Tools) -> Item:
        if item.host.startswith("pit"):
            with limits.observe_wait():
                await answer.wait()
            limits.notify_answer()
            free.append(runner.free_slots)
        return item

    runner = make_runner(database, settings, name="waiting", host=None, work=work)
    await add(database, *(f"pit{number}.example" for number in range(20)), priority=1)
    ids = await add(database, *(f"well{number}.example" for number in range(20)))
    run = asyncio.create_task(run_job_loop(runner))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await statuses(database))["done"] < len(ids):
            await asyncio.sleep(0.02)
    answer.set()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await run

    # With the answers the rows are back in ordinary slots, more of them than there are.
    assert min(free) < 0
    assert (await statuses(database))["done"] == 40
    assert runner.free_slots == HOSTED.pace.concurrency


async def test_rows_whose_time_has_not_come_are_left_alone(
    database: Database, runner: StageRunner
) -> None:
    later = func.now() + timedelta(hours=1)
    await add(database, "a.example", priority=1, due_at=later)
    (due,) = await add(database, "a.example", priority=2)
    (held,) = await runner.claim(10)

    assert held.claim.row_id == due
    assert 3000 < (await runner.seconds_to_next_due() or 0) <= 3600


async def test_claims_at_the_same_time_take_no_more_than_a_hosts_places(
    database: Database, settings: Settings, url: str
) -> None:
    await add(database, "a.example", "b.example", rows=50)
    pools = [Database(url, pool_size=1) for _ in range(8)]
    runners = [make_runner(each, settings) for each in pools]
    taken: Counter[str] = Counter()
    for _ in range(5):
        for claimed in await asyncio.gather(*(each.claim(6) for each in runners)):
            taken.update(hosts_of(claimed))
    for each in pools:
        await each.close()

    assert taken == {"a.example": 4, "b.example": 4}


async def test_several_engines_never_ask_a_host_too_often_and_do_everything(
    settings: Settings, database: Database, url: str
) -> None:
    hosts = {"a.example": 3, "b.example": 1, "c.example": 4}
    for host, limit in hosts.items():
        await note(database, host, max_concurrency=limit)
        await add(database, host, rows=25)
    now, most = Counter[str](), Counter[str]()

    def asking(engines: list[Engine]) -> Callable[[Item, Tools], Awaitable[Item]]:
        async def work(item: Item, tools: Tools) -> Item:
            (engine,) = (each for each in engines if each.tools is tools)
            assert engine.gate is not None
            async with engine.gate.slot(item.host, exempt=True):
                now[item.host] += 1
                most[item.host] = max(most[item.host], now[item.host])
                await asyncio.sleep(0.005)
                now[item.host] -= 1
            return item

        return work

    engines: list[Engine] = []
    stage = replace(HOSTED, work=asking(engines))
    async with AsyncExitStack() as stack:
        for _ in range(3):
            own = Database(url, pool_size=8)
            stack.push_async_callback(own.close)
            engine = await stack.enter_async_context(run_engine(own, settings, [stage]))
            engines.append(engine)
        while (await statuses(database))["done"] < 75:
            await asyncio.gather(*(run_job_loop(each.runner("hosted")) for each in engines))

    assert most.keys() == hosts.keys()
    assert all(most[host] <= limit for host, limit in hosts.items()), most


# Looking again by itself


@asynccontextmanager
async def scheduling(
    database: Database, settings: Settings, **changes: Any
) -> AsyncIterator[Scheduler]:
    """Ticks once, at the start, and then not for hours."""
    stage: AnyStage = replace(HOSTED, **{"pace": RARELY, **changes})
    async with run_scheduler(database, settings, [stage], []) as scheduler:
        yield scheduler


async def until_done(database: Database, rows: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await statuses(database))["done"] < rows:
            await asyncio.sleep(0.02)


async def test_rows_of_a_host_left_alone_are_worked_when_that_is_over(
    database: Database, settings: Settings
) -> None:
    soon = func.now() + timedelta(seconds=1.5)
    await note(database, "open.example", circuit_open_until=soon)
    await note(database, "asked-us-to-wait.example", next_slot_at=soon + timedelta(seconds=1))
    await add(database, "open.example", "asked-us-to-wait.example")
    async with scheduling(database, settings) as scheduler:
        await until_done(database, 2)
        claims = scheduler.engine.runner("hosted").claimed

    assert claims == 2


async def test_they_are_worked_then_even_while_another_row_takes_long(
    database: Database, settings: Settings
) -> None:
    let_go = asyncio.Event()

    async def work(item: Item, tools: Tools) -> Item:
        if item.host == "long.example":
            await let_go.wait()
        return item

    soon = func.now() + timedelta(seconds=0.5)
    await note(database, "open.example", circuit_open_until=soon)
    await add(database, "open.example", "long.example")
    async with scheduling(database, settings, work=work):
        await until_done(database, 1)
        assert await statuses(database) == {"done": 1, "processing": 1}
        let_go.set()
        await until_done(database, 2)


async def test_a_place_that_somebody_else_gives_free_is_found(
    database: Database, settings: Settings
) -> None:
    await note(database, "a.example", max_concurrency=1)
    await add(database, "a.example", rows=2)
    await ask(database, "a.example", seconds=1)
    async with scheduling(database, settings):
        await until_done(database, 2)

    assert await statuses(database) == {"done": 2}


async def test_the_next_look_is_when_the_first_host_is_ready(
    database: Database, runner: StageRunner
) -> None:
    async def wait() -> float | None:
        return await runner.seconds_to_next_due()

    nothing_queued = await wait()
    later = func.now() + timedelta(hours=2)
    await note(database, "open.example", circuit_open_until=later)
    await add(database, "open.example", due_at=func.now() - timedelta(hours=1))
    host_left_alone = await wait()
    await note(database, "waits.example", next_slot_at=later - timedelta(hours=1))
    await add(database, "waits.example")
    host_with_a_turn = await wait()
    await note(database, "full.example", max_concurrency=1)
    await ask(database, "full.example")
    await add(database, "full.example")
    host_without_places = await wait()

    assert nothing_queued is None
    assert 7000 < (host_left_alone or 0) <= 7200
    assert 3000 < (host_with_a_turn or 0) <= 3599
    assert host_without_places == 1


async def test_a_stage_without_priorities_goes_by_due_time(
    database: Database, settings: Settings
) -> None:
    runner = make_runner(database, settings, priority=None)
    (second,) = await add(database, "a.example", priority=1)
    (first,) = await add(database, "a.example", due_at=func.now() - timedelta(minutes=1))
    await add(database, "b.example", due_at=func.now() + timedelta(hours=1))

    order = [(await runner.claim(1))[0].claim.row_id for _ in range(2)]
    assert order == [first, second]
    assert 3000 < (await runner.seconds_to_next_due() or 0) <= 3600


async def test_a_paused_stage_neither_claims_nor_looks_again(
    database: Database, runner: StageRunner
) -> None:
    await add(database, "a.example")
    async with database.transaction() as session:
        session.add(StageControl(stage="hosted", paused=True))

    assert await runner.claim(5) == []
    assert await runner.seconds_to_next_due() is None


async def test_a_report_counts_what_is_due_whether_or_not_its_host_is_ready(
    database: Database, settings: Settings
) -> None:
    later = func.now() + timedelta(hours=1)
    await note(database, "open.example", circuit_open_until=later)
    await add(database, "open.example", due_at=func.now() - timedelta(minutes=10))
    await add(database, "a.example", due_at=later)
    async with database.reading() as session:
        report = await report_stage(session, HOSTED, settings)

    assert (report.queued, report.due) == (2, 1)
    assert 599 < (report.oldest_due_seconds or 0) < 3600


LONG_AGO = func.now() - timedelta(hours=1)


async def late(database: Database, settings: Settings) -> float | None:
    """For how long a row could have been worked; what is due is due for an hour."""
    async with database.reading() as session:
        report = await report_stage(session, HOSTED, settings)
    assert (report.oldest_due_seconds or 0) > 3599
    is_told = any(each.kind is HealthIssueKind.OLDEST_DUE for each in report.troubles)
    assert is_told == ((report.oldest_ready_seconds or 0) > settings.queue_oldest_due_limit_seconds)
    return report.oldest_ready_seconds


@pytest.mark.parametrize(
    "host",
    [
        {"next_slot_at": func.now() + timedelta(minutes=10)},
        {"circuit_open_until": func.now() + timedelta(hours=1)},
        {"max_concurrency": 1},
    ],
    ids=["its turn comes", "it is left alone", "its places are taken"],
)
async def test_rows_that_wait_for_their_host_are_not_late(
    database: Database, settings: Settings, host: dict[str, Any]
) -> None:
    await note(database, "busy.example", **host)
    await add(database, "busy.example", rows=500, due_at=LONG_AGO)
    if "max_concurrency" in host:
        await ask(database, "busy.example", seconds=3600)

    assert await late(database, settings) is None


async def test_a_row_whose_host_was_asked_a_moment_ago_is_not_late(
    database: Database, settings: Settings
) -> None:
    await note(database, "large.example", next_slot_at=func.now() - timedelta(seconds=9))
    await add(database, "large.example", rows=500, due_at=LONG_AGO)

    assert 9 <= (await late(database, settings) or 0) < settings.queue_oldest_due_limit_seconds


async def test_a_row_that_nobody_works_although_its_host_may_be_asked_is_late(
    database: Database, settings: Settings
) -> None:
    await note(database, "open.example", circuit_open_until=func.now() + timedelta(hours=1))
    await note(database, "idle.example", next_slot_at=func.now() - timedelta(minutes=30))
    await add(database, "open.example", "idle.example", due_at=LONG_AGO)
    asked_before = await late(database, settings)
    await add(database, "never-asked.example", due_at=LONG_AGO)
    never_asked = await late(database, settings)

    assert 1799 < (asked_before or 0) < 3599 < (never_asked or 0)


async def test_a_row_of_which_nobody_knows_the_host_is_late_by_its_own_time(
    database: Database, settings: Settings
) -> None:
    await add(database, "", due_at=LONG_AGO)

    assert (await late(database, settings) or 0) > 3599


async def test_all_stages_asked_together_find_the_same_late(
    database: Database, settings: Settings
) -> None:
    await note(database, "idle.example", next_slot_at=func.now() - timedelta(minutes=30))
    await add(database, "idle.example", due_at=LONG_AGO)
    alone = await late(database, settings)
    async with database.reading() as session:
        together = (await load_queue_stats(session, [HOSTED, extraction.STAGE], settings))[
            HOSTED.name
        ]

    assert together.oldest_ready_seconds == pytest.approx(alone, abs=600)
    assert alone is not None


# What it costs


async def test_a_claim_reads_no_more_when_more_is_queued(
    database: Database, runner: StageRunner
) -> None:
    await fill(database, rows=500)
    few = await plan_of_a_claim(database, runner)
    await fill(database, rows=50_000)
    many = await plan_of_a_claim(database, runner)

    assert "Seq Scan" not in rows_read(many)
    assert rows_read(many).total() <= rows_read(few).total() + 5
    assert many["Shared Hit Blocks"] + many["Shared Read Blocks"] < 2 * few["Shared Hit Blocks"]


async def fill(database: Database, *, rows: int) -> None:
    """Over ten hosts, and half of all for one more."""
    number = func.generate_series(1, rows).table_valued(name="n").alias("n")
    host = text("CASE WHEN n % 2 = 0 THEN 'large.example' ELSE 'h' || n % 20 || '.example' END")
    source = select(func.gen_random_uuid(), host).select_from(number)
    async with database.transaction() as session:
        await session.execute(insert(HostedRow).from_select(["id", "host"], source))
        await session.execute(text("ANALYZE noop_rows_of_hosts"))


async def plan_of_a_claim(database: Database, runner: StageRunner) -> dict[str, Any]:
    """As the server makes it without looking at the parameters, with what it read."""
    assert runner.round is not None
    given = {"limit": 10, "lease": runner.lease, "worker": runner.worker.id}
    here = {"after_host": "", "hosts": MIN_HOSTS, **runner.round.politeness}
    statement = runner.claims.claim
    explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement.sql}"
    async with database.reading() as session:
        raw = await (await session.connection()).get_raw_connection()
        driver: Any = raw.driver_connection
        await driver.execute("SET plan_cache_mode = force_generic_plan")
        (answer,) = await driver.fetchval(explain, *statement.arguments(given | here))
    plan: dict[str, Any] = answer["Plan"]
    return plan


def rows_read(plan: dict[str, Any]) -> Counter[str]:
    """Of the stage's table, by the way of reading it."""
    read: Counter[str] = Counter()
    for node in nodes(plan):
        if node.get("Relation Name") == "noop_rows_of_hosts" and "Scan" in node["Node Type"]:
            each_time = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
            read[node["Node Type"]] += round(each_time * node["Actual Loops"])
    return read


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for each in plan.get("Plans", ()):
        yield from nodes(each)
