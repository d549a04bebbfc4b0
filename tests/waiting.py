"""Waiting for a condition. No test depends on how fast the machine is: it waits for what it needs.

A deadline here only turns a wait that would last for ever into a failure, so it is many times
longer than a loaded machine needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from sqlalchemy import Executable, text

from scrapersky.db.session import Database

T = TypeVar("T")
PATIENCE_SECONDS = 300.0
"""Deadline of a wait that ends within a second on an idle machine."""

LOCK_WAITERS = text(
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE datname = current_database() AND wait_event_type = 'Lock'"
)
"""Sessions of this database only: the test processes share a server."""


async def wait_until(
    condition: Callable[[], Awaitable[object]], *, seconds: float = PATIENCE_SECONDS
) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.02)


async def wait_for_lock_waiters(database: Database, sessions: int = 1) -> None:
    """Wait until so many sessions of this database wait for a lock."""

    async def are_waiting() -> bool:
        async with database.reading() as session:
            return int(await session.scalar(LOCK_WAITERS) or 0) >= sessions

    await wait_until(are_waiting)


async def lose_a_deadlock(
    database: Database,
    victim: Callable[[], Coroutine[Any, Any, T]],
    *,
    first: Executable,
    last: Executable,
) -> T:
    """Run `victim` into a deadlock in which PostgreSQL ends its transaction; return its result.

    `victim` locks what `first` locks and then what `last` locks; we lock them the other way round.

    PostgreSQL looks for a deadlock once per wait, a second after the wait began, and ends the
    session that looked. With two sessions it is the machine's speed that decides who looks too
    early. So the victim is made to wait last: it queues for the first row before we do, gets the
    row when a third session leaves, and only then meets us at the last one.
    """
    async with AsyncExitStack() as third, database.transaction() as ours:
        holder = await third.enter_async_context(database.transaction())
        for session in (holder, ours):
            await session.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
            await session.execute(text("SET LOCAL deadlock_timeout = '10min'"))
        await holder.execute(first)
        await ours.execute(last)
        running = asyncio.create_task(victim())
        await wait_for_lock_waiters(database, 1)
        crossing = asyncio.create_task(ours.execute(first))
        await wait_for_lock_waiters(database, 2)
        await third.aclose()
        await crossing
    return await running
