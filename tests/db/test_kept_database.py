"""Each test finds a database as migrations leave it, whatever the test before it did."""

from __future__ import annotations

import asyncpg
import pytest

from tests.databases import MAX_DELETED_BYTES, RESTART_SEQUENCES, SEEDED, KeptDatabase, connect

ADD = "INSERT INTO stage_events (stage, kind) SELECT 'scan', 'failed' FROM generate_series(1, {})"
# Autovacuum may analyze a table at any time: an empty one then has 0 rows instead of -1, and a
# seeded one has 1, so the estimate of a seeded table says nothing about what the test left behind.
TABLES = """
    SELECT relname::text, pg_relation_size(oid) > $1,
        CASE WHEN relname = ANY($2) THEN 0 ELSE greatest(reltuples, 0) END
    FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1
"""


@pytest.mark.parametrize(
    "change",
    [
        ADD.format(3),
        ADD.format(9000),
        f"{ADD.format(3)}; ANALYZE stage_events",
        "INSERT INTO tenants (id, name) VALUES (gen_random_uuid(), 'another')",
        "CREATE TABLE another (id int)",
        "ALTER TABLE stage_events ADD COLUMN another int",
        "DROP TABLE stage_events CASCADE",
    ],
    ids=["rows", "many rows", "statistics", "a seeded table", "a table", "a column", "a drop"],
)
async def test_nothing_that_a_test_changed_is_left_for_the_next(
    kept_database: KeptDatabase, url: str, change: str
) -> None:
    new = await read_state(url)
    connection = await connect(url)
    await connection.execute(change)
    await connection.close()

    assert await read_state(await kept_database.as_new()) == new


async def read_state(url: str) -> tuple[object, ...]:
    connection: asyncpg.Connection = await connect(url)
    try:
        tables = await connection.fetch(TABLES, MAX_DELETED_BYTES, SEEDED)
        names = [row["relname"] for row in tables]
        counts = [await connection.fetchval(f"SELECT count(*) FROM {each}") for each in names]
        moved_sequences = await connection.fetch(RESTART_SEQUENCES)
        columns = await connection.fetchval("SELECT count(*) FROM information_schema.columns")
    finally:
        await connection.close()
    return [tuple(row) for row in tables], counts, moved_sequences, columns
