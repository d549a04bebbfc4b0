"""Precompiled statements on raw driver connections, SQL literals, and planner estimates."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg
from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Executable,
    Integer,
    Select,
    Text,
    column,
    func,
    literal,
    literal_column,
)
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.engine.interfaces import PoolProxiedConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.selectable import TableValuedAlias


def unnest_rows(**columns: tuple[Any, Sequence[Any]]) -> TableValuedAlias:
    """Build a table of rows from one array per column, so that one statement fits any row count."""
    arrays = [literal(list(values), ARRAY(kind)) for kind, values in columns.values()]
    named: list[Any] = [column(name, kind) for name, (kind, _) in columns.items()]
    return func.unnest(*arrays).table_valued(*named).render_derived("given")


# The engine's few fixed statements, run directly on the driver.
#
# A worker runs the same three statements continuously. SQLAlchemy compiles them once. Executing
# each through a session would take three times as long as the server needs for it.

STATEMENT_DEADLINE_SECONDS = 30.0
"""Deadline for connecting and executing together. Normally both take milliseconds."""
DIALECT = PGDialect_asyncpg()  # type: ignore[no-untyped-call]
RowValues = Sequence[Any]


class CompiledStatement:
    """A statement compiled once, with parameters in the driver's form."""

    def __init__(self, statement: Executable) -> None:
        compiled: Any = statement.compile(dialect=DIALECT)  # type: ignore[attr-defined]
        self.sql = str(compiled)
        self._names: list[str] = compiled.positiontup
        self._fixed: dict[str, Any] = compiled.construct_params(_check=False)

    def arguments(self, parameters: Mapping[str, Any]) -> list[Any]:
        values = {**self._fixed, **parameters}
        return [values[name] for name in self._names]


def inline_text(word: str) -> ColumnElement[str]:
    """Render a constant into the SQL instead of binding it.

    With a bound parameter, a generic plan cannot use a partial index whose predicate names the
    value.
    """
    quoted = word.replace("'", "''")
    return literal_column(f"'{quoted}'", Text)


def inline_integer(number: int) -> ColumnElement[int]:
    """Like `inline_text`, for an integer in an index predicate."""
    return literal_column(str(int(number)), Integer)


class DirectConnections:
    """Long-lived driver connections for statements that are complete transactions."""

    def __init__(
        self, engine: AsyncEngine, *, connections: int, alone: Mapping[str, str] | None = None
    ) -> None:
        self._engine = engine
        self._alone = alone
        """Settings for each statement behind a pooler, or None if connections are direct.

        Behind a pooler each statement runs in an explicit transaction, which also sets these:
        otherwise its protocol steps could reach different server connections. Direct connections
        got their settings when they were opened.
        """
        self._idle: list[PoolProxiedConnection] = []
        self._free = asyncio.Semaphore(connections)
        """Callers wait here rather than at the pool, which does not know about our idle
        connections.
        """

    async def fetch(
        self, statement: CompiledStatement, parameters: Mapping[str, Any]
    ) -> list[RowValues]:
        async with self._free, asyncio.timeout(STATEMENT_DEADLINE_SECONDS):
            return await self._fetch(statement, parameters)

    async def _fetch(
        self, statement: CompiledStatement, parameters: Mapping[str, Any]
    ) -> list[RowValues]:
        connection = await self._acquire()
        driver: Any = connection.driver_connection
        try:
            rows = await self._execute(driver, statement, parameters)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            lost = driver.is_closed()
            connection.invalidate()
            raise DBAPIError(statement.sql, None, error, connection_invalidated=lost) from error
        except BaseException:
            connection.invalidate()
            raise
        self._idle.append(connection)
        return list(rows)

    async def _execute(
        self, driver: Any, statement: CompiledStatement, parameters: Mapping[str, Any]
    ) -> Sequence[RowValues]:
        arguments = statement.arguments(parameters)
        if self._alone is None:
            rows: Sequence[RowValues] = await driver.fetch(statement.sql, *arguments)
            return rows
        async with driver.transaction():
            for name, value in self._alone.items():
                await driver.execute(f"SET LOCAL {name} = {value}")
            rows = await driver.fetch(statement.sql, *arguments)
            return rows

    async def close(self) -> None:
        while self._idle:
            self._idle.pop().invalidate()

    async def _acquire(self) -> PoolProxiedConnection:
        while self._idle:
            connection = self._idle.pop()
            driver: Any = connection.driver_connection
            if not driver.is_closed():
                return connection
            connection.invalidate()
        return await self._engine.raw_connection()


@dataclass(frozen=True)
class PlanEstimate:
    rows: int
    cost: float
    """In planner units: 1 is a sequential read of one 8 kB page."""


class Explain(Executable, ClauseElement):
    """A statement that is planned but not executed."""

    inherit_cache = False

    def __init__(self, statement: Select[Any]) -> None:
        self.statement = statement


@compiles(Explain)
def _compile_explain(element: Explain, compiler: Any, **how: Any) -> str:
    planned = compiler.process(element.statement, **how)
    return f"EXPLAIN (FORMAT JSON) {planned}"


async def explain(session: AsyncSession, statement: Select[Any]) -> dict[str, Any]:
    """Return the plan's root node, which contains the others."""
    connection = await session.connection()
    answer = (await connection.execute(Explain(statement))).scalar_one()
    plan: dict[str, Any] = (json.loads(answer) if isinstance(answer, str) else answer)[0]["Plan"]
    return plan


async def estimate_cost(session: AsyncSession, statement: Select[Any]) -> PlanEstimate:
    plan = await explain(session, statement)
    return PlanEstimate(rows=int(plan["Plan Rows"]), cost=float(plan["Total Cost"]))
