"""Bulk load and export with COPY.

COPY must not be the first statement of a transaction: SQLAlchemy only begins the driver's
transaction when it executes a statement itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from asyncpg import InterfaceError, PostgresError, UniqueViolationError
from sqlalchemy import Select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import Base
from scrapersky.db.statements import DIALECT

EXPORT_TIMEOUT_SECONDS = 24 * 3600.0
"""A COPY TO is a single command that lasts until its reader has read everything."""


@dataclass(frozen=True)
class CopyResult:
    """Counts of a bulk write. Unchanged rows are in neither."""

    added: int = 0
    changed: int = 0


async def copy_insert(
    session: AsyncSession,
    model: type[Base],
    columns: Sequence[str],
    records: Iterable[tuple[Any, ...]],
) -> int | None:
    """Insert rows directly into their table with COPY, and return how many.

    Return None if one of them already exists. Nothing was inserted then; use `copy_upsert` instead.
    """
    try:
        async with session.begin_nested():
            driver = await _get_driver(
                session
            )  # inside the block, otherwise the savepoint would not be set yet
            status = await driver.copy_records_to_table(
                _get_table_name(model), records=records, columns=list(columns)
            )
    except UniqueViolationError:
        return None
    return int(status.removeprefix("COPY "))


async def copy_upsert(
    session: AsyncSession,
    model: type[Base],
    columns: Sequence[str],
    records: Iterable[tuple[Any, ...]],
    *,
    key: Sequence[str],
    changing: Sequence[str],
) -> CopyResult:
    """Upsert rows by `key`, and update only those that differ in the `changing` columns.

    The table must have `changed_at` and `gone_at`. A row that was gone and comes back counts as
    changed.
    """
    table = _get_table_name(model)
    listed, keys = ", ".join(columns), ", ".join(key)
    await _copy_to_temporary_table(
        session, "incoming", f"SELECT {listed} FROM {table}", columns, records
    )
    assignments = ", ".join(f"{name} = EXCLUDED.{name}" for name in changing)
    differs = " OR ".join(f"stored.{name} IS DISTINCT FROM EXCLUDED.{name}" for name in changing)
    result = await session.execute(
        text(
            f"WITH written AS (INSERT INTO {table} AS stored ({listed}) "
            f"SELECT DISTINCT ON ({keys}) {listed} FROM incoming "
            f"ON CONFLICT ({keys}) DO UPDATE "
            f"SET {assignments}, changed_at = now(), gone_at = NULL "
            f"WHERE stored.gone_at IS NOT NULL OR {differs} "
            "RETURNING (stored.xmax = 0) AS added) "
            "SELECT count(*) FILTER (WHERE added), count(*) FILTER (WHERE NOT added) FROM written"
        )
    )
    added, changed = result.one()
    await session.execute(text("DROP TABLE incoming"))
    return CopyResult(int(added), int(changed))


async def mark_missing(
    session: AsyncSession,
    model: type[Base],
    *,
    parent: str,
    parent_id: UUID,
    digests: Iterable[tuple[bytes]],
) -> int:
    """Set `gone_at` on the parent's rows whose digest is not among these, and return how many."""
    table = _get_table_name(model)
    columns = ["url_digest"]
    await _copy_to_temporary_table(
        session, "present", f"SELECT url_digest FROM {table}", columns, digests
    )
    marked = await session.execute(
        text(
            f"UPDATE {table} SET gone_at = now() WHERE {parent} = :parent AND gone_at IS NULL "
            f"AND NOT EXISTS (SELECT FROM present WHERE present.url_digest = {table}.url_digest)"
        ),
        {"parent": parent_id},
    )
    await session.execute(text("DROP TABLE present"))
    return int(marked.rowcount)  # type: ignore[attr-defined]


async def _copy_to_temporary_table(
    session: AsyncSession,
    name: str,
    shape: str,
    columns: Sequence[str],
    records: Iterable[tuple[Any, ...]],
) -> None:
    """Copy the records to a temporary table that is dropped at the end of the transaction."""
    await session.execute(
        text(f"CREATE TEMPORARY TABLE {name} ON COMMIT DROP AS {shape} WITH NO DATA")
    )
    driver = await _get_driver(session)
    await driver.copy_records_to_table(name, records=records, columns=list(columns))


class CopyQuery:
    """A query whose result is exported as CSV with COPY.

    It bypasses the session, and with it the restriction to one tenant. The statement must filter by
    tenant itself.
    """

    def __init__(self, statement: Select[Any], **how: str) -> None:
        compiled: Any = statement.compile(
            dialect=DIALECT, compile_kwargs={"render_postcompile": True}
        )
        self._sql, self._how = str(compiled), how
        self._names: list[str] = compiled.positiontup
        self._fixed: dict[str, Any] = compiled.construct_params(_check=False)

    async def run(
        self,
        session: AsyncSession,
        write: Callable[[bytes], Awaitable[None]],
        values: Mapping[str, Any],
    ) -> int:
        """Run the query with these parameters, and return the number of rows."""
        # Also makes SQLAlchemy begin the driver's transaction. Exports use no parallel workers, to
        # leave cores for others.
        await session.execute(text("SET LOCAL max_parallel_workers_per_gather = 0"))
        parameters = {**self._fixed, **values}
        arguments = [parameters[name] for name in self._names]
        driver = await _get_driver(session)
        try:
            status = await driver.copy_from_query(
                self._sql,
                *arguments,
                output=write,
                format="csv",
                timeout=EXPORT_TIMEOUT_SECONDS,
                **self._how,
            )
        except (PostgresError, InterfaceError, OSError) as error:
            lost = driver.is_closed()
            raise DBAPIError(self._sql, None, error, connection_invalidated=lost) from error
        return int(status.removeprefix("COPY "))


async def refresh_statistics(session: AsyncSession, model: type[Base]) -> None:
    """Run ANALYZE after a bulk load: without statistics, the next claims and lists plan badly."""
    await session.execute(text(f"ANALYZE {_get_table_name(model)}"))


def _get_table_name(model: type[Base]) -> str:
    return str(model.__table__.name)  # type: ignore[attr-defined]


async def _get_driver(session: AsyncSession) -> Any:
    connection = await session.connection()
    raw = await connection.get_raw_connection()
    return raw.driver_connection
