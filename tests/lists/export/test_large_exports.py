"""A hundred thousand rows through a real server: complete, or visibly truncated."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from scrapersky.db.session import Database
from tests.app import serving
from tests.conftest import make_settings
from tests.contacts.rows import a_domain, stored
from tests.processes import HASTY, api
from tests.waiting import PATIENCE_SECONDS

API = "/api/v3"
ROWS = 100_000
MANY = """
INSERT INTO contacts (id, tenant_id, created_by, domain_id, kind, value, method, confidence,
                      snippet, created_at)
SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, tenant_id, created_by,
       id, 'email', n || '@' || domain, 'mailto', 0.9,
       repeat('We bake every day. ', 10), now() - make_interval(secs => n / 100)
FROM domains, generate_series(1, :rows) n
"""
IN_TRANSACTION = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()
"""


@pytest.fixture
async def _many(database: Database) -> None:
    await stored(database, a_domain("many.example"))
    async with database.transaction() as session:
        # What each row points at is there; to have that looked up for each takes longest.
        await session.execute(text("SET LOCAL session_replication_role = replica"))
        await session.execute(text(MANY), {"rows": ROWS})
    async with database.transaction() as session:
        await session.execute(text("ANALYZE contacts"))


@pytest.fixture
async def real(url: str, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    spool_folder(tmp_path).mkdir()
    environ = {**HASTY, "DATABASE_URL": url, "SCHEDULER_ENABLED": "false"}
    environ["TMPDIR"] = str(spool_folder(tmp_path))
    async with api(environ, tmp_path / "log") as client:
        yield client


def spool_folder(tmp_path: Path) -> Path:
    return tmp_path / "spool"


async def spooled(tmp_path: Path, *, some: bool) -> None:
    """Wait until rows are, or nothing is, in temporary files."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while some != any(each.is_file() and each.stat().st_size for each in _files(tmp_path)):
            await asyncio.sleep(0.05)
        while not some and any(_files(tmp_path)):
            await asyncio.sleep(0.05)


def _files(tmp_path: Path) -> list[Path]:
    return [
        Path(folder, name)
        for folder, folders, names in os.walk(spool_folder(tmp_path))
        for name in (*folders, *names)
    ]


async def nothing_under_way(database: Database) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await _count(database):
            await asyncio.sleep(0.05)


async def _count(database: Database) -> Any:
    async with database.reading() as session:
        return await session.scalar(text(IN_TRANSACTION))


@pytest.mark.usefixtures("_many")
async def test_a_hundred_thousand_rows_are_exported_and_decided_about(
    real: httpx.AsyncClient,
) -> None:
    file = await real.get(f"{API}/contacts/export", params={"columns": "value,kind"})
    body = {"filter": {"kind": ["email"]}, "status": "Skipped"}
    done = await real.post(f"{API}/contacts/curate", json=body)
    params = {"columns": "value", "contact_curation_status": "Skipped", "sort": "value"}
    after = await real.get(f"{API}/contacts/export", params=params)

    lines = file.text.split("\r\n")[1:-1]
    assert len(lines) == len(set(lines)) == ROWS
    assert done.json()["updated_count"] == ROWS
    listed = after.text.split("\r\n")[1:-1]
    assert len(listed) == ROWS
    assert {f"{each},email" for each in listed} == set(lines)


@pytest.mark.usefixtures("_many")
async def test_what_goes_wrong_on_the_way_ends_in_a_broken_connection(
    real: httpx.AsyncClient, database: Database
) -> None:
    params = {"columns": "id,snippet,value"}
    async with real.stream("GET", f"{API}/contacts/export", params=params) as answer:
        assert answer.status_code == 200
        pieces = answer.aiter_raw(1024)
        await anext(pieces)
        async with database.transaction() as session:
            await session.execute(text("ALTER TABLE contacts RENAME COLUMN snippet TO gone"))
        with pytest.raises(httpx.RemoteProtocolError):
            async for _ in pieces:
                pass

    await nothing_under_way(database)
    assert (await real.get("/health")).status_code == 200


@pytest.mark.usefixtures("_many")
async def test_what_goes_wrong_before_the_first_byte_is_said(
    real: httpx.AsyncClient, database: Database, tmp_path: Path
) -> None:
    """No byte of an XLSX file comes before its last row."""
    params = {"format": "xlsx", "columns": "id,snippet,value"}
    asking = asyncio.create_task(real.get(f"{API}/contacts/export", params=params))
    await spooled(tmp_path, some=True)
    async with database.transaction() as session:
        await session.execute(text("ALTER TABLE contacts RENAME COLUMN snippet TO gone"))
    answer = await asking

    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    await spooled(tmp_path, some=False)


@pytest.mark.usefixtures("_many")
async def test_who_goes_away_before_the_first_byte_leaves_no_file(
    real: httpx.AsyncClient, database: Database, tmp_path: Path
) -> None:
    asking = asyncio.create_task(real.get(f"{API}/contacts/export", params={"format": "xlsx"}))
    await spooled(tmp_path, some=True)
    asking.cancel()

    await spooled(tmp_path, some=False)
    await nothing_under_way(database)
    assert "Traceback" not in (tmp_path / "log").read_text()


@pytest.mark.usefixtures("_many")
async def test_who_goes_away_leaves_nothing_behind(
    real: httpx.AsyncClient, database: Database, tmp_path: Path
) -> None:
    for sort in ("-created_at", "value"):
        params = {"sort": sort}
        async with real.stream("GET", f"{API}/contacts/export", params=params) as answer:
            await anext(answer.aiter_raw(1024))

    await nothing_under_way(database)
    assert (await real.get(f"{API}/contacts", params={"limit": 1})).status_code == 200
    assert "Traceback" not in (tmp_path / "log").read_text()


async def test_what_is_wrong_from_the_beginning_is_said(url: str, database: Database) -> None:
    async with database.transaction() as session:
        await session.execute(text("ALTER TABLE contacts RENAME COLUMN snippet TO gone"))

    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        for word in ("csv", "jsonl", "xlsx", "parquet"):
            answer = await client.get(f"{API}/contacts/export", params={"format": word})
            assert answer.status_code == 500
            assert answer.headers["content-type"] == "application/problem+json"
