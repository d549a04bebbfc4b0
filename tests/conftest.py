"""Real PostgreSQL for every test: one embedded server, and a clean database for each test."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import hypothesis
import pytest
from argon2 import PasswordHasher

from scrapersky.auth import passwords
from scrapersky.db import session
from scrapersky.db.embedded import EmbeddedPostgres, ServerAddress
from scrapersky.db.erasure_key import ErasureKeySource
from scrapersky.db.session import Database
from scrapersky.errors import DatabaseRefused
from scrapersky.logging import configure_logging
from scrapersky.settings import Settings, SettingsSource, load_settings
from tests.databases import KeptDatabase, make_template
from tests.effort import choose
from tests.engines import sharing_engine

hypothesis.settings.register_profile("short", max_examples=100, deadline=None)
hypothesis.settings.register_profile("long", max_examples=3_000, deadline=None)
hypothesis.settings.load_profile(choose("short", "long"))

TEST_ERASURE_KEY = "a key that only tests of erasing people use"


START_FIRST = ("chaos", "end_to_end", "scale", "browser", "scripts", "demo")
"""Folders of tests that take many seconds each. A test process that began one of them last would
go on alone while the others have nothing left to do."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tests = Path(__file__).parent
    rank = {name: number for number, name in enumerate(START_FIRST)}
    items.sort(key=lambda each: rank.get(each.path.relative_to(tests).parts[0], len(rank)))


@pytest.fixture(scope="session", autouse=True)
def _quiet_logs() -> None:
    configure_logging(level=os.environ.get("TEST_LOG_LEVEL", "error"))


@pytest.fixture(scope="session", autouse=True)
def _statements_are_made_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "create_async_engine", sharing_engine)
        yield


@pytest.fixture(scope="session", autouse=True)
def _passwords_are_hashed_quickly() -> Iterator[None]:
    """The real parameters take a quarter of a second; `tests/auth/test_passwords.py` uses them."""
    with pytest.MonkeyPatch.context() as patch:
        cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
        patch.setattr(passwords, "_hasher", cheap)
        patch.setattr(passwords, "DUMMY_HASH", passwords._build_dummy_hash())
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
