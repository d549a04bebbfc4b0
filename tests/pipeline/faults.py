"""Rows of the no-op stage, its worker, and a way to the database that can be slow or break."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

from sqlalchemy import func, select

from scrapersky.db.base import uuid7
from scrapersky.db.embedded import ServerAddress
from scrapersky.db.session import (
    Database,
)
from scrapersky.pipeline.tables import (
    DeadLetter,
)
from tests.noop import NoopRow
from tests.processes import HASTY, Program, running
from tests.scale.cables import Cable, plugged_in

LATENCY_SECONDS = 0.2
"""Of a round trip to the database."""


async def add_rows(database: Database, count: int) -> list[UUID]:
    ids = [uuid7() for _ in range(count)]
    async with database.transaction() as session:
        session.add_all(NoopRow(id=each) for each in ids)
    return ids


async def count_rows(database: Database, status: str) -> int:
    async with database.reading() as session:
        counted = select(func.count()).where(NoopRow.status == status)
        return int(await session.scalar(counted) or 0)


async def read_letters(database: Database) -> list[DeadLetter]:
    async with database.reading() as session:
        return list(await session.scalars(select(DeadLetter)))


async def are_done(database: Database, count: int) -> bool:
    return await count_rows(database, "done") == count


async def are_processing(database: Database) -> bool:
    return await count_rows(database, "processing") > 0


@asynccontextmanager
async def noop_worker(url: str, log: Path, **environ: str) -> AsyncIterator[Program]:
    given = {**HASTY, "DATABASE_URL": url, "NOOP_INTERVAL_MINUTES": "0.02", **environ}
    async with running(environ=given, log=log, module="tests.noop_worker") as program:
        yield program


@asynccontextmanager
async def behind_a_relay(
    server: ServerAddress, database: Database, *, round_trip_seconds: float = 0.0
) -> AsyncIterator[tuple[Cable, str]]:
    """A way to the database that can be slow, break, or go silent without being closed; and its
    URL."""
    path = f"{server.socket_dir}/.s.PGSQL.{server.port}"
    cable = Cable("127.0.0.1", ())
    async with plugged_in(cable, lambda: asyncio.open_unix_connection(path)) as (port,):
        cable.set_latency(round_trip_seconds)
        yield cable, f"postgresql://{server.user}@127.0.0.1:{port}/{database.url.database}"
        cable.heal()


async def has_said(program: Program, words: str) -> bool:
    return words in program.said()
