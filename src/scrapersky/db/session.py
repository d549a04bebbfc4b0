"""The engine, its pools, and the one function that commits."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Any
from uuid import UUID, uuid4

import asyncpg
from sqlalchemy import event, make_url, text
from sqlalchemy.engine import URL, ExceptionContext
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import (
    AsyncEngine,
    AsyncSession,
    async_sessionmaker,
    create_async_engine,
)
from sqlalchemy.pool import AsyncAdaptedQueuePool, ConnectionPoolEntry
from sqlalchemy.util.concurrency import await_

from scrapersky.db.outages import translate_outages
from scrapersky.db.statements import DirectConnections
from scrapersky.errors import SettingsError
from scrapersky.settings import DEFAULT_SYSTEM_USER_ID

ERASURE_KEY = "scrapersky.erasure_key"
"""Key in `session.info` of the source of the erasure key."""

BeforeCommit = Callable[[AsyncSession], Awaitable[None]]
AfterCommit = Callable[[AsyncSession], None]

SESSION_SETTINGS = {
    "application_name": "scrapersky",
    "timezone": "UTC",
    "idle_in_transaction_session_timeout": "30s",
    "jit": "off",
    "random_page_cost": "1.1",
}
"""Settings of every connection.

Our transactions never wait for anything slow, so an idle one is a bug and is ended early.
Statements are short, so JIT compilation costs more than it gains. A batch of a hundred rows should
be found by index, which the planner does not choose for a small table at the default
random_page_cost.
"""
SYSTEM_USER_KEY = "scrapersky.system_user"
"""Key in `session.info` of the system user's ID."""
DIRECT_SESSION_SETTINGS: tuple[dict[str, str], ...] = ({}, {"synchronous_commit": "off"})
DIRECT_CONNECTIONS = 2
"""Connections per process for claims, settling and wake-ups, opened on demand."""
PING_AFTER_SECONDS = 20.0
"""Connections that were idle for longer are pinged at checkout. A connection closed by the server
is detected without a ping, and a ping per checkout would cost three round trips per transaction.
"""


LIMIT_STATEMENTS = text(
    "SELECT set_config('statement_timeout', :limit, true) FROM pg_settings "
    "WHERE name = 'statement_timeout' AND CAST(setting AS int) NOT BETWEEN 1 AND :ms"
)
CONNECT_TIMEOUT_SECONDS = 15
POOL_TIMEOUT_SECONDS = 30
CLOSE_TIMEOUT_SECONDS = 5.0
PING_TIMEOUT_SECONDS = 5.0
COMMAND_TIMEOUT_SECONDS = 900.0
"""Maximum duration of one statement, unless the caller sets a shorter deadline. Nothing scheduled
comes close to it. Exports and migrations set their own.
"""
DIRECT_TIMEOUT_SECONDS = 30.0
KEEPALIVE_OPTIONS = {
    "TCP_KEEPIDLE": 15,
    "TCP_KEEPINTVL": 5,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 30_000,
}
"""Detect a dead peer within half a minute, whether or not data is in flight."""


def parse_database_url(text: str) -> URL:
    """Parse a PostgreSQL URL and set our driver."""
    try:
        url = make_url(text)
    except Exception:
        raise SettingsError(
            "DATABASE_URL is not a database URL. "
            "The form is postgresql://user:password@host:5432/database."
        ) from None
    if url.get_backend_name() not in ("postgresql", "postgres"):
        raise SettingsError(
            f"DATABASE_URL names {url.get_backend_name()}, but only PostgreSQL is supported."
        )
    return _translate_tls_options(url.set(drivername="postgresql+asyncpg"))


def _translate_tls_options(url: URL) -> URL:
    """Translate libpq's TLS options to those of the driver.

    Hosted databases provide URLs with libpq's options.
    """
    mode = url.query.get("sslmode")
    url = url.difference_update_query(["sslmode", "channel_binding"])
    return url.update_query_dict({"ssl": str(mode)}) if mode else url


def get_libpq_url(url: URL) -> str:
    """Return the URL in the form that libpq programs and asyncpg itself accept."""
    mode = url.query.get("ssl")
    url = url.difference_update_query(["ssl"]).set(drivername="postgresql")
    url = url.update_query_dict({"sslmode": str(mode)}) if mode else url
    return url.render_as_string(hide_password=False)


class Database:
    """The engine and its pools. All sessions are created and committed here."""

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 10,
        pooled: bool = False,
        system_user_id: UUID = DEFAULT_SYSTEM_USER_ID,
        erasure_key: object | None = None,
        command_timeout: float | None = COMMAND_TIMEOUT_SECONDS,
    ) -> None:
        self.url = parse_database_url(url)
        self.pooled = pooled
        """Whether the URL points to a pooler in transaction mode."""
        self.engine: AsyncEngine = _create_engine(
            self.url, pool_size=pool_size, pooled=pooled, command_timeout=command_timeout
        )
        _watch_pool(self.engine)
        # On every session, because the store functions of stages receive no settings.
        info = {SYSTEM_USER_KEY: system_user_id, ERASURE_KEY: erasure_key}
        self._sessions = async_sessionmaker(self.engine, expire_on_commit=False, info=info)
        # Separate engines, because these connections stay checked out between statements.
        self._apart = [
            _create_engine(
                self.url,
                pool_size=DIRECT_CONNECTIONS,
                pooled=pooled,
                command_timeout=DIRECT_TIMEOUT_SECONDS,
                **more,
            )
            for more in DIRECT_SESSION_SETTINGS
        ]
        self.direct, self.async_commit = (
            DirectConnections(
                engine, connections=DIRECT_CONNECTIONS, alone=more if pooled else None
            )
            for engine, more in zip(self._apart, DIRECT_SESSION_SETTINGS, strict=True)
        )
        """`async_commit` commits asynchronously (synchronous_commit = off). It is for claims: if a
        crash loses one, the row is still queued and the lost lease token is worthless.
        """
        self.before_commit: list[BeforeCommit] = []
        self.after_commit: list[AfterCommit] = []

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncSession]:
        """Open a session that commits at the end of the block, or rolls back on an exception."""
        async with self._sessions() as session:
            async with session.begin():
                yield session
                for callback in self.before_commit:
                    await callback(session)
            for after in self.after_commit:
                after(session)

    @asynccontextmanager
    async def bounded_transaction(self, seconds: float) -> AsyncIterator[AsyncSession]:
        """Open a transaction with a deadline, so that a half-open connection blocks no caller.

        An outage is raised as `DatabaseUnavailable`.
        """
        with translate_outages():
            async with asyncio.timeout(seconds), self.transaction() as session:
                yield session

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncSession]:
        """Open a session that is never committed."""
        async with self._sessions() as session:
            yield session

    @asynccontextmanager
    async def bounded_reading(self, seconds: float) -> AsyncIterator[AsyncSession]:
        """Open a session that is never committed, with a deadline.

        An outage is raised as `DatabaseUnavailable`.
        """
        with translate_outages():
            async with asyncio.timeout(seconds), self.reading() as session:
                yield session

    def checked_out(self) -> int:
        """Return the number of connections in use."""
        pool: Any = self.engine.pool
        return int(pool.checkedout())

    def pool_waits(self) -> int:
        """Return how often a checkout found all connections in use."""
        pool: Any = self.engine.pool
        return int(pool.waits)

    def add_checkout_listener(self, listener: Callable[..., None]) -> None:
        """Call the listener whenever a connection is checked out."""
        event.listen(self.engine.sync_engine, "checkout", listener)

    async def close(self) -> None:
        """Close all connections; abandon those whose server does not answer in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                for direct, engine in zip(
                    (self.direct, self.async_commit), self._apart, strict=True
                ):
                    await direct.close()
                    await engine.dispose()
                await self.engine.dispose()


class CountingPool(AsyncAdaptedQueuePool):
    """Counts checkouts that have to wait, a sign that the pool is too small for the load."""

    waits = 0
    _sqla_logger_namespace = "sqlalchemy.pool"
    """SQLAlchemy derives the logger's name from the class. Under our own name, every closed
    connection would be logged at info.
    """

    def _do_get(self) -> ConnectionPoolEntry:
        self.waits += self.checkedout() >= self.size()
        return super()._do_get()


def _create_engine(
    url: URL, *, pool_size: int, pooled: bool, command_timeout: float | None, **more: str
) -> AsyncEngine:
    settings = {"server_settings": SESSION_SETTINGS | more}
    limits = {"timeout": CONNECT_TIMEOUT_SECONDS, "command_timeout": command_timeout}
    engine = create_async_engine(
        url,
        poolclass=CountingPool,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=POOL_TIMEOUT_SECONDS,
        connect_args={**limits, **(_get_pooler_arguments() if pooled else settings)},
    )
    event.listen(engine.sync_engine, "connect", _keep_pooled_alive)
    event.listen(engine.sync_engine, "handle_error", _drop_after_timeout)
    return engine


def _keep_pooled_alive(connection: Any, _record: ConnectionPoolEntry) -> None:
    enable_keepalive(connection.driver_connection)


def enable_keepalive(connection: Any) -> None:
    """Enable TCP keepalive, so that the kernel detects a dead peer.

    Neither asyncpg nor PostgreSQL's defaults do. An idle half-open connection would be considered
    alive for two hours.
    """
    link = connection._transport.get_extra_info("socket")
    if link is None or link.family == socket.AF_UNIX:
        return
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE_OPTIONS.items():
        if hasattr(socket, name):  # not every platform has all of them
            link.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _drop_after_timeout(context: ExceptionContext) -> None:
    """Invalidate a connection whose command timed out.

    The driver does not treat a timeout as a lost connection, and a rollback on it would wait for
    just as long.
    """
    if isinstance(context.original_exception, TimeoutError):
        context.is_disconnect = True


def _get_pooler_arguments() -> dict[str, Any]:
    """Return connect arguments without state that outlives a transaction.

    That means no session settings, no prepared statement cache, and no statement names that another
    client may have used on the same server connection.
    """
    return {
        "server_settings": {"application_name": SESSION_SETTINGS["application_name"]},
        "statement_cache_size": 0,
        "prepared_statement_cache_size": 0,
        "prepared_statement_name_func": lambda: f"scrapersky_{uuid4().hex}",
    }


def _watch_pool(engine: AsyncEngine) -> None:
    """Replace dead connections at checkout without pinging live ones every time."""
    sync = engine.sync_engine

    def rest(_connection: Any, record: ConnectionPoolEntry) -> None:
        record.info["rests_since"] = monotonic()

    def check(connection: Any, record: ConnectionPoolEntry, _proxy: Any) -> None:
        if connection.driver_connection.is_closed():
            raise DisconnectionError("The server has closed this connection.")
        rested = monotonic() - record.info.get("rests_since", monotonic())
        if rested > PING_AFTER_SECONDS and not _ping(connection):
            raise DisconnectionError("This connection no longer responds.")

    event.listen(sync, "checkin", rest)
    event.listen(sync, "checkout", check)


def _ping(connection: Any) -> bool:
    ping = connection.driver_connection.fetchrow(";", timeout=PING_TIMEOUT_SECONDS)
    try:
        await_(ping)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):  # TimeoutError is an OSError
        return False
    return True


async def limit_statements(session: AsyncSession, ms: int) -> None:
    """Set the statement timeout until the transaction ends, unless the server's own is shorter."""
    await session.execute(LIMIT_STATEMENTS, {"limit": str(ms), "ms": ms})


@asynccontextmanager
async def get_background_session(database: Database) -> AsyncIterator[AsyncSession]:
    """Open a transaction outside a request, under the name that the design documents use."""
    async with database.transaction() as session:
        yield session
