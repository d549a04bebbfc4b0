"""The product's worker with faults on command: `python -m tests.chaos.worker`.

Files in the folder that CHAOS_FAULTS names command them. They strike between a request's turn at
its host and its sending, whatever the gate is made of.

- `freeze`: the next process to ask a site takes the file away, says in `frozen` who and where it
  is, and stops itself.
- `poison`: the next site that is asked becomes poison, and its name the file's content. As long as
  the file is there, whoever asks that site dies.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapersky.cli import main
from scrapersky.pipeline import isolation
from scrapersky.scraper.http.fetch import Fetcher

DYING_SECONDS = 0.2
"""So that the neighbours of a poison row are under way, and lost with it."""
FOLDER = Path(os.environ["CHAOS_FAULTS"])

isolation.ISOLATED_WORKER_COMMAND = (sys.executable, "-m", "tests.chaos.worker", "--isolated")
_send = Fetcher._send


async def _send_faultily(self: Fetcher, url: str, *arguments: Any) -> Any:
    host = urlsplit(url).hostname or ""
    if host.startswith("site"):
        _freeze_on_command(host)
        if _is_poison(host):
            await asyncio.sleep(DYING_SECONDS)
            sys.stderr.write(f"Killed by the poison of {host}.\n")
            sys.stderr.flush()
            with (FOLDER / "poisoned").open("a") as deaths:
                deaths.write(f"{os.getpid()}\n")
            os.kill(os.getpid(), signal.SIGKILL)
    return await _send(self, url, *arguments)


def _freeze_on_command(host: str) -> None:
    try:
        (FOLDER / "freeze").rename(FOLDER / f"freezing-{os.getpid()}")
    except FileNotFoundError:
        return
    (FOLDER / f"freezing-{os.getpid()}").write_text(f"{os.getpid()} {host}")
    (FOLDER / f"freezing-{os.getpid()}").rename(FOLDER / "frozen")
    os.kill(os.getpid(), signal.SIGSTOP)


def _is_poison(host: str) -> bool:
    try:
        with (FOLDER / "poison").open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            named = file.read()
            if not named:
                file.write(host)
            return named in ("", host)
    except FileNotFoundError:
        return False


Fetcher._send = _send_faultily  # type: ignore[assignment, method-assign]

if __name__ == "__main__":
    sys.argv = [sys.argv[0], "worker", *sys.argv[1:]]
    main()
