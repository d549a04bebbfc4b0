"""Functions for the parser pool that behave like hostile pages."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

BIG = 64 * 1024 * 1024


def get_pid() -> int:
    return os.getpid()


def get_modules() -> frozenset[str]:
    return frozenset(sys.modules)


def get_environment() -> dict[str, str]:
    return dict(os.environ)


def echo(value: str) -> str:
    os.write(1, b"a library that prints\n")
    return value


def fail(message: str) -> None:
    raise ValueError(message)


def hang() -> NoReturn:
    while True:
        time.sleep(3600)


def hang_after(note: str) -> None:
    """Write the process's id to a file, then hang."""
    Path(note).write_text(str(os.getpid()))
    hang()


def wait_for(path: str, value: str) -> str:
    """Return the value once the file exists."""
    while not Path(path).exists():
        time.sleep(0.02)
    return value


def eat_memory() -> NoReturn:
    eaten = []
    while True:
        eaten.append(bytes(BIG))


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
