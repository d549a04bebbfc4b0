"""The worker of the no-op stage as a program of its own: `python -m tests.noop_worker`.

It is the product's worker with another stage. Its environment says what the rows do: POISON_ROW
kills whichever process works it, and with HOLD_FILE work ends only once that file exists.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from scrapersky.cli import worker
from scrapersky.cli.errors import run_command
from scrapersky.cli.session import run_service
from scrapersky.logging import configure_logging
from scrapersky.pipeline import isolation
from scrapersky.pipeline.stage import Tools
from scrapersky.settings import load_settings
from tests.noop import NOOP

isolation.ISOLATED_WORKER_COMMAND = (sys.executable, "-m", "tests.noop_worker", "--isolated")


async def _work(item: UUID, tools: Tools) -> UUID:
    hold = os.environ.get("HOLD_FILE")
    while hold and not Path(hold).exists():
        await asyncio.sleep(0.05)
    if str(item) == os.environ.get("POISON_ROW"):
        # Only once its neighbours are under way too, so that they are lost with it.
        await asyncio.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    await asyncio.sleep(0.3)
    return item


def main() -> int:
    settings = load_settings()
    configure_logging(level=settings.log_level, style=settings.log_format)
    run = worker._run_isolated_worker if "--isolated" in sys.argv else worker._run_worker
    return run_service(run(settings, [replace(NOOP, work=_work)]))


if __name__ == "__main__":
    sys.exit(run_command(main))
