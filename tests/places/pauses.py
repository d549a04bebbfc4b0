"""Moments of a paid request at which a worker is made to stand still, from outside of it.

The provider keeps an answer to itself, or the database a row or a table, so what is killed there is
the program as it is. Each moment begins with the second of three requests under way at the provider
and ends with a worker that waits for something that only this test can give.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from sqlalchemy import func, select, text
from sqlalchemy.sql import Executable

from scrapersky.db.session import Database
from scrapersky.models import CostEntry, CostState
from scrapersky.testing import PlacesProvider

Moment = Callable[[Database, PlacesProvider], AbstractAsyncContextManager[None]]

SECOND = 2
"""The request that the provider has when a moment begins; `PlacesProvider.fail` keeps it there."""
WAITS_FOR_US = text("SELECT 1 FROM pg_stat_activity WHERE :us = ANY(pg_blocking_pids(pid))")


@asynccontextmanager
async def charged_and_not_sent(database: Database, provider: PlacesProvider) -> AsyncIterator[None]:
    """The third charge is stored, and the worker waits for its turn at the provider's host; what
    became of the second is stored, but it was not the row's last."""
    async with _holding(database, text("LOCK TABLE hosts IN EXCLUSIVE MODE")) as somebody_waits:
        provider.release()
        await somebody_waits()
        yield


@asynccontextmanager
async def sent_and_not_answered(
    database: Database, provider: PlacesProvider
) -> AsyncIterator[None]:
    """The provider has the second request; it bills and answers when nobody is there any more."""
    yield
    provider.release()
    await _until_billed(provider, SECOND)


@asynccontextmanager
async def answered_and_not_stored(
    database: Database, provider: PlacesProvider
) -> AsyncIterator[None]:
    """The second request is billed, and its answer waits to be stored with its settlement."""
    unsettled = select(CostEntry.id).where(CostEntry.state == CostState.ASKED).with_for_update()
    async with _holding(database, unsettled) as somebody_waits:
        provider.release()
        await somebody_waits()
        yield


@asynccontextmanager
async def stored_and_not_ended(database: Database, provider: PlacesProvider) -> AsyncIterator[None]:
    """Everything is stored and settled but the row's own end, which is told in `stage_events`."""
    async with _holding(database, text("LOCK TABLE stage_events IN SHARE MODE")) as somebody_waits:
        provider.release()
        await somebody_waits()
        yield


@asynccontextmanager
async def _holding(
    database: Database, lock: Executable
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Gives what waits until somebody waits for the lock."""
    async with database.transaction() as session:
        # Our own would end us for idling, on a machine that is slow enough.
        await session.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
        await session.execute(lock)
        us = await session.scalar(select(func.pg_backend_pid()))

        async def somebody_waits() -> None:
            while not await session.scalar(WAITS_FOR_US, {"us": us}):
                await asyncio.sleep(0.02)

        yield somebody_waits


async def _until_billed(provider: PlacesProvider, requests: int) -> None:
    while len(provider.bill.requests) < requests:
        await asyncio.sleep(0.02)
