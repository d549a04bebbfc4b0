"""A committed row wakes consumers in every process, and a broken listener reconnects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from time import monotonic
from typing import Literal

import pytest
from sqlalchemy import text

from scrapersky.db import listen
from scrapersky.db.session import Database
from scrapersky.pipeline import wake
from scrapersky.pipeline.wake import Wakeups, wake_after_commit
from tests.waiting import PATIENCE_SECONDS, wait_until


@pytest.fixture
async def other(url: str) -> AsyncIterator[Database]:
    made = Database(url, pool_size=2)
    yield made
    await made.close()


async def listening(database: Database) -> Wakeups:
    wakeups = Wakeups(database)
    wakeups.listen()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not wakeups.listener.up:
            await asyncio.sleep(0.01)
    return wakeups


async def heard(event: asyncio.Event) -> bool:
    try:
        await asyncio.wait_for(event.wait(), PATIENCE_SECONDS)
    except TimeoutError:
        return False
    return True


async def test_another_process_hears_of_a_committed_row(
    database: Database, other: Database
) -> None:
    here, there = await listening(database), Wakeups(other)
    woken = asyncio.Event()
    here.subscribe("stage", woken.set)
    async with other.transaction() as session:
        wake_after_commit(session, "stage")

    assert await heard(woken)
    await there.close()
    await here.close()


async def test_the_same_process_is_woken_without_the_database(database: Database) -> None:
    wakeups = Wakeups(database)
    woken = asyncio.Event()
    wakeups.subscribe("stage", woken.set)
    async with database.transaction() as session:
        wake_after_commit(session, "stage")

    assert woken.is_set()
    await wakeups.close()


async def test_a_transaction_that_fails_wakes_nobody(database: Database) -> None:
    wakeups = Wakeups(database)
    woken = asyncio.Event()
    wakeups.subscribe("stage", woken.set)
    with suppress(RuntimeError):
        async with database.transaction() as session:
            wake_after_commit(session, "stage")
            raise RuntimeError

    assert not woken.is_set()
    await wakeups.close()


async def test_a_hundred_commits_make_few_notifications(
    database: Database, other: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wake, "NOTIFY_INTERVAL_SECONDS", 2.0)
    began = monotonic()
    here, there = await listening(database), Wakeups(other)
    count = 0

    def woken() -> None:
        nonlocal count
        count += 1

    here.subscribe("stage", woken)
    for _ in range(100):
        async with other.transaction() as session:
            wake_after_commit(session, "stage")
    await there.flush()
    # One with a commit and one afterwards, per interval.
    sent = 2 * (1 + (monotonic() - began) / 2)
    await wait_until(lambda: _is(lambda: count >= 1))

    assert count <= sent
    await there.close()
    await here.close()


async def test_a_listener_that_was_cut_comes_back_and_looks_once(
    database: Database, other: Database
) -> None:
    here, there = await listening(database), Wakeups(other)
    woken = asyncio.Event()
    here.subscribe("stage", woken.set)
    async with other.transaction() as session:
        cut = await session.scalar(
            text(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE application_name = 'scrapersky listener' AND datname = current_database()"
            )
        )
    looked_once = await heard(woken)
    woken.clear()
    async with other.transaction() as session:
        wake_after_commit(session, "stage")

    assert cut == 1
    assert looked_once
    assert await heard(woken)
    assert here.listener.up
    await there.close()
    await here.close()


async def test_a_listener_whose_ear_is_gone_notices(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a pooler that forgets what was listened to: the connection lives on, deaf."""
    monkeypatch.setattr(listen, "PROBE_TIMEOUT_SECONDS", 0.2)
    wakeups = Wakeups(database)
    wakeups.listener._probe_every_seconds = 0.05
    wakeups.listen()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not wakeups.listener.up:
            await asyncio.sleep(0.01)
    monkeypatch.setattr(wakeups.listener, "_probe_heard", _NeverHeard())
    async with asyncio.timeout(PATIENCE_SECONDS):
        while wakeups.listener.up:
            await asyncio.sleep(0.01)

    assert not wakeups.listener.up
    await wakeups.close()


async def test_a_listener_that_is_stopped_while_it_hears_its_probe_ends(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    wakeups = Wakeups(database)
    monkeypatch.setattr(wakeups.listener, "_probe_heard", _StopsListener(wakeups))
    wakeups.listen()
    assert wakeups._listening is not None
    ended, _ = await asyncio.wait({wakeups._listening}, timeout=PATIENCE_SECONDS)
    await wakeups.close()

    assert ended


async def _is(condition: Callable[[], bool]) -> bool:
    return condition()


class _NeverHeard(asyncio.Event):
    def set(self) -> None:
        return


class _StopsListener(asyncio.Event):
    """Cancels the listener in the moment in which it hears its probe."""

    def __init__(self, wakeups: Wakeups) -> None:
        super().__init__()
        self._wakeups = wakeups

    async def wait(self) -> Literal[True]:
        await super().wait()
        assert self._wakeups._listening is not None
        self._wakeups._listening.cancel()
        return True
