"""One engine per process, and the one function that commits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any
from uuid import uuid4

from sqlalchemy import event, make_url
from sqlalchemy.engine import URL, Dialect
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import (
    AsyncEngine,
    AsyncSession,
    async_sessionmaker,
    create_async_engine,
)
from sqlalchemy.pool import AsyncAdaptedQueuePool, ConnectionPoolEntry

from scrapersky.db.direct import Direct
from scrapersky.errors import SettingsError

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
APART: tuple[dict[str, str], ...] = ({}, {"synchronous_commit": "off"})
DIRECT_CONNECTIONS = 2
"""For claims, settling and wake-ups of a process; they are opened when first needed."""
PING_AFTER_SECONDS = 20.0
"""A connection that rested longer than this is tried before it is used. One that the server closed
is known without asking; asking every time costs three round trips per transaction."""


def async_url(text: str) -> URL:
    """The URL as people write it, with our driver put in."""
    try:
        url = make_url(text)
    except Exception:
        raise SettingsError(
            "DATABASE_URL is not a database URL; "
            "write postgresql://user:password@host:5432/database."
        ) from None
    if url.get_backend_name() not in ("postgresql", "postgres"):
        raise SettingsError(
            f"DATABASE_URL names {url.get_backend_name()}, but only PostgreSQL is supported."
        )
    return _with_our_words(url.set(drivername="postgresql+asyncpg"))


def _with_our_words(url: URL) -> URL:
    """Hosted databases give libpq's words for TLS; the driver has its own."""
    mode = url.query.get("sslmode")
    url = url.difference_update_query(["sslmode", "channel_binding"])
    return url.update_query_dict({"ssl": str(mode)}) if mode else url


def plain_url(url: URL) -> str:
    """As the driver itself and PostgreSQL's own programs take it."""
    mode = url.query.get("ssl")
    url = url.difference_update_query(["ssl"]).set(drivername="postgresql")
    url = url.update_query_dict({"sslmode": str(mode)}) if mode else url
    return url.render_as_string(hide_password=False)


class Database:
    """The engine with its pool. Sessions come from here, and commits happen here."""

    def __init__(self, url: str, *, pool_size: int = 10, pooled: bool = False) -> None:
        self.url = async_url(url)
        self.pooled = pooled
        """The URL leads through a pooler that gives a server connection for one transaction."""
        self.engine: AsyncEngine = _engine(self.url, pool_size=pool_size, pooled=pooled)
        _watch_pool(self.engine)
        self._sessions = async_sessionmaker(self.engine, expire_on_commit=False)
        # Kept apart: these connections stay open between statements, as the listener's does.
        self._apart = [
            _engine(self.url, pool_size=DIRECT_CONNECTIONS, pooled=pooled, **more) for more in APART
        ]
        self.direct, self.hasty = (
            Direct(engine, connections=DIRECT_CONNECTIONS, alone=more if pooled else None)
            for engine, more in zip(self._apart, APART, strict=True)
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
    async def reading(self) -> AsyncIterator[AsyncSession]:
        """A session whose changes go nowhere."""
        async with self._sessions() as session:
            yield session

    def checked_out(self) -> int:
        """Connections in use right now."""
        pool: Any = self.engine.pool
        return int(pool.checkedout())

    def pool_waits(self) -> int:
        """How often a connection was wanted while all were in use."""
        pool: Any = self.engine.pool
        return int(pool.waits)

    def on_checkout(self, listener: Callable[..., None]) -> None:
        """Have somebody told of every connection that is taken from the pool."""
        event.listen(self.engine.sync_engine, "checkout", listener)

    async def close(self) -> None:
        for direct, engine in zip((self.direct, self.hasty), self._apart, strict=True):
            await direct.close()
            await engine.dispose()
        await self.engine.dispose()


class CountingPool(AsyncAdaptedQueuePool):
    """Counts those who have to wait: the sign that a process does more at once than it may."""

    waits = 0

    def _do_get(self) -> ConnectionPoolEntry:
        self.waits += self.checkedout() >= self.size()
        return super()._do_get()


def _engine(url: URL, *, pool_size: int, pooled: bool, **more: str) -> AsyncEngine:
    settings = {"server_settings": SESSION_SETTINGS | more}
    return create_async_engine(
        url,
        poolclass=CountingPool,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=30,
        connect_args={"timeout": 15, **(_through_a_pooler() if pooled else settings)},
    )


def _through_a_pooler() -> dict[str, Any]:
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
        if rested > PING_AFTER_SECONDS and not _answers(sync.dialect, connection):
            raise DisconnectionError("This connection does not answer any more.")

    event.listen(sync, "checkin", rest)
    event.listen(sync, "checkout", check)


def _answers(dialect: Dialect, connection: Any) -> bool:
    try:
        return dialect.do_ping(connection)
    except dialect.loaded_dbapi.Error:
        return False


@asynccontextmanager
async def get_background_session(database: Database) -> AsyncIterator[AsyncSession]:
    """The name design documents use for a transaction outside a request."""
    async with database.transaction() as session:
        yield session
