"""COPY, in and out: the only place that talks to the driver itself.

COPY is never the first act of a transaction: until a statement has run, the driver is not in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import Base


async def copy_upsert(
    session: AsyncSession,
    model: type[Base],
    columns: Sequence[str],
    records: Iterable[tuple[Any, ...]],
    *,
    key: Sequence[str],
    changing: Sequence[str],
    always: str = "",
) -> int:
    """Insert many rows, or change those whose `key` is there already and that really differ.

    `always` is one more assignment for the rows that change. Returns how many were written.
    """
    table = model.__table__.name  # type: ignore[attr-defined]
    incoming = f"incoming_{table}"
    listed = ", ".join(columns)
    await session.execute(
        text(
            f"CREATE TEMPORARY TABLE {incoming} ON COMMIT DROP AS "
            f"SELECT {listed} FROM {table} WITH NO DATA"
        )
    )
    driver = await _driver(session)
    await driver.copy_records_to_table(incoming, records=records, columns=list(columns))
    assignments = [f"{name} = EXCLUDED.{name}" for name in changing]
    differs = " OR ".join(f"old.{name} IS DISTINCT FROM EXCLUDED.{name}" for name in changing)
    written = await session.execute(
        text(
            f"INSERT INTO {table} AS old ({listed}) "
            f"SELECT DISTINCT ON ({', '.join(key)}) {listed} FROM {incoming} "
            f"ON CONFLICT ({', '.join(key)}) DO UPDATE "
            f"SET {', '.join([*assignments, *([always] if always else [])])} WHERE {differs}"
        )
    )
    await session.execute(text(f"DROP TABLE {incoming}"))
    return int(written.rowcount)  # type: ignore[attr-defined]


async def refresh_statistics(session: AsyncSession, model: type[Base]) -> None:
    """After a bulk load: without statistics the next claims and lists plan badly."""
    await session.execute(text(f"ANALYZE {model.__table__.name}"))  # type: ignore[attr-defined]


async def _driver(session: AsyncSession) -> Any:
    connection = await session.connection()
    raw = await connection.get_raw_connection()
    return raw.driver_connection
