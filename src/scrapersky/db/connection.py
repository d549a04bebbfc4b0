"""Open the configured database: DATABASE_URL or the embedded server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from errno import EMFILE, ENFILE
from typing import Any, TypeVar

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from scrapersky.db.embedded import EmbeddedPostgres, ServerAddress
from scrapersky.db.erasure_key import ErasureKeySource, check_erasure_key
from scrapersky.db.migrate import require_current, upgrade
from scrapersky.db.outages import TOO_MANY_CONNECTIONS, get_sqlstate, is_unavailable
from scrapersky.db.session import Database
from scrapersky.errors import DatabaseRefused
from scrapersky.logging import get_logger
from scrapersky.settings import Settings

WATCH_INTERVAL_SECONDS = 2.0

log = get_logger(__name__)

T = TypeVar("T")
ProgressCallback = Callable[[str], None]


@asynccontextmanager
async def open_database(
    settings: Settings, *, report: ProgressCallback | None = None
) -> AsyncIterator[Database]:
    """Open a database at the current revision.

    The embedded database is upgraded. An external one must already be at that revision.
    """
    async with open_unchecked(settings, report=report) as database:
        if settings.database_url:
            await require_current(database)
        else:
            await upgrade(database)
        await check_erasure_key(database)
        yield database


@asynccontextmanager
async def open_unchecked(
    settings: Settings, *, report: ProgressCallback | None = None
) -> AsyncIterator[Database]:
    """Open a database that accepts connections, regardless of its revision."""
    async with open_server_url(settings, report=report) as url:
        database = Database(
            url,
            pool_size=settings.database_pool_size,
            pooled=bool(settings.listen_database_url),
            system_user_id=settings.scheduler_system_user_id,
            erasure_key=ErasureKeySource.from_settings(settings),
        )
        try:
            await _check_connection(database)
            yield database
        finally:
            await database.close()


@asynccontextmanager
async def open_server_url(
    settings: Settings, *, report: ProgressCallback | None = None
) -> AsyncIterator[str]:
    """Yield DATABASE_URL, or the URL of the embedded server.

    The embedded server is held for the duration of the block.
    """
    if settings.database_url:
        yield settings.database_url
        return
    postgres = build_embedded_postgres(settings, report=report)
    address = await _acquire_server(postgres)
    watching = asyncio.create_task(_watch_server(postgres, address), name="database watch")
    try:
        yield address.url
    finally:
        watching.cancel()
        await _await_uncancelled(asyncio.to_thread(postgres.release))


async def _acquire_server(postgres: EmbeddedPostgres) -> ServerAddress:
    """Acquire the server. On cancellation, wait for the thread and release what it acquired."""
    try:
        return await _await_uncancelled(asyncio.to_thread(postgres.acquire))
    except asyncio.CancelledError:
        await _await_uncancelled(asyncio.to_thread(postgres.release))
        raise


async def _await_uncancelled(work: Coroutine[Any, Any, T]) -> T:
    """Await work in a thread. Threads cannot be cancelled, so a cancellation waits for its end."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            # Retrieve it, so that asyncio does not log "exception was never retrieved".
            task.exception()
        raise


async def _watch_server(postgres: EmbeddedPostgres, address: ServerAddress) -> None:
    """Restart the embedded server if it was killed, because nothing else supervises it."""
    while True:
        await asyncio.sleep(WATCH_INTERVAL_SECONDS)
        if await _accepts_connections(address):
            continue
        log.warning("embedded database is gone; restarting it")
        try:
            await asyncio.to_thread(postgres.revive)
        except DatabaseRefused as error:
            log.error("embedded database could not be restarted", error=str(error))


async def _accepts_connections(address: ServerAddress) -> bool:
    try:
        _, writer = await asyncio.open_unix_connection(
            address.socket_dir / f".s.PGSQL.{address.port}"
        )
    except OSError:
        return False
    writer.close()
    return True


def build_embedded_postgres(
    settings: Settings, *, report: ProgressCallback | None = None
) -> EmbeddedPostgres:
    return EmbeddedPostgres(
        settings.scrapersky_data_dir, pg_bin=settings.scrapersky_pg_bin, report=report
    )


async def _check_connection(database: Database) -> None:
    try:
        async with database.engine.connect() as connection:
            await connection.execute(text("SELECT 1"))
    except Exception as error:
        if not isinstance(error, OSError | TimeoutError | DBAPIError) and not is_unavailable(error):
            raise
        cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
        where = f"{database.url.host or 'the local socket'}:{database.url.port or 5432}"
        reason = str(cause).strip().rstrip(".") or type(cause).__name__
        raise DatabaseRefused(
            f"Cannot connect to the database at {where}: {reason}. {_advise(error)}"
        ) from error


def _advise(error: Exception) -> str:
    """Return what to do about a failed connection."""
    if get_sqlstate(error) == TOO_MANY_CONNECTIONS:
        return (
            "All its connections are in use. Raise its max_connections, or lower "
            "DATABASE_POOL_SIZE or the number of processes."
        )
    if isinstance(error, OSError) and error.errno in (EMFILE, ENFILE):
        return "Raise the limit on open files (ulimit -n, LimitNOFILE)."
    return "Check DATABASE_URL, or leave it empty for the embedded database."
