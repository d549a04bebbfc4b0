"""`doctor` reports problems and what to do, and changes nothing."""

from __future__ import annotations

import asyncio
import resource
from pathlib import Path

import pytest

from scrapersky.cli.doctor import check_descriptors
from scrapersky.db.embedded import EmbeddedPostgres
from scrapersky.db.migrate import get_head_revision
from scrapersky.db.session import Database, parse_database_url
from scrapersky.pipeline.workers import WorkerIdentity, record_heartbeat
from tests.cli.conftest import Invoke
from tests.databases import connect


def test_a_healthy_database(invoke: Invoke) -> None:
    said = invoke("doctor")

    assert said.code == 0, said
    assert "✗" not in said.out
    assert f"At revision {get_head_revision()}, up to date." in said.out
    assert "All checks passed." in said.out


@pytest.mark.usefixtures("asked")
def test_rows_that_nobody_works_are_told(invoke: Invoke) -> None:
    said = invoke("doctor")

    assert said.code == 1
    assert "no consumer runs this stage" in said.out


def test_a_database_that_is_behind(invoke: Invoke, empty_url: str) -> None:
    said = invoke("doctor", DATABASE_URL=empty_url)

    assert said.code == 1
    assert "Run `scrapersky db upgrade`" in said.out


def test_a_database_that_does_not_answer(invoke: Invoke) -> None:
    said = invoke("doctor", DATABASE_URL="postgresql://me:secret@127.0.0.1:1/none")

    assert said.code == 1
    assert "Cannot connect to the database at 127.0.0.1:1" in said.out
    assert "secret" not in said.out + said.err


def test_a_setting_that_cannot_be(invoke: Invoke) -> None:
    said = invoke("doctor", SITEMAP_SCHEDULER_BATCH_SIZE="many")

    assert said.code == 1
    assert "SITEMAP_SCHEDULER_BATCH_SIZE cannot be 'many'" in said.out


def test_sign_in_without_a_trusted_proxy_is_warned_about(invoke: Invoke) -> None:
    exposed = invoke("doctor", AUTH_MODE="required")
    behind = invoke("doctor", AUTH_MODE="required", TRUSTED_PROXIES="10.0.0.1")

    assert (exposed.code, behind.code) == (0, 0), "it works, and deserves a look"
    assert "! access" in exposed.out
    assert "set TRUSTED_PROXIES" in exposed.out
    assert "✓ access" in behind.out
    assert "trusted proxies: 10.0.0.1" in behind.out


def test_nothing_is_started_for_it(invoke: Invoke, tmp_path: Path) -> None:
    folder = tmp_path / "data"

    said = invoke("doctor", DATABASE_URL="", SCRAPERSKY_DATA_DIR=str(folder))

    assert said.code == 0, said
    assert "Not running; it starts when it is needed." in said.out
    assert not folder.exists()


def test_a_running_embedded_server_is_looked_at(invoke: Invoke, tmp_path: Path) -> None:
    tmp_path.chmod(0o711)
    postgres = EmbeddedPostgres(tmp_path / "data")
    postgres.acquire()
    try:
        said = invoke("doctor", DATABASE_URL="", SCRAPERSKY_DATA_DIR=str(tmp_path / "data"))
    finally:
        postgres.release()
        postgres.destroy()

    assert said.code == 0, said
    assert "PostgreSQL 18" in said.out
    assert "No tables yet" in said.out


def test_a_worker_that_has_run_out_of_something_is_named(invoke: Invoke, url: str) -> None:
    worker = WorkerIdentity()
    asyncio.run(say_out_of_connections(url, worker))
    said = invoke("doctor")

    assert said.code == 1
    assert f"{worker.readable}: The database accepts no more connections." in said.out


async def say_out_of_connections(url: str, worker: WorkerIdentity) -> None:
    told = {"own_limits": {"database_connections": "The database accepts no more connections."}}
    database = Database(url, pool_size=1)
    async with database.transaction() as session:
        await record_heartbeat(session, worker, vitals=told)
    await database.close()


def test_too_few_descriptors_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    finding = check_descriptors()

    assert not finding.ok
    assert "256 allowed, enough for 64 concurrent requests; raise the limit" in finding.sentence


def test_a_read_only_database_is_named(invoke: Invoke, url: str) -> None:
    asyncio.run(make_read_only(url))
    said = invoke("doctor")

    assert said.code == 1
    assert "the server is read-only" in said.out


async def make_read_only(url: str) -> None:
    connection = await connect(url)
    name = parse_database_url(url).database
    await connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    await connection.close()
