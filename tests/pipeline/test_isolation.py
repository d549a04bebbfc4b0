"""The process for isolated rows exits with its parent, whatever keeps the parent from finishing."""

from __future__ import annotations

import asyncio
import sys

import pytest
from sqlalchemy import update

from scrapersky.db.session import Database
from scrapersky.pipeline import isolation
from scrapersky.pipeline.engine import Engine
from scrapersky.pipeline.wake import Wakeups
from scrapersky.pipeline.workers import WorkerIdentity
from tests.conftest import make_settings
from tests.noop import NOOP, NoopRow
from tests.stage_cases import prepare


async def test_an_engine_whose_rows_cannot_finish_still_ends_its_isolated_process(
    database: Database, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hang = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    monkeypatch.setattr(isolation, "ISOLATED_WORKER_COMMAND", (sys.executable, "-c", hang))
    await prepare(database)
    async with database.transaction() as session:
        session.add(NoopRow(status="queued"))
        await session.flush()
        await session.execute(update(NoopRow).values(rescues=2))
    wakeups = Wakeups(database)
    engine = Engine(
        database,
        make_settings(url),
        [NOOP],
        wakeups=wakeups,
        fetch=None,  # type: ignore[arg-type]
        worker=WorkerIdentity(),
        isolates=True,
    )

    async def never_finish(grace: float) -> int:
        await asyncio.Event().wait()
        return 0

    monkeypatch.setattr(engine.runner("noop"), "finish", never_finish)
    isolated = engine._isolated
    assert isolated is not None
    await isolated.start_if_needed()
    process = isolated._process
    assert process is not None
    assert process.returncode is None

    await engine.stop()
    await wakeups.close()

    async with asyncio.timeout(60):
        assert await process.wait() != 0
