"""The migrations match the models, and a database of another revision is refused."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

import scrapersky.models
import scrapersky.pipeline.tables
from scrapersky.db.base import Base
from scrapersky.db.migrate import (
    MIGRATIONS,
    get_current_revision,
    get_head_revision,
    list_revisions,
    require_current,
    upgrade,
)
from scrapersky.db.migrations import upgrade_from_0016
from scrapersky.db.session import Database
from scrapersky.errors import SchemaMismatch
from scrapersky.models import DEFAULT_TENANT_ID
from tests.databases import connect

assert scrapersky.models, scrapersky.pipeline.tables  # imported for their tables

REVISION_0016 = Path(__file__).parent / "revision_0016.sql"
CHECKSUMS = Path(__file__).parent / "migrations.sha256"
TABLES = """
    SELECT relname FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1
"""
SCHEMA = """
    SELECT relname, 'table', relkind::text, coalesce(reloptions::text, ''), '' FROM pg_class
    WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT relname, attname, format_type(atttypid, atttypmod),
        concat_ws(' ', attnotnull, attidentity, attgenerated, attstorage, attcollation),
        coalesce(pg_get_expr(adbin, adrelid), '')
    FROM pg_attribute
        JOIN pg_class ON pg_class.oid = attrelid AND relkind = 'r'
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped
    UNION ALL SELECT conrelid::regclass::text, conname, 'constraint',
        concat_ws(' ', convalidated, condeferrable), pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT tablename, indexname, 'index', '', indexdef
    FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT proname, '', 'function', '', pg_get_functiondef(oid)
    FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT tgrelid::regclass::text, tgname, 'trigger', '', pg_get_triggerdef(oid)
    FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT objoid::regclass::text, objsubid::text, 'comment', '', description
    FROM pg_description JOIN pg_class ON pg_class.oid = objoid
    WHERE classoid = 'pg_class'::regclass AND relnamespace = 'public'::regnamespace
"""


async def test_the_migrated_database_is_what_the_models_describe(database: Database) -> None:
    def differences(connection: Connection) -> list[object]:
        options = {"include_name": lambda name, kind, _: not (kind == "table" and _is_test(name))}
        context = MigrationContext.configure(connection, opts={"compare_type": True, **options})
        ours = [table for table in Base.metadata.sorted_tables if not _is_test(table.name)]
        found = compare_metadata(context, Base.metadata)
        return [each for each in found if not _mentions_test(each)] if ours else ["no tables"]

    async with database.engine.connect() as connection:
        assert await connection.run_sync(differences) == []


def _is_test(name: str | None) -> bool:
    return name is not None and name.startswith("noop")


def _mentions_test(difference: object) -> bool:
    return "noop_rows" in str(difference)


def test_revisions_are_the_names_of_their_files_in_one_line() -> None:
    scripts = ScriptDirectory(str(MIGRATIONS))
    assert tuple(reversed([each.revision for each in scripts.walk_revisions()])) == list_revisions()
    assert scripts.get_heads() == [get_head_revision()]


async def test_several_processes_that_upgrade_at_once_do_not_disturb_each_other(
    url: str, database: Database
) -> None:
    async with database.engine.begin() as connection:
        await connection.execute(text("DROP SCHEMA public CASCADE"))
        await connection.execute(text("CREATE SCHEMA public"))
    pools = [Database(url, pool_size=1) for _ in range(4)]
    changed = await asyncio.gather(*(upgrade(pool) for pool in pools))
    for pool in pools:
        await pool.close()

    assert sorted(changed) == [False, False, False, True]
    assert await get_current_revision(database) == get_head_revision()


async def test_an_empty_database_is_refused_with_what_to_do(url: str, database: Database) -> None:
    async with database.engine.begin() as connection:
        await connection.execute(text("DROP TABLE alembic_version"))
    with pytest.raises(SchemaMismatch, match="Run `scrapersky db upgrade`"):
        await require_current(database)


async def test_a_database_from_the_future_is_refused(database: Database) -> None:
    await stamp(database, "9999")
    with pytest.raises(SchemaMismatch, match="newer version"):
        await require_current(database)


@pytest.mark.parametrize("revision", ["0001", "0015"])
async def test_a_database_that_is_too_old_is_refused_with_what_to_do(
    database: Database, revision: str
) -> None:
    await stamp(database, revision)
    for attempt in (require_current, upgrade):
        with pytest.raises(SchemaMismatch, match=r"of version 0\.1\.0 first"):
            await attempt(database)


@pytest.mark.parametrize("revision", sorted(upgrade_from_0016.REVISIONS))
async def test_a_database_of_the_replaced_migrations_gets_the_schema_of_a_new_one(
    database: Database, revision: str
) -> None:
    fresh = await describe_schema(database)
    await load_revision_0016(database)
    async with database.engine.begin() as connection:
        for before, statements in upgrade_from_0016.STEPS.items():
            for statement in statements if before < revision else ():
                await connection.exec_driver_sql(statement)
    await stamp(database, revision)
    with pytest.raises(SchemaMismatch, match="Run `scrapersky db upgrade`"):
        await require_current(database)

    assert await upgrade(database)
    assert not await upgrade(database)

    assert await get_current_revision(database) == get_head_revision()
    assert await describe_schema(database) == fresh


async def test_the_rows_of_revision_0016_are_kept(database: Database) -> None:
    await load_revision_0016(database)
    before = await read_rows(database)
    await upgrade(database)
    after = await read_rows(database)

    def find(rows: dict[str, list[dict[str, Any]]], table: str, column: str) -> dict[str, Any]:
        return {row["id" if "id" in row else "tenant_id"]: row.pop(column) for row in rows[table]}

    assert find(before, "jobs", "result_data") == {
        FINISHED_JOB: {"sitemaps": 2, "urls": 4},
        EMPTY_JOB: {"sitemaps": 0, "urls": 0},
        RUNNING_JOB: None,
    }
    assert find(after, "jobs", "result_data") == {
        FINISHED_JOB: {
            "sitemaps": [
                {
                    "id": "00000000-0000-7000-8000-0000000000f1",
                    "url": "https://bakery.example/index.xml",
                    "type": "index",
                    "url_count": 1,
                },
                {
                    "id": "00000000-0000-7000-8000-0000000000f2",
                    "url": "https://bakery.example/pages.xml",
                    "type": "standard",
                    "url_count": 4,
                },
            ],
            "sitemaps_count": 2,
            "urls": 4,
        },
        EMPTY_JOB: {"sitemaps": [], "sitemaps_count": 0, "urls": 0},
        RUNNING_JOB: None,
    }
    # Acme's cap was set by its own admin, the others by an operator.
    caps = {ACME: 900, GLOBEX: 800, str(DEFAULT_TENANT_ID): 700}
    assert find(before, "budgets", "monthly_cap_usd") == caps
    assert find(after, "budgets", "monthly_cap_usd") == {**caps, ACME: None}
    assert find(after, "budgets", "own_limit_usd") == {**dict.fromkeys(caps), ACME: 900}

    del before["alembic_version"]
    del before["alert_posts"]  # dropped by 0002
    assert sum(map(len, before.values())) > 30
    for table, rows in before.items():
        columns = rows[0].keys() if rows else set()
        kept = [{name: row[name] for name in columns} for row in after[table]]
        assert kept == rows, table


@pytest.mark.parametrize(
    "path", [*(MIGRATIONS / "versions").glob("*.py"), Path(upgrade_from_0016.__file__)], ids=str
)
def test_a_migration_never_changes(path: Path) -> None:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert f"{digest}  {path.name}" in CHECKSUMS.read_text().splitlines(), (
        f"Databases have run {path.name}, and a change to it would reach only new ones. Restore it "
        f"and write a new migration. Is it new? Then add its line to {CHECKSUMS.name}: "
        f"`sha256sum {path.name}` in its folder."
    )


FINISHED_JOB = "00000000-0000-7000-8000-0000000000e2"
EMPTY_JOB = "00000000-0000-7000-8000-0000000000e3"
RUNNING_JOB = "00000000-0000-7000-8000-0000000000e4"
ACME = "00000000-0000-7000-8000-0000000000a1"
GLOBEX = "00000000-0000-7000-8000-0000000000a2"


async def stamp(database: Database, revision: str) -> None:
    async with database.engine.begin() as connection:
        await connection.execute(
            text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision}
        )


async def load_revision_0016(database: Database) -> None:
    connection = await connect(database.url.render_as_string(hide_password=False))
    try:
        await connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        await connection.execute(REVISION_0016.read_text())
    finally:
        await connection.close()


async def describe_schema(database: Database) -> set[tuple[str, ...]]:
    """All of the schema except the order of the columns, which statements do not depend on."""
    async with database.engine.connect() as connection:
        return {tuple(row) for row in await connection.exec_driver_sql(SCHEMA)}


async def read_rows(database: Database) -> dict[str, list[dict[str, Any]]]:
    async with database.engine.connect() as connection:
        tables = (await connection.exec_driver_sql(TABLES)).scalars().all()
        rows = {}
        for table in tables:
            statement = f"SELECT to_jsonb(t) FROM {table} t ORDER BY t::text"
            rows[table] = list((await connection.execute(text(statement))).scalars())
        return rows
