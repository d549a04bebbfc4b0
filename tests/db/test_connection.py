"""Opening the embedded database when it is interrupted, killed or unreachable."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from scrapersky.db.connection import build_embedded_postgres, open_database, open_unchecked
from scrapersky.db.embedded.layout import find_layout, resolve_data_dir
from scrapersky.db.embedded.process import find_postmaster
from scrapersky.errors import DatabaseRefused
from scrapersky.settings import Settings, SettingsSource, load_settings
from tests.waiting import PATIENCE_SECONDS, wait_until


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Settings]:
    """Settings for an embedded database of the test's own."""
    settings = load_settings(
        SettingsSource(environ={}, env_file=None), scrapersky_data_dir=tmp_path / "data"
    )
    yield settings
    build_embedded_postgres(settings).destroy()


def is_cluster_being_made(data_dir: Path) -> bool:
    layout = find_layout(resolve_data_dir(data_dir)) if data_dir.is_dir() else None
    return layout is not None and any(layout.home.glob("postgres.new-*/base"))


def is_server_running(data_dir: Path) -> bool:
    layout = find_layout(resolve_data_dir(data_dir)) if data_dir.is_dir() else None
    return layout is not None and find_postmaster(layout.cluster) is not None


@pytest.mark.parametrize("has_come", [is_cluster_being_made, is_server_running])
async def test_an_interruption_while_it_starts_leaves_no_server_behind(
    own: Settings, has_come: Callable[[Path], bool]
) -> None:
    is_open = asyncio.Event()

    async def use() -> None:
        async with open_database(own):
            is_open.set()
            await asyncio.Event().wait()

    async def is_time() -> bool:
        return has_come(own.scrapersky_data_dir) or is_open.is_set()

    task = asyncio.create_task(use())
    await wait_until(is_time)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # It can be destroyed only when nobody holds it and it does not run.
    build_embedded_postgres(own).destroy()


async def test_a_server_that_was_killed_is_started_again(own: Settings) -> None:
    async with open_database(own) as database:
        async with database.reading() as session:
            data = await session.scalar(text("SHOW data_directory"))
        postmaster = find_postmaster(Path(str(data)))
        assert postmaster is not None
        os.kill(postmaster.pid, signal.SIGKILL)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    async with database.reading() as session:
                        assert await session.scalar(text("SELECT count(*) FROM users")) == 1
                    break
                except Exception:
                    await asyncio.sleep(0.2)


async def test_a_server_out_of_reach_is_said_so_without_the_password() -> None:
    settings = load_settings(
        SettingsSource(environ={}, env_file=None),
        database_url="postgresql://someone:canary@127.0.0.1:1/db",
    )
    with pytest.raises(DatabaseRefused, match="Cannot connect to the database") as refused:
        async with open_database(settings):
            pass
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (asyncpg.TooManyConnectionsError("sorry, too many clients"), "Raise its max_connections"),
        (OSError(errno.EMFILE, "Too many open files"), "Raise the limit on open files"),
        (OSError(errno.ECONNREFUSED, "Connection refused"), "Check DATABASE_URL"),
    ],
    ids=repr,
)
async def test_the_advice_fits_the_reason_why_the_database_cannot_be_opened(
    url: str, monkeypatch: pytest.MonkeyPatch, error: Exception, advice: str
) -> None:
    def fail(_engine: AsyncEngine) -> None:
        raise error

    monkeypatch.setattr(AsyncEngine, "connect", fail)
    settings = load_settings(SettingsSource(environ={}, env_file=None), database_url=url)
    with pytest.raises(DatabaseRefused, match=advice):
        async with open_unchecked(settings):
            pass
