"""The server's log, a file in the data folder that does not grow without end."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

LARGEST_LOG = 10 * 1024 * 1024
"""Beyond this the log becomes `postgres.log.1` at the next acquire, and begins anew."""

TAIL_BYTES = 16 * 1024


START = "=== started by process"
"""Our own line before each start, which tells one run from the one before."""


def open_log(path: Path) -> int:
    """Opened for appending only, so that it can be emptied while the server writes to it."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(path, flags, 0o600)
    os.write(fd, f"{START} {os.getpid()}\n".encode())
    return fd


def trim_log(path: Path) -> None:
    if not path.is_file() or path.stat().st_size <= LARGEST_LOG:
        return
    shutil.copyfile(path, older_log(path))
    os.truncate(path, 0)


def older_log(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")


def last_run(path: Path) -> list[str]:
    """The lines since the server last began to start, as far as the end of the file tells."""
    lines = _tail(path)
    begins = [n for n, line in enumerate(lines) if line.startswith(START)]
    return lines[begins[-1] + 1 :] if begins else lines


def _tail(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            return file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []
