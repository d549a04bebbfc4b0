"""A restore that is killed changes nothing, not even later."""

from __future__ import annotations

import signal
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.models import Job
from tests.cli.conftest import Cli, Enqueue, said_by, until
from tests.databases import connect

SESSIONS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE application_name = 'pg_restore' AND datname = current_database()
"""


async def waits_for_lock(connection: asyncpg.Connection) -> bool:
    return bool(await connection.fetchval(f"{SESSIONS} AND wait_event_type = 'Lock'"))


async def is_gone(connection: asyncpg.Connection) -> bool:
    return not await connection.fetchval(SESSIONS)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_a_killed_restore_commits_nothing_later(
    cli: Cli, rows: Database, enqueue: Enqueue, url: str, tmp_path: Path, number: signal.Signals
) -> None:
    file = tmp_path / "empty.dump"
    assert (await cli("db", "backup", str(file))).code == 0
    await enqueue("bakery.example")  # which the restore would take away
    reader, watcher = await connect(url), await connect(url)
    reading = reader.transaction()
    await reading.start()
    await reader.fetch("SELECT id FROM contacts")

    restoring = await cli.start("db", "restore", str(file), "--yes")
    await until(lambda: waits_for_lock(watcher))
    restoring.send_signal(number)
    said = await said_by(restoring)
    await until(lambda: is_gone(watcher))  # before the lock is there to be had
    await reading.rollback()

    assert said.code != 0
    async with rows.reading() as session:
        assert await session.scalar(select(func.count(Job.id))) == 1
    for each in (reader, watcher):
        await each.close()
