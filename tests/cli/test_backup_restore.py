"""The drill of the production guide: a backup under load, restored into another database."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from sqlalchemy import select

from scrapersky.db.session import Database
from scrapersky.models import Job, SitemapUrl
from tests.cli.conftest import Cli, Enqueue, asked_for, stopped, until
from tests.fake_web import FakeWeb, urlset


async def test_what_was_under_way_at_the_backup_is_worked_after_the_restore(
    cli: Cli, web: FakeWeb, enqueue: Enqueue, empty_url: str, tmp_path: Path
) -> None:
    bakery = web.host("bakery.example").hang("/sitemap.xml")
    working = await cli.start("worker", SHUTDOWN_GRACE_SECONDS="0.1")
    job_id = await enqueue("bakery.example")
    await until(lambda: asked_for(web, "/sitemap.xml"))
    file = tmp_path / "drill.dump"

    backup = await cli("db", "backup", str(file))
    refused = await cli("db", "restore", str(file), "--yes")
    await stopped(working)
    restore = await cli("db", "restore", str(file), DATABASE_URL=empty_url)
    bakery.xml("/sitemap.xml", urlset("http://bakery.example/bread"))
    there = Database(empty_url, pool_size=2)
    before = await job_of(there, job_id)
    restored = await cli.start("worker", DATABASE_URL=empty_url, WORKER_DEAD_AFTER_SECONDS="2")
    await until(lambda: is_complete(there, job_id))
    await stopped(restored)

    assert (backup.code, restore.code) == (0, 0), (backup, restore)
    assert "in use by 1 worker" in refused.err
    assert (before.status, before.attempts) == ("processing", 1)
    async with there.reading() as session:
        assert list(await session.scalars(select(SitemapUrl.url))) == [
            "http://bakery.example/bread"
        ]
    await there.close()


async def job_of(database: Database, job_id: UUID) -> Job:
    async with database.reading() as session:
        return await session.get_one(Job, job_id)


async def is_complete(database: Database, job_id: UUID) -> bool:
    return (await job_of(database, job_id)).status == "complete"
