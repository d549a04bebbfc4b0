"""Faults, in an order that the seed determines."""

from __future__ import annotations

import asyncio
import os
import random
import resource
import signal
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
from sqlalchemy import select, text

from scrapersky.db.embedded import EmbeddedPostgres, ServerAddress
from scrapersky.db.session import Database
from scrapersky.models import Job
from scrapersky.pipeline.tables import Worker
from tests.chaos.audit import Audit
from tests.chaos.sites import HOST_LIMIT, Site
from tests.processes import Program, answering, running
from tests.scale.cables import Cable, plugged_in
from tests.waiting import wait_until

WORKERS = 3
DEAD_AFTER_SECONDS = 5.0
"""Of silence. A killed one is noticed by its pid; this is for frozen ones, and must be long enough
that workers of a busy machine do not take each other for dead again and again."""
SILENT_SECONDS = DEAD_AFTER_SECONDS + 1
"""Frozen or cut off for so long, a worker is taken for dead."""
SLOW_START_SECONDS = 300
"""On a machine that does much else at once."""
ACT_SECONDS = 300
"""The longest that an act waits for what it needs."""
LATENCY_SECONDS = 0.2
"""Of a round trip to the database."""
FAULT_SECONDS = 4.0
"""For which latency, a stepped clock, tar pits and used-up descriptors last."""
PITS = 4
"""Sites that become tar pits together."""
FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
KILLED = "kill -9"
SHORT_ACTS = (KILLED, "SIGTERM", "PostgreSQL restart", "LISTEN cut", "API kill -9")
"""Of a run without a duration, each once. They end when something has happened; the others last for
seconds."""

Act = Callable[[random.Random], Awaitable[None]]


@dataclass(frozen=True)
class Hired:
    """A worker, its way to the database, and the file that sets its clock."""

    program: Program
    cable: Cable
    clock: Path

    @property
    def pid(self) -> int:
        return self.program.pid


class Crew:
    """An API and workers that are replaced when they are gone."""

    def __init__(
        self,
        environ: Mapping[str, str],
        address: ServerAddress,
        logs: Path,
        *,
        port: int,
        audit: Audit,
    ) -> None:
        self._environ, self._address, self._logs, self._port = environ, address, logs, port
        self._audit = audit
        self._stack = AsyncExitStack()
        self._hired = 0
        self.at_work: list[Hired] = []
        self.client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60)
        self._api: Program | None = None
        self.faults = logs / "faults"
        """Where files command faults of workers; see `tests.chaos.worker`."""

    async def __aenter__(self) -> Crew:
        self.faults.mkdir()
        await self._serve()
        for _ in range(WORKERS):
            await self._hire()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()
        await self._stack.aclose()

    def _name_log(self, name: str) -> Path:
        self._hired += 1
        return self._logs / f"{name}{self._hired}.log"

    async def _serve(self) -> None:
        arguments = ("serve", "--port", str(self._port))
        environ = {**self._environ, "SCHEDULER_ENABLED": "false"}
        program = running(*arguments, environ=environ, log=self._name_log("serve"))
        self._api = await self._stack.enter_async_context(program)
        async with asyncio.timeout(SLOW_START_SECONDS):
            while True:
                with suppress(TimeoutError):
                    return await answering(self.client, self._api)

    async def _hire(self) -> None:
        self.at_work.append(await self._stack.enter_async_context(self._worker()))

    @asynccontextmanager
    async def _worker(self) -> AsyncIterator[Hired]:
        """A worker that reaches the database by a cable of its own."""
        log = self._name_log("worker")
        clock = log.with_suffix(".clock")
        clock.write_text("+0")
        path = f"{self._address.socket_dir}/.s.PGSQL.{self._address.port}"
        cable = Cable("127.0.0.1", ())
        async with plugged_in(cable, lambda: asyncio.open_unix_connection(path)) as (port,):
            url = f"postgresql://{self._address.user}@127.0.0.1:{port}/{self._address.database}"
            environ = {
                **self._environ,
                **_get_clock_environ(clock),
                "DATABASE_URL": url,
                "CHAOS_FAULTS": str(self.faults),
            }
            module = "tests.chaos.worker"
            try:
                async with running(environ=environ, log=log, module=module) as program:
                    yield Hired(program, cable, clock)
            finally:
                cable.heal()
                _remove_shared_memory(program.pid)

    async def replace_the_gone(self) -> None:
        """As a supervisor does: one that starts while the database is away gives up."""
        for each in [each for each in self.at_work if each.program.process.poll() is not None]:
            self._check_end(each.program)
            self.at_work.remove(each)
            await self._hire()
        if self._api is not None and self._api.process.poll() is not None:
            self._audit.fail(f"the API ended: {self._api.said()}")
            await self._serve()

    def _check_end(self, program: Program, *expected: int) -> None:
        """Nobody ends for another reason than an order, the poison or the database's absence."""
        said = program.said()
        was_poisoned = "Killed by the poison" in said
        if program.process.returncode not in expected and not was_poisoned:
            self._audit.check_that("the database" in said.lower(), f"a worker ended: {said}")

    def one_of(self, pids: Collection[int], rng: random.Random) -> Hired | None:
        """A worker of ours among these."""
        ours = [each for each in self.at_work if each.pid in pids]
        return rng.choice(ours) if ours else None

    async def kill(self, victim: Hired) -> None:
        victim.program.send(signal.SIGKILL)
        self.at_work.remove(victim)
        await self._hire()

    async def stop_a_worker(self, rng: random.Random) -> None:
        """With SIGTERM: it has to hand back what it holds and leave, even while others crash."""
        leaving = self.at_work.pop(rng.randrange(len(self.at_work)))
        leaving.program.send(signal.SIGTERM)
        await self._hire()
        await leaving.program.ended(ACT_SECONDS)
        # One that was hired a moment ago does not listen yet; it holds nothing either.
        self._check_end(leaving.program, 0, -signal.SIGTERM)

    async def freeze_a_worker(self, rng: random.Random) -> None:
        frozen = rng.choice(self.at_work).program
        frozen.send(signal.SIGSTOP)
        try:
            await asyncio.sleep(SILENT_SECONDS)
        finally:
            frozen.send(signal.SIGCONT)

    async def kill_the_api(self, rng: random.Random) -> None:
        assert self._api is not None
        self._api.send(signal.SIGKILL)
        await self._api.ended()
        await self._serve()

    # The way to the database

    async def half_open(self, rng: random.Random) -> None:
        """Nothing arrives any more and nobody is told, for longer than a worker may be silent."""
        cable = rng.choice(self.at_work).cable
        cable.cut()
        try:
            await asyncio.sleep(SILENT_SECONDS)
        finally:
            cable.heal()

    async def slow_down(self, rng: random.Random) -> None:
        with self._latency():
            await asyncio.sleep(FAULT_SECONDS)

    async def cut_slow_connections(self, rng: random.Random) -> None:
        with self._latency() as cables:
            for _ in range(2):
                await asyncio.sleep(FAULT_SECONDS / 2)
                for each in cables:
                    each.abort()

    @contextmanager
    def _latency(self) -> Iterator[list[Cable]]:
        cables = [each.cable for each in self.at_work]
        for each in cables:
            each.set_latency(LATENCY_SECONDS)
        try:
            yield cables
        finally:
            for each in cables:
                each.set_latency(0)

    # The worker's own machine

    async def step_a_clock(self, rng: random.Random) -> None:
        clock = rng.choice(self.at_work).clock
        clock.write_text(rng.choice(("+1h", "-1h")))
        try:
            await asyncio.sleep(FAULT_SECONDS)
        finally:
            clock.write_text("+0")

    async def poison_a_row(self, rng: random.Random) -> None:
        """One row kills two workers with everything they hold, and is cured then."""
        poison, poisoned = self.faults / "poison", self.faults / "poisoned"
        poisoned.write_text("")
        poison.touch()

        async def have_died() -> bool:
            await self.replace_the_gone()
            return len(poisoned.read_text().splitlines()) >= 2

        try:
            await wait_until(have_died, seconds=ACT_SECONDS)
        finally:
            poison.unlink()
        await self.replace_the_gone()


def _get_clock_environ(clock: Path) -> dict[str, str]:
    """For a process whose clock this file sets; nothing where libfaketime is missing."""
    if FAKETIME is None:
        return {}
    return {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }


def _remove_shared_memory(pid: int) -> None:
    """libfaketime leaves it behind when its process is killed, and refuses to start with it when
    the pid is given out again."""
    for each in Path("/dev/shm").glob(f"*faketime_s*_{pid}"):
        each.unlink(missing_ok=True)


class Mischief:
    """Each act at least once, then at random; which and when depends on the seed alone."""

    def __init__(
        self,
        crew: Crew,
        postgres: EmbeddedPostgres,
        database: Database,
        sites: Sequence[Site],
        audit: Audit,
    ) -> None:
        self._crew, self._postgres, self._database = crew, postgres, database
        self._sites, self._audit = sites, audit
        self.acts: dict[str, Act] = {
            KILLED: self.kill_a_busy_worker,
            "SIGSTOP": crew.freeze_a_worker,
            "SIGTERM": crew.stop_a_worker,
            "PostgreSQL restart": self.crash_database,
            "LISTEN cut": self.cut_listeners,
            "API kill -9": crew.kill_the_api,
            "tar pits": self.become_tar_pits,
            "half-open connections": crew.half_open,
            "200 ms latency": crew.slow_down,
            "cuts at 200 ms": crew.cut_slow_connections,
            "poison row": crew.poison_a_row,
            "no descriptors": self.use_up_descriptors,
            "frozen sender": self.freeze_a_sender,
        }
        if FAKETIME is not None:
            self.acts["clock step"] = crew.step_a_clock
        self.done: Counter[str] = Counter()

    async def go_on_for(self, seconds: float, rng: random.Random) -> None:
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + seconds
        names = [each for each in self.acts if seconds or each in SHORT_ACTS]
        for number, (name, pause, chance) in enumerate(draw_schedule(names, rng)):
            if number >= len(names) and loop.time() >= ends_at:
                return
            with self._audit.collecting(name):
                await self._crew.replace_the_gone()
                await self.acts[name](chance)
            self.done[name] += 1
            await asyncio.sleep(pause)

    async def kill_a_busy_worker(self, rng: random.Random) -> None:
        """It is held still first: what it holds then, it holds when it dies."""
        async with asyncio.timeout(ACT_SECONDS):
            while True:
                await self._crew.replace_the_gone()
                victim = self._crew.one_of(await self._busy(), rng)
                if victim is not None:
                    victim.program.send(signal.SIGSTOP)
                    await asyncio.sleep(0.1)
                    if victim.pid in await self._busy():
                        return await self._crew.kill(victim)
                    victim.program.send(signal.SIGCONT)
                await asyncio.sleep(0.05)

    async def _busy(self) -> set[int]:
        busy = select(Worker.pid).join(Job, Job.worker_id == Worker.id)
        async with self._database.reading() as session:
            return set(await session.scalars(busy.where(Job.status == "processing")))

    async def use_up_descriptors(self, rng: random.Random) -> None:
        """The next descriptor that the worker opens is one too many. It works already: one that is
        still starting could not even import what it needs, and that is no situation of ours."""
        pid = (await self._find_working(rng)).pid
        with suppress(ProcessLookupError, FileNotFoundError):
            taken = {int(each.name) for each in Path(f"/proc/{pid}/fd").iterdir()}
            free = min(set(range(len(taken) + 1)) - taken)
            usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, usual[1]))
            try:
                await asyncio.sleep(FAULT_SECONDS)
            finally:
                resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)

    async def _find_working(self, rng: random.Random) -> Hired:
        """A worker that has sent a heartbeat."""
        async with asyncio.timeout(ACT_SECONDS):
            while True:
                await self._crew.replace_the_gone()
                async with self._database.reading() as session:
                    beating = set(await session.scalars(select(Worker.pid)))
                if (found := self._crew.one_of(beating, rng)) is not None:
                    return found
                await asyncio.sleep(0.1)

    async def crash_database(self, rng: random.Random) -> None:
        """What `pg_ctl restart -m immediate` does: no farewell, and recovery at the next start."""
        async with self._database.reading() as session:
            data = Path(str(await session.scalar(text("SHOW data_directory"))))
        pid = int((data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGQUIT)
        await asyncio.to_thread(self._postgres.revive)
        await self._until_it_answers()

    async def _until_it_answers(self) -> None:
        async with asyncio.timeout(ACT_SECONDS):
            while True:
                with suppress(Exception):
                    async with self._database.reading() as session:
                        await session.scalar(text("SELECT 1"))
                        return
                await asyncio.sleep(0.1)

    async def cut_listeners(self, rng: random.Random) -> None:
        listening = text(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE query ILIKE 'LISTEN%' AND pid <> pg_backend_pid()"
        )
        async with self._database.transaction() as session:
            await session.scalar(listening)

    # Sites

    async def become_tar_pits(self, rng: random.Random) -> None:
        healed = asyncio.Event()
        pits = rng.sample(self._sites, PITS)
        for each in pits:
            each.pit = healed
        try:
            await asyncio.sleep(2 * FAULT_SECONDS)
        finally:
            healed.set()
            for each in pits:
                each.pit = None

    async def freeze_a_sender(self, rng: random.Random) -> None:
        """Between its turn at a site and its request. It goes on when the site has as many requests
        of others as it allows: one that sends what it meant to send makes it one too many."""
        order, answer = self._crew.faults / "freeze", self._crew.faults / "frozen"
        order.touch()
        try:

            async def has_frozen() -> bool:
                await self._crew.replace_the_gone()
                return answer.exists()

            await wait_until(has_frozen, seconds=ACT_SECONDS)
            pid, name = answer.read_text().split()
            try:
                await self._crowd(next(each for each in self._sites if each.host.name == name))
            finally:
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGCONT)
            await asyncio.sleep(1)
        finally:
            order.unlink(missing_ok=True)
            answer.unlink(missing_ok=True)
            for each in self._sites:
                if each.hold is not None:
                    each.hold.set()
                    each.hold = None

    async def _crowd(self, site: Site) -> None:
        """Keep requests of others at the site. What the frozen worker sent before ends first: it is
        still there when its slot goes to another, and no gate can know."""
        await asyncio.sleep(SILENT_SECONDS)
        site.hold = asyncio.Event()

        async def is_crowded() -> bool:
            return len(site.get_open_requests()) >= HOST_LIMIT

        with suppress(TimeoutError):
            await wait_until(is_crowded, seconds=4 * DEAD_AFTER_SECONDS)


def draw_schedule(
    names: Sequence[str], rng: random.Random
) -> Iterator[tuple[str, float, random.Random]]:
    """Acts, the pauses after them and their own dice, without end. A killed worker comes first,
    for even the shortest run must have to rescue something; then the others, then any."""
    order = [each for each in names if each != KILLED]
    rng.shuffle(order)
    order.append(KILLED)
    while True:
        name = order.pop() if order else rng.choice(names)
        yield name, rng.uniform(0.3, 2.0), random.Random(rng.getrandbits(64))
