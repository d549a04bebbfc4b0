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
"""Under this name a session's `info` holds where the key of erased values' digests is found."""

BeforeCommit = Callable[[AsyncSession], Awaitable[None]]
AfterCommit = Callable[[AsyncSession], None]

SESSION_SETTINGS = {
    "application_name": "scrapersky",
    "timezone": "UTC",
    "idle_in_transaction_session_timeout": "30s",
    "jit": "off",
    "random_page_cost": "1.1",
}
"""No transaction of ours waits for anything slow, so one that idles is a mistake to end early;
our statements are short, so compiling them just in time costs more than it gains; and a batch of
a hundred rows is found by their keys, which with the default cost a small table's plan is not."""
SYSTEM_USER_KEY = "scrapersky.system_user"
"""Key in `session.info`."""
DIRECT_SESSION_SETTINGS: tuple[dict[str, str], ...] = ({}, {"synchronous_commit": "off"})
DIRECT_CONNECTIONS = 2
"""For claims, settling and wake-ups of a process; they are opened when first needed."""
PING_AFTER_SECONDS = 20.0
"""A connection that rested longer than this is tried before it is used. One that the server closed
is known without asking; asking every time costs three round trips per transaction."""


LIMIT_STATEMENTS = text(
    "SELECT set_config('statement_timeout', :limit, true) FROM pg_settings "
    "WHERE name = 'statement_timeout' AND CAST(setting AS int) NOT BETWEEN 1 AND :ms"
)
CONNECT_TIMEOUT_SECONDS = 15
POOL_TIMEOUT_SECONDS = 30
CLOSE_TIMEOUT_SECONDS = 5.0
PING_TIMEOUT_SECONDS = 5.0
COMMAND_TIMEOUT_SECONDS = 900.0
"""The longest a single statement may take, where its user sets no shorter deadline; nothing that
runs on a schedule comes near. Exports and migrations set their own."""
DIRECT_TIMEOUT_SECONDS = 30.0
KEEPALIVE_OPTIONS = {
    "TCP_KEEPIDLE": 15,
    "TCP_KEEPINTVL": 5,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 30_000,
}
"""A peer that is gone is noticed within half a minute, whether or not data is on its way to it."""


def parse_database_url(given: str) -> URL:
    """The URL as people write it, with our driver put in."""
    try:
        url = make_url(given)
    except Exception:
        raise SettingsError(
            "DATABASE_URL is not a database URL; "
            "write postgresql://user:password@host:5432/database."
        ) from None
    if url.get_backend_name() not in ("postgresql", "postgres"):
        raise SettingsError(
            f"DATABASE_URL names {url.get_backend_name()}, but only PostgreSQL is supported."
        )
    return _translate_tls_options(url.set(drivername="postgresql+asyncpg"))


def _translate_tls_options(url: URL) -> URL:
    """Hosted databases give libpq's words for TLS; the driver has its own."""
    mode = url.query.get("sslmode")
    url = url.difference_update_query(["sslmode", "channel_binding"])
    return url.update_query_dict({"ssl": str(mode)}) if mode else url


def get_libpq_url(url: URL) -> str:
    """As the driver itself and PostgreSQL's own programs take it."""
    mode = url.query.get("ssl")
    url = url.difference_update_query(["ssl"]).set(drivername="postgresql")
    url = url.update_query_dict({"sslmode": str(mode)}) if mode else url
    return url.render_as_string(hide_password=False)


class Database:
    """The engine with its pool. Sessions come from here, and commits happen here."""

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
        """The URL leads through a pooler that gives a server connection for one transaction."""
        self.engine: AsyncEngine = _create_engine(
            self.url, pool_size=pool_size, pooled=pooled, command_timeout=command_timeout
        )
        _watch_pool(self.engine)
        # Every session knows both: what stages store takes no settings.
        info = {SYSTEM_USER_KEY: system_user_id, ERASURE_KEY: erasure_key}
        self._sessions = async_sessionmaker(self.engine, expire_on_commit=False, info=info)
        # Kept apart: these connections stay open between statements, as the listener's does.
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
        self.direct, self.hasty = (
            DirectConnections(
                engine, connections=DIRECT_CONNECTIONS, alone=more if pooled else None
            )
            for engine, more in zip(self._apart, DIRECT_SESSION_SETTINGS, strict=True)
        )
        """`hasty` does not wait for the disk: for claims, which a crash may undo without harm,
        because the row is then queued as before and its token proves nothing."""
        self.before_commit: list[BeforeCommit] = []
        self.after_commit: list[AfterCommit] = []

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncSession]:
        """A session that commits when the block ends well and rolls back when it does not."""
        async with self._sessions() as session:
            async with session.begin():
                yield session
                for asked in self.before_commit:
                    await asked(session)
            for told in self.after_commit:
                told(session)

    @asynccontextmanager
    async def bounded_transaction(self, seconds: float) -> AsyncIterator[AsyncSession]:
        """A transaction that ends by a deadline, so that a half-open connection holds nobody up;
        an outage is raised as `DatabaseUnavailable`."""
        with translate_outages():
            async with asyncio.timeout(seconds), self.transaction() as session:
                yield session

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncSession]:
        """A session whose changes go nowhere."""
        async with self._sessions() as session:
            yield session

    @asynccontextmanager
    async def bounded_reading(self, seconds: float) -> AsyncIterator[AsyncSession]:
        """A session whose changes go nowhere and that ends by a deadline; an outage is raised as
        `DatabaseUnavailable`."""
        with translate_outages():
            async with asyncio.timeout(seconds), self.reading() as session:
                yield session

    def checked_out(self) -> int:
        """Connections in use right now."""
        pool: Any = self.engine.pool
        return int(pool.checkedout())

    def pool_waits(self) -> int:
        """How often a connection was wanted while all were in use."""
        pool: Any = self.engine.pool
        return int(pool.waits)

    def add_checkout_listener(self, listener: Callable[..., None]) -> None:
        """Have somebody told of every connection that is taken from the pool."""
        event.listen(self.engine.sync_engine, "checkout", listener)

    async def close(self) -> None:
        """Close all connections; those whose server does not answer are left behind."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                for direct, engine in zip((self.direct, self.hasty), self._apart, strict=True):
                    await direct.close()
                    await engine.dispose()
                await self.engine.dispose()


class CountingPool(AsyncAdaptedQueuePool):
    """Counts those who have to wait: the sign that a process does more at once than it may."""

    waits = 0
    _sqla_logger_namespace = "sqlalchemy.pool"
    """SQLAlchemy names a pool's logger after its class. Under our own name, every connection that
    is closed would be logged at info."""

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
    """Have the kernel notice a peer that is gone without a word. Neither asyncpg nor PostgreSQL's
    defaults do: an idle half-open connection would be believed in for two hours."""
    link = connection._transport.get_extra_info("socket")
    if link is None or link.family == socket.AF_UNIX:
        return
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE_OPTIONS.items():
        if hasattr(socket, name):  # not every system has all of them
            link.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _drop_after_timeout(context: ExceptionContext) -> None:
    """Do not return a connection to the pool whose command timed out: the driver does not take
    that for a lost connection, and a rollback on it would wait for as long again."""
    if isinstance(context.original_exception, TimeoutError):
        context.is_disconnect = True


def _get_pooler_arguments() -> dict[str, Any]:
    """Nothing that outlives a transaction: no settings of a session, no statement kept prepared,
    and no name that another client may have used on the same server connection."""
    return {
        "server_settings": {"application_name": SESSION_SETTINGS["application_name"]},
        "statement_cache_size": 0,
        "prepared_statement_cache_size": 0,
        "prepared_statement_name_func": lambda: f"scrapersky_{uuid4().hex}",
    }


def _watch_pool(engine: AsyncEngine) -> None:
    """Replace dead connections when they are taken, without asking the living ones each time."""
    sync = engine.sync_engine

    def rest(_connection: Any, record: ConnectionPoolEntry) -> None:
        record.info["rests_since"] = monotonic()

    def check(connection: Any, record: ConnectionPoolEntry, _proxy: Any) -> None:
        if connection.driver_connection.is_closed():
            raise DisconnectionError("The server has closed this connection.")
        rested = monotonic() - record.info.get("rests_since", monotonic())
        if rested > PING_AFTER_SECONDS and not _ping(connection):
            raise DisconnectionError("This connection does not answer any more.")

    event.listen(sync, "checkin", rest)
    event.listen(sync, "checkout", check)


def _ping(connection: Any) -> bool:
    ping = connection.driver_connection.fetchrow(";", timeout=PING_TIMEOUT_SECONDS)
    try:
        await_(ping)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):  # a timeout is an OSError
        return False
    return True


async def limit_statements(session: AsyncSession, ms: int) -> None:
    """Set the statement timeout until the transaction ends, unless the server's own is shorter."""
    await session.execute(LIMIT_STATEMENTS, {"limit": str(ms), "ms": ms})


@asynccontextmanager
async def get_background_session(database: Database) -> AsyncIterator[AsyncSession]:
    """The name design documents use for a transaction outside a request."""
    async with database.transaction() as session:
        yield session
