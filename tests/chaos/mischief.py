"""What goes wrong, in an order that a seed repeats."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import httpx
from sqlalchemy import select, text

from scrapersky.db.embedded import EmbeddedPostgres
from scrapersky.db.session import Database
from scrapersky.models import Job
from scrapersky.pipeline.tables import Worker
from tests.processes import Program, answering, running

WORKERS = 3
DEAD_AFTER_SECONDS = 5.0
"""Of silence. A killed one is noticed by its pid; this is for frozen ones, and must be long enough
that workers of a busy machine do not take each other for dead again and again."""
FROZEN_SECONDS = DEAD_AFTER_SECONDS + 1
SLOW_START_SECONDS = 120
"""On a machine that does much else at once."""

Act = Callable[[], Awaitable[None]]


class Crew:
    """An API and workers that are replaced when they are gone."""

    def __init__(
        self, environ: Mapping[str, str], logs: Path, *, port: int, rng: random.Random
    ) -> None:
        self._environ, self._logs, self._port, self._rng = environ, logs, port, rng
        self._stack = AsyncExitStack()
        self._hired = 0
        self.at_work: list[Program] = []
        self.client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60)
        self._api: Program | None = None

    async def __aenter__(self) -> Crew:
        await self._serve()
        for _ in range(WORKERS):
            await self._hire()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()
        await self._stack.aclose()

    async def _start(self, *arguments: str, **more: str) -> Program:
        self._hired += 1
        log = self._logs / f"{arguments[0]}{self._hired}.log"
        program = running(*arguments, environ={**self._environ, **more}, log=log)
        return await self._stack.enter_async_context(program)

    async def _serve(self) -> None:
        self._api = await self._start("serve", "--port", str(self._port), SCHEDULER_ENABLED="false")
        async with asyncio.timeout(SLOW_START_SECONDS):
            while True:
                with suppress(TimeoutError):
                    return await answering(self.client, self._api)

    async def _hire(self) -> None:
        self.at_work.append(await self._start("worker"))

    async def replace_the_gone(self) -> None:
        """As a supervisor does: one that starts while the database is away gives up."""
        for each in [each for each in self.at_work if each.process.poll() is not None]:
            assert "The database" in each.said(), each.said()
            self.at_work.remove(each)
            await self._hire()

    def _somebody(self) -> Program:
        return self.at_work.pop(self._rng.randrange(len(self.at_work)))

    def one_of(self, pids: Collection[int]) -> Program | None:
        """A worker of ours among these."""
        ours = [each for each in self.at_work if each.pid in pids]
        return self._rng.choice(ours) if ours else None

    async def kill(self, victim: Program) -> None:
        victim.send(signal.SIGKILL)
        self.at_work.remove(victim)
        await self._hire()

    async def stop_a_worker(self) -> None:
        """With SIGTERM: it has to hand back what it holds and leave, even while others crash."""
        leaving = self._somebody()
        leaving.send(signal.SIGTERM)
        await self._hire()
        # One that was hired a moment ago does not listen yet; it holds nothing either.
        code = await leaving.ended(60)
        assert code in (0, -signal.SIGTERM) or "The database" in leaving.said(), leaving.said()

    async def freeze_a_worker(self) -> None:
        frozen = self._rng.choice(self.at_work)
        frozen.send(signal.SIGSTOP)
        await asyncio.sleep(FROZEN_SECONDS)
        frozen.send(signal.SIGCONT)

    async def kill_the_api(self) -> None:
        assert self._api is not None
        self._api.send(signal.SIGKILL)
        await self._api.ended()
        await self._serve()


class Mischief:
    """Each act at least once, then at random; which and when depends on the seed alone."""

    def __init__(
        self,
        crew: Crew,
        postgres: EmbeddedPostgres,
        database: Database,
        rng: random.Random,
    ) -> None:
        self._crew, self._postgres, self._database, self._rng = crew, postgres, database, rng
        self.acts: dict[str, Act] = {
            "kill -9": self.kill_a_busy_worker,
            "SIGSTOP": crew.freeze_a_worker,
            "SIGTERM": crew.stop_a_worker,
            "PostgreSQL restart": self.crash_database,
            "LISTEN cut": self.cut_listeners,
            "API kill -9": crew.kill_the_api,
        }
        self.done: Counter[str] = Counter()

    async def go_on_for(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + seconds
        names = list(self.acts)
        self._rng.shuffle(names)
        while names or loop.time() < ends_at:
            name = names.pop() if names else self._rng.choice(list(self.acts))
            pause = self._rng.uniform(0.3, 2.0)
            await self._crew.replace_the_gone()
            await self.acts[name]()
            self.done[name] += 1
            await asyncio.sleep(pause)

    async def kill_a_busy_worker(self) -> None:
        """It is held still first: what it holds then, it holds when it dies."""
        async with asyncio.timeout(120):
            while True:
                await self._crew.replace_the_gone()
                victim = self._crew.one_of(await self._busy())
                if victim is not None:
                    victim.send(signal.SIGSTOP)
                    await asyncio.sleep(0.1)
                    if victim.pid in await self._busy():
                        return await self._crew.kill(victim)
                    victim.send(signal.SIGCONT)
                await asyncio.sleep(0.05)

    async def _busy(self) -> set[int]:
        busy = select(Worker.pid).join(Job, Job.worker_id == Worker.id)
        async with self._database.reading() as session:
            return set(await session.scalars(busy.where(Job.status == "processing")))

    async def crash_database(self) -> None:
        """What `pg_ctl restart -m immediate` does: no farewell, and recovery at the next start."""
        async with self._database.reading() as session:
            data = Path(str(await session.scalar(text("SHOW data_directory"))))
        pid = int((data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGQUIT)
        await asyncio.to_thread(self._postgres.revive)
        await self._until_it_answers()

    async def _until_it_answers(self) -> None:
        async with asyncio.timeout(60):
            while True:
                with suppress(Exception):
                    async with self._database.reading() as session:
                        await session.scalar(text("SELECT 1"))
                        return
                await asyncio.sleep(0.1)

    async def cut_listeners(self) -> None:
        listening = text(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE query ILIKE 'LISTEN%' AND pid <> pg_backend_pid()"
        )
        async with self._database.transaction() as session:
            await session.scalar(listening)
