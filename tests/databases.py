"""A database as migrations leave it, for one test after the other.

Making one from a template copies some six hundred files. So each test process makes one and empties
it for the next test; only a test that changed the tables themselves costs the next one a new one.

TRUNCATE makes new files for a table, its indexes and every table that refers to it, 100 ms for most
tests. DELETE without triggers takes 5 ms, so TRUNCATE is for tables where a trace would stay: many
pages, or statistics.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

import asyncpg

from scrapersky.db.embedded import ServerAddress
from scrapersky.db.migrate import upgrade
from scrapersky.db.session import Database, get_libpq_url, parse_database_url

TEMPLATE = "scrapersky_template"
TEMPLATE_LOCK = 4711
SEEDED = ("alembic_version", "tenants", "users")
"""Tables that migrations fill, in the order in which their rows can be stored."""
WITHOUT_WAITING_FOR_THE_DISK = ("fsync = off", "full_page_writes = off")
"""Tests kill processes, servers too, but nobody pulls the machine's plug: what was written to the
system's memory is there. A database is made and dropped in a twentieth of the time."""

END_OTHERS = """
    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
TABLES = """
    SELECT oid::regclass::text AS name, pg_relation_size(oid) AS size, reltuples FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""
MAX_DELETED_BYTES = 10 * 8192
"""The planner takes a table without statistics for one of ten pages, so up to this size a table
whose rows were deleted is planned like a new one."""
RESTART_SEQUENCES = """
    SELECT setval(seqrelid, seqstart, false) FROM pg_sequence
    WHERE pg_sequence_last_value(seqrelid) IS NOT NULL
"""
SHAPE = """
    SELECT sum(hashtextextended(part, 0)) FROM (
        SELECT attrelid || ' ' || attname || ' ' || a.xmin FROM pg_attribute a
            JOIN pg_class c ON c.oid = attrelid WHERE relnamespace = 'public'::regnamespace
        UNION ALL SELECT oid || relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
        UNION ALL SELECT indexrelid || ' ' || xmin FROM pg_index
        UNION ALL SELECT oid || ' ' || xmin FROM pg_constraint
        UNION ALL SELECT oid || ' ' || xmin FROM pg_trigger
        UNION ALL SELECT oid || ' ' || xmin FROM pg_proc WHERE pronamespace > 16383
            OR pronamespace = 'public'::regnamespace
        UNION ALL SELECT oid || nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_temp%'
            AND nspname NOT LIKE 'pg_toast_temp%'
        UNION ALL SELECT setrole || ' ' || setconfig::text FROM pg_db_role_setting
    ) AS parts (part)
"""
"""A sum over all that says how the tables are, but not what is in them."""
REFERENCES = """
    SELECT conrelid::regclass::text AS referring, confrelid::regclass::text AS referred
    FROM pg_constraint WHERE contype = 'f' AND conrelid <> confrelid
"""


def database_url(address: ServerAddress, name: str) -> str:
    return address.url.replace("/scrapersky?", f"/{name}?")


async def connect(url: str) -> asyncpg.Connection:
    return await asyncpg.connect(get_libpq_url(parse_database_url(url)))


async def make_template(address: ServerAddress) -> None:
    """Migrations run once; every other database is a copy."""
    admin = await connect(address.url)
    try:
        await admin.execute(f"SELECT pg_advisory_lock({TEMPLATE_LOCK})")
        if not await admin.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", TEMPLATE):
            for each in WITHOUT_WAITING_FOR_THE_DISK:
                await admin.execute(f"ALTER SYSTEM SET {each}")
            await admin.execute("SELECT pg_reload_conf()")
            await admin.execute("CREATE DATABASE scrapersky_making")
            making = Database(database_url(address, "scrapersky_making"), pool_size=2)
            await upgrade(making)
            await making.close()
            await admin.execute(f"ALTER DATABASE scrapersky_making RENAME TO {TEMPLATE}")
    finally:
        await admin.close()  # and the lock with it


@dataclass
class KeptDatabase:
    """This test process's database on a server."""

    server: ServerAddress
    url: str | None = None
    tables: dict[str, float] = field(default_factory=dict)
    """With the number of rows that the planner takes a new one to have."""
    shape: int = 0
    seeds: dict[str, list[str]] = field(default_factory=dict)
    referring: dict[str, set[str]] = field(default_factory=dict)

    async def as_new(self) -> str:
        """Its URL, when it is as if nobody had used it."""
        if self.url is None or not await self._emptied():
            await self._replace()
        assert self.url is not None
        return self.url

    async def _replace(self) -> None:
        admin = await connect(self.server.url)
        try:
            if self.url is not None:
                await admin.execute(
                    f"DROP DATABASE {parse_database_url(self.url).database} WITH (FORCE)"
                )
            name = f"t_{uuid4().hex}"
            await admin.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY FILE_COPY")
        finally:
            await admin.close()
        self.url = database_url(self.server, name)
        connection = await connect(self.url)
        try:
            await self._remember(connection)
        finally:
            await connection.close()

    async def _remember(self, connection: asyncpg.Connection) -> None:
        found = await connection.fetch(TABLES)
        self.tables = {row["name"]: row["reltuples"] for row in found}
        self.shape = await connection.fetchval(SHAPE)
        self.seeds = {table: await _rows(connection, table) for table in SEEDED}
        self.referring = {}
        for row in await connection.fetch(REFERENCES):
            self.referring.setdefault(row["referred"], set()).add(row["referring"])

    async def _emptied(self) -> bool:
        """False when it cannot be had back by emptying: it is gone, or its tables were changed."""
        assert self.url is not None
        try:
            connection = await connect(self.url)
        except asyncpg.InvalidCatalogNameError:
            return False
        try:
            await connection.execute(END_OTHERS)
            tables = await connection.fetch(TABLES)
            await _drop(connection, {row["name"] for row in tables} - self.tables.keys())
            if await connection.fetchval(SHAPE) != self.shape:
                return False
            await self._empty(connection, [row for row in tables if row["name"] in self.tables])
            await self._reseed(connection)
        finally:
            await connection.close()
        return True

    async def _empty(
        self, connection: asyncpg.Connection, tables: Sequence[asyncpg.Record]
    ) -> None:
        leaves_trace = {
            row["name"]
            for row in tables
            if row["size"] > MAX_DELETED_BYTES or row["reltuples"] != self.tables[row["name"]]
        }
        truncated = self._with_referring(leaves_trace - set(SEEDED))
        await _truncate(connection, truncated)
        filled = {row["name"] for row in tables if row["size"] > 0}
        await _delete(connection, filled - truncated - set(SEEDED))

    def _with_referring(self, tables: set[str]) -> set[str]:
        """PostgreSQL empties a table only together with those that refer to it."""
        found, new = set(tables), set(tables)
        while new:
            new = set().union(*(self.referring.get(each, set()) for each in new)) - found
            found |= new
        return found - set(SEEDED)

    async def _reseed(self, connection: asyncpg.Connection) -> None:
        if {table: await _rows(connection, table) for table in SEEDED} == self.seeds:
            return
        for table in reversed(SEEDED):
            await connection.execute(f"DELETE FROM {table}")
        for table in SEEDED:
            for row in self.seeds[table]:
                await connection.execute(
                    f"INSERT INTO {table} SELECT * FROM jsonb_populate_record(NULL::{table}, $1)",
                    row,
                )


async def _rows(connection: asyncpg.Connection, table: str) -> list[str]:
    found = await connection.fetch(f"SELECT to_jsonb(t) AS row FROM {table} t ORDER BY 1")
    return [json.dumps(json.loads(each["row"]), sort_keys=True) for each in found]


async def _drop(connection: asyncpg.Connection, tables: set[str]) -> None:
    if tables:
        await connection.execute(f"DROP TABLE {', '.join(sorted(tables))} CASCADE")


async def _truncate(connection: asyncpg.Connection, tables: set[str]) -> None:
    if tables:
        await connection.execute(f"TRUNCATE {', '.join(sorted(tables))}")


async def _delete(connection: asyncpg.Connection, tables: set[str]) -> None:
    """Foreign keys are triggers too, so the order does not matter."""
    deletes = "".join(f"DELETE FROM {each};" for each in sorted(tables))
    await connection.execute(
        f"BEGIN; SET LOCAL session_replication_role = replica; {deletes} COMMIT;"
    )
    await connection.execute(RESTART_SEQUENCES)
