"""The migrations and the models say the same, and a database's revision is respected."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, select, text

import scrapersky.models
import scrapersky.pipeline.tables
from scrapersky.db.base import Base
from scrapersky.db.migrate import (
    MIGRATIONS,
    get_current_revision,
    get_head_revision,
    require_current,
    upgrade,
)
from scrapersky.db.session import Database
from scrapersky.errors import SchemaMismatch
from scrapersky.models import Job, SitemapFile
from scrapersky.scraper.http.urls import url_digest
from scrapersky.sitemaps import discovery
from tests.stage_cases import CASES, OWNED

assert scrapersky.models, scrapersky.pipeline.tables  # imported for their tables


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
    with pytest.raises(SchemaMismatch, match="run `scrapersky db upgrade`"):
        await require_current(database)


async def test_a_database_from_the_future_is_refused(database: Database) -> None:
    async with database.engine.begin() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(SchemaMismatch, match="newer version"):
        await require_current(database)


async def test_old_results_of_scans_get_the_list_of_their_sitemaps(database: Database) -> None:
    before = {"sitemaps": 1, "urls": 4}
    async with database.transaction() as session:
        (job_id,) = await CASES[discovery.STAGE.name].make_due(session, 1)
        job = await session.get_one(Job, job_id)
        job.status, job.finished_at, job.result_data = "complete", func.now(), before
        address = f"https://{job.subject}/sitemap.xml"
        file = SitemapFile(
            domain_id=job.domain_id,
            url=address,
            url_digest=url_digest(address),
            discovery_method="robots_txt",
            status="ok",
            sitemap_type="standard",
            url_count=4,
            job_id=job_id,
            **OWNED,
        )
        session.add(file)

    migration = ScriptDirectory(str(MIGRATIONS)).get_revision("0020").module
    listed = {"id": str(file.id), "url": address, "type": "standard", "url_count": 4}
    after = {"sitemaps": [listed], "sitemaps_count": 1, "urls": 4}
    for step, expected in ((migration.upgrade, after), (migration.downgrade, before)):
        async with database.engine.begin() as connection:
            await connection.run_sync(_run, step)
        async with database.reading() as session:
            assert await session.scalar(select(Job.result_data)) == expected


def _run(connection: Connection, step: Any) -> None:
    with Operations.context(MigrationContext.configure(connection)):
        step()
