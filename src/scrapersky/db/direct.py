"""The engine's few fixed statements, straight through the driver.

A worker runs the same three statements all day. SQLAlchemy builds them, once; run through its
session, each would take three times as long as the server needs for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg
from sqlalchemy import ColumnElement, Executable, Integer, Text, literal_column
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.engine.interfaces import PoolProxiedConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

DEADLINE_SECONDS = 30.0
"""For a connection and the statement together: both take milliseconds when all is well."""
DIALECT = PGDialect_asyncpg()  # type: ignore[no-untyped-call]
Values = Sequence[Any]


class Fixed:
    """A statement compiled once. Its parameters are given as the driver takes them."""

    def __init__(self, statement: Executable) -> None:
        compiled: Any = statement.compile(dialect=DIALECT)  # type: ignore[attr-defined]
        self.sql = str(compiled)
        self._names: list[str] = compiled.positiontup
        self._fixed: dict[str, Any] = compiled.construct_params(_check=False)

    def arguments(self, parameters: Mapping[str, Any]) -> list[Any]:
        given = {**self._fixed, **parameters}
        return [given[name] for name in self._names]


def written_out(word: str) -> ColumnElement[str]:
    """A word of ours as part of the statement: with a bound one, a plan made for all values cannot
    use an index whose condition names this one."""
    quoted = word.replace("'", "''")
    return literal_column(f"'{quoted}'", Text)


def number_written_out(number: int) -> ColumnElement[int]:
    """As `written_out`, for a number that an index's condition names."""
    return literal_column(str(int(number)), Integer)


class Direct:
    """Connections of the engine's pool for statements that are transactions by themselves."""

    def __init__(
        self, engine: AsyncEngine, *, connections: int, alone: Mapping[str, str] | None = None
    ) -> None:
        self._engine = engine
        self._alone = alone
        """Behind a pooler: settings that each statement brings along in a transaction of its own,
        for without one its parts could reach different servers. None: they came with the
        connection, and the statement goes as it is."""
        self._idle: list[PoolProxiedConnection] = []
        self._turns = asyncio.Semaphore(connections)
        """Who waits, waits here and not at the pool, which knows nothing of what we keep idle."""

    async def fetch(self, statement: Fixed, parameters: Mapping[str, Any]) -> list[Values]:
        async with self._turns, asyncio.timeout(DEADLINE_SECONDS):
            return await self._fetch(statement, parameters)

    async def _fetch(self, statement: Fixed, parameters: Mapping[str, Any]) -> list[Values]:
        connection = await self._take()
        driver: Any = connection.driver_connection
        try:
            found = await self._ask(driver, statement, parameters)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            lost = driver.is_closed()
            connection.invalidate()
            raise DBAPIError(statement.sql, None, error, connection_invalidated=lost) from error
        except BaseException:
            connection.invalidate()
            raise
        self._idle.append(connection)
        return list(found)

    async def _ask(
        self, driver: Any, statement: Fixed, parameters: Mapping[str, Any]
    ) -> Sequence[Values]:
        arguments = statement.arguments(parameters)
        if self._alone is None:
            found: Sequence[Values] = await driver.fetch(statement.sql, *arguments)
            return found
        async with driver.transaction():
            for name, value in self._alone.items():
                await driver.execute(f"SET LOCAL {name} = {value}")
            found = await driver.fetch(statement.sql, *arguments)
            return found

    async def close(self) -> None:
        while self._idle:
            self._idle.pop().invalidate()

    async def _take(self) -> PoolProxiedConnection:
        while self._idle:
            connection = self._idle.pop()
            driver: Any = connection.driver_connection
            if not driver.is_closed():
                return connection
            connection.invalidate()
        return await self._engine.raw_connection()
