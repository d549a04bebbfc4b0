"""A worker that was frozen between reserving its slot and sending the request checks the slot
again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from sqlalchemy import delete, func, select, update

from scrapersky.db.session import Database
from scrapersky.pipeline import workers
from scrapersky.pipeline.hosts import HostGate, free_lost_slots
from scrapersky.pipeline.tables import HostSlot, Worker
from scrapersky.pipeline.workers import WorkerIdentity
from tests.conftest import make_settings
from tests.fake_web import FakeWeb
from tests.processes import ROOT
from tests.waiting import PATIENCE_SECONDS

DEAD_AFTER = 2.0
LONG_AGO = timedelta(hours=1)


@asynccontextmanager
async def frozen_sender(url: str, port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that has its turn, and stands still before it sends."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.pipeline.frozen_sender", url, str(port), str(DEAD_AFTER)),
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"asks\n"
        while _state(process.pid) != "T":
            await asyncio.sleep(0.02)
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
            await process.wait()


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


async def test_a_worker_frozen_before_it_sends_waits_for_its_turn_again(
    url: str, database: Database
) -> None:
    mine = HostGate(database, make_settings(url, host_concurrency=1), worker_id=None)
    async with asyncio.timeout(PATIENCE_SECONDS), FakeWeb() as web:
        host = web.host("bakery.example").body("/", "hello")
        async with frozen_sender(url, web.port) as process:
            assert process.stdout is not None
            await _look_dead(database)
            async with mine.slot(f"bakery.example:{web.port}", exempt=True):
                process.send_signal(signal.SIGCONT)
                # Either it asks again, or it has sent: then its next word is that it is done.
                next_word = await process.stdout.readline()
                seen_meanwhile = list(host.paths)
            assert await process.stdout.readline() == b"done\n"

    assert (next_word, seen_meanwhile) == (b"asks\n", [])
    assert host.paths == ["/"]


async def _look_dead(database: Database) -> None:
    """Silent for so long that its slot is given to others."""
    old = select(func.count()).where(
        HostSlot.taken_at < func.now() - timedelta(seconds=DEAD_AFTER + 0.5)
    )
    while True:
        async with database.reading() as session:
            if await session.scalar(old):
                break
        await asyncio.sleep(0.05)
    async with database.transaction() as session:
        await session.execute(update(Worker).values(beat_at=func.now() - LONG_AGO))
        await free_lost_slots(session, dead_after=timedelta(seconds=DEAD_AFTER))
        assert await session.scalar(select(func.count()).select_from(HostSlot)) == 0


async def test_a_slot_taken_a_moment_ago_is_safe_however_old_the_heartbeat_is(
    url: str, database: Database
) -> None:
    worker = WorkerIdentity()
    mine = HostGate(database, make_settings(url), worker_id=worker.id)
    async with database.transaction() as session:
        await workers.record_heartbeat(session, worker)
        await session.execute(update(Worker).values(beat_at=func.now() - LONG_AGO))
    async with mine.slot("bakery.example", exempt=True):
        assert await _left_after_rescue(database) == 1
        async with database.transaction() as session:
            await session.execute(update(HostSlot).values(taken_at=func.now() - LONG_AGO))
        assert await _left_after_rescue(database) == 0


async def test_a_turn_that_was_waited_for_long_is_confirmed_before_it_is_used(
    url: str, database: Database
) -> None:
    """Whether the slot is still there is asked, and where it is not a new one is taken."""
    now = 0.0
    mine = HostGate(database, make_settings(url), worker_id=None, clock=lambda: now)
    taken = mine._reserve_slot
    turns = 0

    async def take_slowly(host: str, *, exempt: bool):  # type: ignore[no-untyped-def]
        nonlocal now, turns
        turn = await taken(host, exempt=exempt)
        turns += 1
        if turns <= 2:
            now += 1000
        if turns == 1:  # meanwhile somebody has freed it
            async with database.transaction() as session:
                await session.execute(delete(HostSlot))
        return turn

    mine._reserve_slot = take_slowly  # type: ignore[method-assign]
    async with mine.slot("bakery.example", exempt=True) as turn:
        turn.check()
        assert turns == 2


async def test_a_request_that_takes_long_keeps_its_slot(url: str, database: Database) -> None:
    now = 0.0
    mine = HostGate(database, make_settings(url), worker_id=uuid4(), clock=lambda: now)
    async with mine.slot("bakery.example", exempt=True):
        async with database.transaction() as session:
            soon = func.now() + timedelta(seconds=30)
            await session.execute(update(HostSlot).values(expires_at=soon))
        now += 3600
        await mine.renew()
        async with database.reading() as session:
            left = await session.scalar(select(HostSlot.expires_at - func.now()))
    assert left is not None
    assert left > timedelta(seconds=60)


async def _left_after_rescue(database: Database) -> int:
    async with database.transaction() as session:
        await free_lost_slots(session, dead_after=timedelta(seconds=15))
        return int(await session.scalar(select(func.count()).select_from(HostSlot)) or 0)
