"""Tens of thousands of rows are curated by set-based statements, without loading them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event, func, select, text

from scrapersky.db.session import Database
from scrapersky.kinds import CURATIONS
from scrapersky.lists import BulkRequest
from scrapersky.lists.curation import curate
from scrapersky.lists.undo_routes import undo_action
from scrapersky.models import BulkActionRows, Contact
from tests.effort import choose
from tests.lists.rows import KINDS, SYSTEM, add_rows, owned

ROWS = choose(40_000, 100_000)
FILL = """
INSERT INTO contacts (id, tenant_id, created_by, domain_id, kind, value, method, confidence)
SELECT uuidv7(), :tenant_id, :created_by, :domain_id, 'email', n || '@big.example',
    'mailto', 0.9
FROM generate_series(1, :count) n"""
CONTACTS = KINDS["contact"]
MEGABYTE = 2**20


@contextmanager
def counted(database: Database) -> Iterator[list[str]]:
    """The statements that are sent meanwhile."""
    sent: list[str] = []

    def see(_: Any, __: Any, statement: str, *___: Any) -> None:
        sent.append(statement)

    event.listen(database.engine.sync_engine, "before_cursor_execute", see)
    yield sent
    event.remove(database.engine.sync_engine, "before_cursor_execute", see)


async def fill(database: Database, count: int) -> None:
    (domain_id,) = await add_rows(database, "domain", 1)
    values = {**owned(SYSTEM), "domain_id": domain_id, "count": count}
    async with database.transaction() as session:
        await session.execute(text(FILL), values)


async def decide_and_take_back(database: Database, rows: int) -> int:
    """How many statements it took."""
    with counted(database) as sent:
        async with database.transaction() as session:
            done = await curate(session, SYSTEM, CONTACTS, "Selected", BulkRequest(limit=1_000_000))
        async with database.transaction() as session:
            undone = await undo_action(session, SYSTEM, CURATIONS)
    assert (done.updated_count, undone.restored_count) == (rows, rows)
    return len(sent)


async def test_tens_of_thousands_of_rows_cost_no_more_statements_and_memory_than_ten(
    database: Database,
) -> None:
    await fill(database, 10)
    for_ten = await decide_and_take_back(database, 10)
    await fill(database, ROWS)

    tracemalloc.start()
    try:
        for_all = await decide_and_take_back(database, ROWS + 10)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert for_all <= for_ten + 2  # one lead more or less that is written
    assert peak < 4 * MEGABYTE
    async with database.reading() as session:
        longest = await session.scalar(select(func.max(func.cardinality(BulkActionRows.row_ids))))
        assert longest == 10_000
        status = Contact.contact_curation_status
        left = dict((await session.execute(select(status, func.count()).group_by(status))).all())
    assert left == {"New": ROWS + 10}
