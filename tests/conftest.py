"""Real PostgreSQL for every test: one embedded server, a database of its own for each test."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import text

from scrapersky.db.embedded import EmbeddedPostgres, ServerAddress
from scrapersky.db.migrate import upgrade
from scrapersky.db.session import Database
from scrapersky.errors import DatabaseRefused
from scrapersky.logging import configure_logging
from scrapersky.settings import Settings, SettingsSource, load_settings

TEMPLATE = "scrapersky_template"
TEMPLATE_LOCK = 4711
WITHOUT_WAITING_FOR_THE_DISK = ("fsync = off", "full_page_writes = off")
"""Tests kill processes, servers too, but nobody pulls the machine's plug: what was written to the
system's memory is there. A database is made and dropped in a twentieth of the time."""


@pytest.fixture(scope="session", autouse=True)
def _quiet_logs() -> None:
    configure_logging(level=os.environ.get("TEST_LOG_LEVEL", "error"))


@pytest.fixture(scope="session")
def server(testrun_uid: str) -> Iterator[ServerAddress]:
    """One server for the whole run: the test processes share it, and the last one stops it."""
    folder = Path(tempfile.gettempdir()) / f"scrapersky-tests-{os.getuid()}-{testrun_uid}"
    postgres = EmbeddedPostgres(folder)
    address = postgres.acquire()
    try:
        asyncio.run(_make_template(address))
        yield address
    finally:
        postgres.release()
        with suppress(DatabaseRefused):  # another test process still uses it and will remove it
            postgres.destroy()
            shutil.rmtree(folder, ignore_errors=True)


async def _make_template(address: ServerAddress) -> None:
    """Migrations run once; every test's database is a copy."""
    admin = Database(address.url, pool_size=2)
    async with admin.engine.connect() as connection:
        await connection.execution_options(isolation_level="AUTOCOMMIT")
        await connection.execute(text(f"SELECT pg_advisory_lock({TEMPLATE_LOCK})"))
        there = await connection.scalar(
            text("SELECT 1 FROM pg_database WHERE datname = :name"), {"name": TEMPLATE}
        )
        if not there:
            for each in WITHOUT_WAITING_FOR_THE_DISK:
                await connection.execute(text(f"ALTER SYSTEM SET {each}"))
            await connection.execute(text("SELECT pg_reload_conf()"))
            await connection.execute(text("CREATE DATABASE scrapersky_making"))
            making = Database(database_url(address, "scrapersky_making"), pool_size=2)
            await upgrade(making)
            await making.close()
            await connection.execute(text(f"ALTER DATABASE scrapersky_making RENAME TO {TEMPLATE}"))
        await connection.execute(text(f"SELECT pg_advisory_unlock({TEMPLATE_LOCK})"))
    await admin.close()


def database_url(address: ServerAddress, name: str) -> str:
    return address.url.replace("/scrapersky?", f"/{name}?")


@pytest.fixture
async def url(server: ServerAddress) -> AsyncIterator[str]:
    """The URL of a fresh, migrated database, dropped after the test."""
    name = f"t_{uuid4().hex}"
    admin = Database(server.url, pool_size=2)
    async with admin.engine.connect() as connection:
        await connection.execution_options(isolation_level="AUTOCOMMIT")
        await connection.execute(
            text(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY FILE_COPY")
        )
        yield database_url(server, name)
        await connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    await admin.close()


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    made = Database(url, pool_size=20)
    yield made
    await made.close()


@pytest.fixture
def settings(url: str) -> Settings:
    """Settings for a test: its own database, short waits, loopback allowed."""
    return make_settings(url)


def make_settings(url: str, **overrides: object) -> Settings:
    return load_settings(
        SettingsSource(environ={}, env_file=None),
        **{
            "database_url": url,
            "fetch_allow_networks": "127.0.0.0/8",
            "retry_base_seconds": 0.05,
            "worker_beat_seconds": 0.5,
            "worker_dead_after_seconds": 2,
            "lease_grace_seconds": 1,
            "shutdown_grace_seconds": 0.2,
            **overrides,
        },
    )
