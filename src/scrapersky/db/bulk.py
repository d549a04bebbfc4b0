"""COPY, in and out: the only place that talks to the driver itself.

COPY is never the first act of a transaction: until a statement has run, the driver is not in it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from asyncpg import InterfaceError, PostgresError, UniqueViolationError
from sqlalchemy import Select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import Base
from scrapersky.db.direct import DIALECT


@dataclass(frozen=True)
class Written:
    """What a bulk write did; rows that were the same already are in neither."""

    added: int = 0
    changed: int = 0


async def copy_new(
    session: AsyncSession,
    model: type[Base],
    columns: Sequence[str],
    records: Iterable[tuple[Any, ...]],
) -> int | None:
    """Insert many rows straight into their table, the fastest way there is; returns how many.

    None when one of them is there already: then nothing was inserted, and `copy_upsert` can.
    """
    try:
        async with session.begin_nested():
            driver = await _driver(session)  # in here, or the savepoint would not be set
            told = await driver.copy_records_to_table(
                _name_of(model), records=records, columns=list(columns)
            )
    except UniqueViolationError:
        return None
    return int(told.removeprefix("COPY "))


async def copy_upsert(
    session: AsyncSession,
    model: type[Base],
    columns: Sequence[str],
    records: Iterable[tuple[Any, ...]],
    *,
    key: Sequence[str],
    changing: Sequence[str],
) -> Written:
    """Insert many rows, or change those whose `key` is there already and that really differ.

    The table notes in `changed_at` when a row changed and in `gone_at` that it had gone; a row
    that comes back has changed.
    """
    table = _name_of(model)
    listed, keys = ", ".join(columns), ", ".join(key)
    await _copy_in(session, "incoming", f"SELECT {listed} FROM {table}", columns, records)
    assignments = ", ".join(f"{name} = EXCLUDED.{name}" for name in changing)
    differs = " OR ".join(f"stored.{name} IS DISTINCT FROM EXCLUDED.{name}" for name in changing)
    found = await session.execute(
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
    added, changed = found.one()
    await session.execute(text("DROP TABLE incoming"))
    return Written(int(added), int(changed))


async def mark_missing(
    session: AsyncSession,
    model: type[Base],
    *,
    parent: str,
    parent_id: UUID,
    digests: Iterable[tuple[bytes]],
) -> int:
    """Note as gone the parent's rows whose digest is not among these; returns how many."""
    table = _name_of(model)
    columns = ["url_digest"]
    await _copy_in(session, "present", f"SELECT url_digest FROM {table}", columns, digests)
    marked = await session.execute(
        text(
            f"UPDATE {table} SET gone_at = now() WHERE {parent} = :parent AND gone_at IS NULL "
            f"AND NOT EXISTS (SELECT FROM present WHERE present.url_digest = {table}.url_digest)"
        ),
        {"parent": parent_id},
    )
    await session.execute(text("DROP TABLE present"))
    return int(marked.rowcount)  # type: ignore[attr-defined]


async def _copy_in(
    session: AsyncSession,
    name: str,
    shape: str,
    columns: Sequence[str],
    records: Iterable[tuple[Any, ...]],
) -> None:
    """Fill a temporary table that lasts no longer than the transaction."""
    await session.execute(
        text(f"CREATE TEMPORARY TABLE {name} ON COMMIT DROP AS {shape} WITH NO DATA")
    )
    driver = await _driver(session)
    await driver.copy_records_to_table(name, records=records, columns=list(columns))


async def copy_out(
    session: AsyncSession,
    statement: Select[Any],
    write: Callable[[bytes], Awaitable[None]],
    **how: str,
) -> int:
    """Hand over what a statement finds as CSV, the fastest way there is; returns how many rows.

    It is run as it stands: what keeps a session to one tenant does not reach it, so it must say
    itself whose rows it means.
    """
    await session.execute(text("SELECT 1"))  # or the driver would not be in the transaction
    compiled: Any = statement.compile(dialect=DIALECT, compile_kwargs={"render_postcompile": True})
    sql, given = str(compiled), compiled.construct_params()
    values = [given[name] for name in compiled.positiontup]
    driver = await _driver(session)
    try:
        told = await driver.copy_from_query(sql, *values, output=write, format="csv", **how)
    except (PostgresError, InterfaceError, OSError) as error:
        lost = driver.is_closed()
        raise DBAPIError(sql, None, error, connection_invalidated=lost) from error
    return int(told.removeprefix("COPY "))


async def refresh_statistics(session: AsyncSession, model: type[Base]) -> None:
    """After a bulk load: without statistics the next claims and lists plan badly."""
    await session.execute(text(f"ANALYZE {_name_of(model)}"))


def _name_of(model: type[Base]) -> str:
    return str(model.__table__.name)  # type: ignore[attr-defined]


async def _driver(session: AsyncSession) -> Any:
    connection = await session.connection()
    raw = await connection.get_raw_connection()
    return raw.driver_connection
