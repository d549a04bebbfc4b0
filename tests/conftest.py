"""Real PostgreSQL for every test: one embedded server, a database as new for each test."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from scrapersky.db import session
from scrapersky.db.embedded import EmbeddedPostgres, ServerAddress
from scrapersky.db.erasure_key import ErasureKeySource
from scrapersky.db.session import Database
from scrapersky.errors import DatabaseRefused
from scrapersky.logging import configure_logging
from scrapersky.settings import Settings, SettingsSource, load_settings
from tests.databases import KeptDatabase, make_template
from tests.engines import sharing_engine

TEST_ERASURE_KEY = "a key that only tests of erasing people use"


@pytest.fixture(scope="session", autouse=True)
def _quiet_logs() -> None:
    configure_logging(level=os.environ.get("TEST_LOG_LEVEL", "error"))


@pytest.fixture(scope="session", autouse=True)
def _statements_are_made_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "create_async_engine", sharing_engine)
        yield


@pytest.fixture(scope="session")
def server(testrun_uid: str) -> Iterator[ServerAddress]:
    """One server for the whole run: the test processes share it, and the last one stops it."""
    folder = Path(tempfile.gettempdir()) / f"scrapersky-tests-{os.getuid()}-{testrun_uid}"
    postgres = EmbeddedPostgres(folder)
    address = postgres.acquire()
    try:
        asyncio.run(make_template(address))
        yield address
    finally:
        postgres.release()
        with suppress(DatabaseRefused):  # another test process still uses it and will remove it
            postgres.destroy()
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def kept_database(server: ServerAddress) -> KeptDatabase:
    return KeptDatabase(server)


@pytest.fixture
async def url(kept_database: KeptDatabase) -> str:
    """The URL of a database as migrations leave it, the test's own."""
    return await kept_database.as_new()


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    made = Database(
        url,
        pool_size=20,
        erasure_key=ErasureKeySource(TEST_ERASURE_KEY),
        command_timeout=None,  # how long a large table takes to fill is not what is tested
    )
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
            "erasure_key": TEST_ERASURE_KEY,
            "fetch_allow_networks": "127.0.0.0/8",
            "provider_allow_networks": "127.0.0.0/8",
            "webhook_allow_networks": "127.0.0.0/8",
            "retry_base_seconds": 0.05,
            "worker_beat_seconds": 0.5,
            "worker_dead_after_seconds": 60,
            "lease_grace_seconds": 30,
            "shutdown_grace_seconds": 0.2,
            "parser_processes": 0,
            **overrides,
        },
    )
