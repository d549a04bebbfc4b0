"""A stage with rows, and ways to let time pass and workers die."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.session import Database
from scrapersky.pipeline import workers
from scrapersky.pipeline.loop import StageRunner
from scrapersky.pipeline.queue import QueueState
from scrapersky.pipeline.rescue import Rescuer
from scrapersky.pipeline.stage import AnyStage, Tools
from scrapersky.pipeline.tables import DeadLetter, Host, StageEvent
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.settings import Settings
from tests.stage_cases import CASES, Case

EVERY_STAGE = pytest.mark.parametrize("name", list(CASES))
Work = Callable[[Any, Tools], Any]


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
