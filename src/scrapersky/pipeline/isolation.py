"""Work rows that were lost with their worker twice in a separate process, one at a time.

A worker that dies takes all its rows with it, and at most one of them is to blame. Worked alone,
the row that kills its worker identifies itself, and the others complete.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from sqlalchemy import exists, or_, select

from scrapersky.db.session import Database
from scrapersky.logging import get_logger
from scrapersky.pipeline.claims import get_statements
from scrapersky.pipeline.loop import StageRunner
from scrapersky.pipeline.stage import AnyStage
from scrapersky.settings import Settings

ISOLATED_WORKER_COMMAND: Sequence[str] = (
    sys.executable,
    "-m",
    "scrapersky",
    "worker",
    "--isolated",
)
STOP_SECONDS = 5.0
"""Time added to the child's own grace period before it is killed."""

log = get_logger(__name__)


class IsolatedWorker:
    """Starts a worker process for isolated rows when some are due, at most one at a time."""

    def __init__(self, database: Database, settings: Settings, stages: Sequence[AnyStage]) -> None:
        self._database = database
        self._settings = settings
        options = [option for each in stages for option in ("--stage", each.name)]
        self._command = (*ISOLATED_WORKER_COMMAND, *options)
        self._waiting = select(or_(*(_has_due_rows(each) for each in stages)))
        self._process: asyncio.subprocess.Process | None = None

    async def start_if_needed(self) -> None:
        if self._process is not None and self._process.returncode is None:
            return
        async with self._database.reading() as session:
            if not await session.scalar(self._waiting):
                return
        log.warning("starting an isolated worker for rows that were lost with their worker twice")
        # A new interpreter, not a fork: a crash in it, or the OOM killer, must not touch this
        # process, and a fork would inherit our connections and the state of the event loop.
        self._process = await asyncio.create_subprocess_exec(
            *self._command, env=self._settings.environ, stdin=asyncio.subprocess.DEVNULL
        )

    async def stop(self) -> None:
        """Ask the child to return its row, and kill it if it does not stop in time.

        The row of a killed child is rescued like that of any dead worker.
        """
        process = self._process
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.shutdown_grace_seconds + STOP_SECONDS):
                    await process.wait()
        finally:  # also when the caller ran out of time first
            with suppress(ProcessLookupError):
                process.kill()


def _has_due_rows(stage: AnyStage) -> exists:  # type: ignore[valid-type]
    claims = get_statements(stage)
    return exists().where(claims.is_due(), claims.is_isolated(), *claims.only(), ~claims.paused())


async def work_isolated_rows(runners: Sequence[StageRunner]) -> int:
    """Work the due isolated rows sequentially, and return their number."""
    worked = 0
    for runner in runners:
        while held := await runner.claim_isolated():
            await runner.begin(held)
            worked += 1
    return worked
