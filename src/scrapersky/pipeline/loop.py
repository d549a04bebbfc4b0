"""Claim due rows, work them and settle them until the queue is drained."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress
from datetime import timedelta
from time import monotonic
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.outages import find_outage, retry_outages, row_interruptions, translate_outages
from scrapersky.db.session import Database
from scrapersky.db.statements import RowValues
from scrapersky.errors import Rejected, StageVerdict
from scrapersky.logging import get_logger
from scrapersky.pipeline.claims import get_lease, get_statements
from scrapersky.pipeline.flow import Valve
from scrapersky.pipeline.host_claims import RECHECK_INTERVAL, HostRotation
from scrapersky.pipeline.outcome import (
    NO_RESULT,
    AttemptOutcome,
    LostClaim,
    RetryPolicy,
    WorkTimedOut,
    build_completed,
    build_error_outcome,
    build_handed_back,
    build_interruption_outcome,
    summarize_error,
)
from scrapersky.pipeline.queue import ISOLATE_AFTER_RESCUES, Claim
from scrapersky.pipeline.settle import log_failure
from scrapersky.pipeline.settler import Settler
from scrapersky.pipeline.slots import HeldRow, SlotShare, SlowSlots, TimeLimit, count_slow_slots
from scrapersky.pipeline.stage import AnyStage, StoreImmediately, Tools
from scrapersky.pipeline.tables import EventKind
from scrapersky.pipeline.vitals import ResourceMonitor, RunReport
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.scraper.http.limits import wait_observer
from scrapersky.settings import Pace, Settings

CHUNK_DEADLINE_SECONDS = 300.0
PROVE_DEADLINE_SECONDS = 60.0
PREPARE_DEADLINE_SECONDS = 60.0
NEXT_DUE_DEADLINE_SECONDS = 30.0
MAX_RESCUES = 32_767
"""Greater than any row's rescue count. Used by processes that cannot start an isolated worker."""

log = get_logger(__name__)


class StageRunner:
    """One stage in one process: its slots, the rows it holds, and the runs that fill the slots."""

    def __init__(
        self,
        stage: AnyStage,
        *,
        database: Database,
        worker: WorkerIdentity,
        tools: Tools,
        settings: Settings,
        valve: Valve | None = None,
        isolates: bool = False,
        own_limits: ResourceMonitor | None = None,
    ) -> None:
        self.stage = stage
        self.database = database
        self.worker = worker
        self.tools = tools
        self.pace: Pace = stage.get_pace(settings)
        self.claims = get_statements(stage)
        self.round = HostRotation(settings) if stage.host else None
        self.rule = RetryPolicy.from_settings(settings, self.pace.max_attempts)
        self.lease: timedelta = get_lease(self.pace.timeout, settings.lease_grace_seconds)
        self.own_limits = own_limits or ResourceMonitor()
        self.settler = Settler(
            database, self.claims, rule=self.rule, worker=worker, own_limits=self.own_limits
        )
        self._isolate_after = ISOLATE_AFTER_RESCUES if isolates else MAX_RESCUES
        """Rows with at least this many rescues are left to the isolated worker."""
        self.held: dict[UUID, HeldRow] = {}
        self.claimed = 0
        """Rows claimed since the process started."""
        self.free_slots = self.pace.concurrency
        self.free_slow_slots = count_slow_slots(self.pace, tools)
        """Additional slots for rows that wait for slow or unproven hosts."""
        self.runs = 0
        self.stopping = False
        self.suspended = False
        """Whether claiming is suspended, because other workers may consider this one dead."""
        self.last_tick: float | None = None
        """Monotonic time of the last run. The heartbeat converts it to the database's time."""
        self.last_error: str | None = None
        """Why the last run failed; None once rows can be claimed again."""
        self.no_runs = asyncio.Event()
        self.no_runs.set()
        self._again = asyncio.Event()
        self.valve = valve or Valve(stage, database)

    def change_pace(self, pace: Pace) -> None:
        """Apply a new pace.

        Rows in progress are unaffected; with fewer slots, the count may be exceeded until some of
        them end.
        """
        self.free_slots += pace.concurrency - self.pace.concurrency
        slow, before = (count_slow_slots(each, self.tools) for each in (pace, self.pace))
        self.free_slow_slots += slow - before
        self.pace = pace
        self.poke()

    def poke(self) -> None:
        """Make a current run check the queue once more before it ends."""
        self._again.set()

    # Claiming

    async def claim(self, limit: int, share: SlotShare | None = None) -> list[HeldRow]:
        """Claim up to `limit` due rows, of each kind at most its share.

        The caller has reserved the slots.
        """
        share = share or SlotShare(limit, limit)
        parameters = {
            "limit": share.slots,
            "lease": self.lease,
            "worker": self.worker.id,
            "isolate_after": self._isolate_after,
        }
        # Claims commit asynchronously (synchronous_commit = off). If the server crashes before the
        # commit reaches the disk, the row is queued again and our token is worthless: the result is
        # fenced, and the row is worked once more.
        async_commit, statement = self.database.async_commit, self.claims.claim
        if self.round is None:
            rows = await async_commit.fetch(statement, parameters)
            self.claimed += len(rows)
            return [self._read(each) for each in rows]
        if self.stage.proves_hosts:
            parameters |= {"probes": share.slow_slots, "total": limit}
        by_host = await self.round.claim(async_commit, statement, parameters)
        self.claimed += len(by_host)
        return [self._read(values, waits=not is_proven) for is_proven, values in by_host]

    async def claim_isolated(self) -> HeldRow | None:
        """Claim the next due row that must run isolated."""
        parameters = {"limit": 1, "lease": self.lease, "worker": self.worker.id}
        rows = await self.database.async_commit.fetch(self.claims.claim_isolated, parameters)
        self.claimed += len(rows)
        return self._read(rows[0]) if rows else None

    async def claim_by_id(self, row_id: UUID) -> HeldRow | None:
        parameters = {"row_id": row_id, "lease": self.lease, "worker": self.worker.id}
        rows = await self.database.async_commit.fetch(self.claims.claim_by_id, parameters)
        self.claimed += len(rows)
        return self._read(rows[0]) if rows else None

    def _read(self, values: RowValues, *, waits: bool = False) -> HeldRow:
        claim, row = self.claims.parse_claimed(values)
        try:
            return HeldRow(claim, self.stage.read(row), waits=waits)
        except StageVerdict as verdict:
            return HeldRow(claim, verdict, waits=waits)
        except Exception as error:
            problem = Rejected(f"The row's data is invalid: {type(error).__name__}: {error}")
            problem.__cause__ = error
            return HeldRow(claim, problem, waits=waits)

    # Working

    def begin(self, held: HeldRow) -> asyncio.Task[EventKind]:
        """Start the work of a claimed row. Its slot is released once the row is settled."""
        return self.begin_all([held])[0]

    def begin_all(self, claimed: Sequence[HeldRow]) -> list[asyncio.Task[EventKind]]:
        limit = TimeLimit(claimed, self.pace.timeout_seconds) if claimed else None
        self.settler.under_way += len(claimed)
        tasks = []
        for held in claimed:
            held.limit = limit
            held.task = asyncio.create_task(self._work_and_settle(held))
            self.held[held.claim.token] = held
            tasks.append(held.task)
        return tasks

    async def _work_and_settle(self, held: HeldRow) -> EventKind:
        # The task has its own context, so everything logged while the row is worked carries its
        # ids.
        structlog.contextvars.bind_contextvars(
            worker=self.worker.readable, **self._get_log_ids(held)
        )
        wait_observer.set(SlowSlots(self, held))
        try:
            outcome = await self._attempt(held)
            held.ending = True
            if held.limit is not None:
                held.limit.release_one()
            if outcome is None:
                return EventKind.FENCED
            return await self.settler.put(outcome)
        finally:
            self.held.pop(held.claim.token, None)
            self.settler.under_way -= 1
            self.free_slow_slots += held.waits
            self.free_slots += not held.waits
            self._again.set()

    async def _attempt(self, held: HeldRow) -> AttemptOutcome | None:
        """Work the row and return its outcome, whatever happens.

        Returns None if the row is no longer ours.
        """
        if self.stopping:  # the claim was in flight when the stop came
            return build_handed_back(held.claim)
        try:
            return build_completed(held.claim, await self._perform(held))
        except asyncio.CancelledError as error:
            if held.late and not held.lost:
                if (outage := find_outage(error)) is not None:
                    # The time ran out while the row waited for the database, which is not the row's
                    # fault. It is counted nevertheless, because the row's own statements may have
                    # caused the delay.
                    interrupted = build_interruption_outcome(held.claim, outage)
                    log_failure(self.stage, interrupted, outage)
                    return interrupted
                return self._build_failure(held, self._build_timeout(error))
            return None if held.lost else build_handed_back(held.claim)
        except LostClaim:
            log.warning("claim lost, nothing stored", **self._get_log_ids(held))
            self.settler.totals[EventKind.FENCED] += 1
            return None
        except Exception as error:
            return self._build_failure(held, error)

    def _build_failure(self, held: HeldRow, error: Exception) -> AttemptOutcome:
        self.own_limits.note(error)
        outcome = build_error_outcome(held.claim, error, self.rule)
        log_failure(self.stage, outcome, error)
        return outcome

    def _build_timeout(self, cancelled: asyncio.CancelledError) -> WorkTimedOut:
        """Build the timeout error.

        Its cause is the cancellation, whose traceback shows where the work was at that moment.
        """
        seconds = self.pace.timeout_seconds
        late = WorkTimedOut(f"The work timed out after {seconds:g} seconds.")
        late.__cause__ = cancelled
        return late.with_traceback(cancelled.__traceback__)

    async def _perform(self, held: HeldRow) -> Any:
        if isinstance(held.item, StageVerdict):
            raise held.item
        item = held.item
        if self.stage.prepare is not None:
            item = await retry_outages(lambda: self._prepare(held.item))
        working = self.stage.work(item, self.tools)
        if isinstance(working, AsyncIterator):
            return await self._store_stream(held.claim, working)
        result = await working
        if self.stage.stores_separately:
            await self._store_chunk(held.claim, result)
            return NO_RESULT
        return result

    async def _prepare(self, item: Any) -> Any:
        assert self.stage.prepare is not None
        with translate_outages():
            async with self.database.reading() as session:
                async with asyncio.timeout(PROVE_DEADLINE_SECONDS):
                    await session.connection()
                with row_interruptions():
                    async with asyncio.timeout(PREPARE_DEADLINE_SECONDS):
                        return await self.stage.prepare(session, item)

    async def _store_stream(self, claim: Claim, results: AsyncIterator[Any]) -> Any:
        """Store each result in its own transaction, except the last, which is returned.

        The caller stores the last result in the transaction that completes the row. A stage with
        `stores_separately` has no such result.
        """
        latest = NO_RESULT
        # Stay one result behind the stream, because only its end tells which result was the last.
        # That one is stored together with the completion, so that a crash cannot leave a row with
        # all results stored but not completed.
        async with aclosing(results) as stream:  # type: ignore[type-var]
            async for result in stream:
                if latest is not NO_RESULT:
                    await self._store_chunk(claim, latest)
                latest = result
                if self.stage.stores_separately or isinstance(result, StoreImmediately):
                    await self._store_chunk(claim, result)
                    latest = NO_RESULT
        return latest

    async def _store_chunk(self, claim: Claim, result: Any) -> None:
        """Store one result, and retry through outages.

        Repeating is safe: each attempt proves the claim first, and a stage's store is idempotent.
        """
        await retry_outages(lambda: self._try_to_store_chunk(claim, result))

    async def _try_to_store_chunk(self, claim: Claim, result: Any) -> None:
        assert self.stage.store is not None, "a stage that yields results stores them"
        deadline = PROVE_DEADLINE_SECONDS + CHUNK_DEADLINE_SECONDS
        async with self.database.bounded_transaction(deadline) as session:
            proof = {"row_id": claim.row_id, "token": claim.token}
            row = await session.scalar(self.claims.prove, proof)
            if row is None:
                raise LostClaim(f"{self.stage.name} lost its claim on {claim.row_id}.")
            with row_interruptions():
                async with asyncio.timeout(CHUNK_DEADLINE_SECONDS):
                    await self.stage.store(session, row, result)
                    await session.flush()

    def _get_log_ids(self, held: HeldRow) -> dict[str, str]:
        row_id = str(held.claim.row_id)
        job = {"job_id": row_id} if "job_type" in self.stage.only else {}
        return {"stage": self.stage.name, "row_id": row_id, **job}

    # Claims held

    def drop_all(self) -> int:
        """Cancel all work.

        The rows may have been given to other workers, so no result could be stored.
        """
        # Rows in `ending` are left to the settler. Their outcome may already be committed, and
        # fencing rejects it if the claim is gone.
        dropped = [each for each in self.held.values() if not each.ending]
        for each in dropped:
            each.lost = True
            if each.task is not None:
                each.task.cancel()
        return len(dropped)

    async def drop_disowned(self, session: AsyncSession) -> int:
        """Cancel the work of rows whose claim was lost. Their results could not be stored."""
        # Skip rows that are being settled: their token disappears when the outcome is committed.
        held = [each for each in self.held.values() if not each.ending]
        if not held:
            return 0
        tokens = await session.scalars(
            self.claims.disowned,
            {
                "ids": [each.claim.row_id for each in held],
                "tokens": [each.claim.token for each in held],
            },
        )
        still = (self.held[token] for token in tokens if token in self.held)
        disowned = [each for each in still if not each.ending]
        for each in disowned:
            each.lost = True
            if each.task is not None:
                log.warning("claim lost, work cancelled", **self._get_log_ids(each))
                each.task.cancel()
        return len(disowned)

    async def seconds_to_next_due(self) -> float | None:
        known = {**(self.round.politeness if self.round else {})}
        known["isolate_after"] = self._isolate_after
        async with self.database.bounded_reading(NEXT_DUE_DEADLINE_SECONDS) as session:
            wait = await session.scalar(self.claims.next_due, known)
            return None if wait is None else max(wait.total_seconds(), 0)

    async def finish(self, grace_seconds: float) -> int:
        """Stop claiming, let current work finish for `grace_seconds`, then requeue the rest.

        Returns the number of rows that were cut short.
        """
        self.stopping = True
        self.poke()
        tasks = [each.task for each in self.held.values() if each.task is not None]
        unfinished: set[asyncio.Task[EventKind]] = set()
        if tasks:
            _, unfinished = await asyncio.wait(tasks, timeout=grace_seconds or 0.001)
        for task in unfinished:
            task.cancel()
        if unfinished:
            await asyncio.wait(unfinished)
        # A run may just have claimed rows. They are requeued as soon as they start, and then the
        # run ends.
        self.poke()
        await self.no_runs.wait()
        return len(unfinished)


async def run_job_loop(runner: StageRunner) -> RunReport | None:
    """Drain a stage's queue with the free slots of this process.

    Returns None if the maximum number of runs is already active. One of them is poked instead, so
    that it checks the queue once more before it ends.
    """
    runner.last_tick = monotonic()
    if runner.runs >= runner.pace.max_instances:
        log.debug("stage is full, tick skipped", stage=runner.stage.name, runs=runner.runs)
        runner.poke()
        return None
    runner.runs += 1
    runner.no_runs.clear()
    report = RunReport(runner.stage.name)
    try:
        await _drain(runner, report)
        runner.last_error = None
    except Exception as error:
        runner.last_error = summarize_error(runner.own_limits.note(error) or error)
        raise
    finally:
        runner.runs -= 1
        if not runner.runs:
            runner.no_runs.set()
        if report.found:
            log.info("run", **report.as_fields())
    return report


async def _drain(runner: StageRunner, report: RunReport) -> None:
    mine: set[asyncio.Task[EventKind]] = set()
    while True:
        # Clear before claiming. A poke that arrives during the claim then stays set, and the queue
        # is checked once more.
        runner._again.clear()
        claimed = [] if runner.stopping else await _fill_slots(runner)
        report.found += len(claimed)
        mine.update(runner.begin_all(claimed))
        # Yield to the loop, so that the claimed rows start before the next claim is prepared.
        await asyncio.sleep(0)
        mine = _count_ended(mine, report)
        if claimed and _get_free_slots(runner).total:
            continue
        if not mine and not runner._again.is_set():
            return
        await _wait_for_change(runner, mine)


async def _fill_slots(runner: StageRunner) -> Sequence[HeldRow]:
    """Reserve slots, claim rows, and release the slots that were not needed.

    Runs of one stage share its slots. The slots are reserved before the claim is awaited, so that
    two runs cannot claim into the same slot.
    """
    if runner.suspended:
        return ()
    limit = await runner.valve.admit(min(runner.pace.batch_size, _get_free_slots(runner).total))
    # Other runs may have taken slots while the downstream queues were being measured.
    free = _get_free_slots(runner)
    share = SlotShare(min(limit, free.slots), min(limit, free.slow_slots))
    limit = min(limit, share.total)
    if limit <= 0:
        return ()
    runner.free_slots -= share.slots
    runner.free_slow_slots -= share.slow_slots
    claimed: Sequence[HeldRow] = ()
    try:
        claimed = await runner.claim(limit, share)
    finally:
        slow = sum(each.waits for each in claimed)
        runner.free_slots += share.slots - (len(claimed) - slow)
        runner.free_slow_slots += share.slow_slots - slow
    # Reset here and not only when the run ends: a run that drains a long queue may last for hours.
    runner.last_error = None
    return claimed


def _get_free_slots(runner: StageRunner) -> SlotShare:
    """Return the free slots the stage may claim into."""
    slow = runner.free_slow_slots if runner.stage.proves_hosts else 0
    return SlotShare(max(runner.free_slots, 0), max(slow, 0))


def _count_ended(
    tasks: set[asyncio.Task[EventKind]], report: RunReport
) -> set[asyncio.Task[EventKind]]:
    for task in tasks:
        if task.done() and not task.cancelled():
            report.ended[task.result()] += 1
    return {task for task in tasks if not task.done()}


async def _wait_for_change(runner: StageRunner, mine: set[asyncio.Task[EventKind]]) -> None:
    """Wait until a poke or a free slot.

    Stages that claim by host also time out, because a host becomes ready without any notification.
    """
    if runner.stopping:
        if mine:
            await asyncio.wait(mine)
        return
    patience = RECHECK_INTERVAL.total_seconds() if runner.round else None
    with suppress(TimeoutError):
        async with asyncio.timeout(patience):
            await runner._again.wait()
