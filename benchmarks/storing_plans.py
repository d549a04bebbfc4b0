"""What the statements of a piece of work look at: their plans, and the rows they really read.

Times on a busy machine prove little; a plan that reads a table from end to end, or a statement
that reads a million rows to answer with a thousand, does not depend on who else is running.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncSession

WATCHED = ("sitemap_urls", "pages")
TEMPORARY = ("FROM incoming", "FROM present", "TABLE ")
READ = text(
    "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0) "
    "FROM pg_stat_xact_user_tables WHERE relname = ANY(:tables)"
)
_EXPLAINABLE = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b")
_SEQUENTIAL = re.compile(rf"Seq Scan on ({'|'.join(WATCHED)})\b")


@dataclass
class Watched:
    """What one piece of work did in its transaction."""

    rows_read: int = 0
    """Of the watched tables, as the server counted them."""
    seconds: float = 0.0
    plans: list[str] = field(default_factory=list)

    @property
    def reads_whole_table(self) -> bool:
        return any(_SEQUENTIAL.search(plan) for plan in self.plans)


@asynccontextmanager
async def watching(session: AsyncSession) -> AsyncIterator[Watched]:
    """Everything the session does in the block, and what the server says about it afterwards."""
    watched, statements = Watched(), list[tuple[str, Any]]()
    connection = (await session.connection()).sync_connection

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        statements.append((statement, parameters))

    before, started = await _rows_read(session), perf_counter()
    event.listen(connection, "before_cursor_execute", note)
    try:
        yield watched
    finally:
        event.remove(connection, "before_cursor_execute", note)
    watched.seconds = perf_counter() - started
    watched.rows_read = await _rows_read(session) - before
    watched.plans = [await _plan(session, *each) for each in statements if _concerns(each[0])]


def _concerns(statement: str) -> bool:
    """Temporary tables are gone by now, and what reads only small tables may read all of them."""
    named = any(table in statement for table in WATCHED)
    passing = any(table in statement for table in TEMPORARY)
    return named and not passing and bool(_EXPLAINABLE.match(statement))


async def _plan(session: AsyncSession, statement: str, parameters: Any) -> str:
    raw = await (await session.connection()).get_raw_connection()
    driver: Any = raw.driver_connection
    lines = await driver.fetch(f"EXPLAIN {statement}", *(parameters or ()))
    return "\n".join(line[0] for line in lines)


async def _rows_read(session: AsyncSession) -> int:
    return int(await session.scalar(READ, {"tables": list(WATCHED)}) or 0)
