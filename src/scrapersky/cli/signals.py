"""Handle SIGINT, SIGTERM and SIGHUP: the first stops gracefully, the second exits immediately."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from scrapersky.cli.errors import ExitCode

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIGNAL_DEBOUNCE_SECONDS = 0.5
"""`timeout` and some shells signal the process and its group; both signals count as one."""
EXIT_SLACK_SECONDS = 10.0
"""Added to the grace period for closing resources. Anything that still hangs then (a half-open
connection, a thread) is abandoned.
"""
SHOW_CURSOR = "\x1b[?25h"


@contextmanager
def handle_stop_signals(
    stop: Callable[[], object], *, within: float | None = None
) -> Iterator[None]:
    """Handle stop signals while the block runs; needs a running event loop.

    `within` is the grace period of a service in seconds. A timer thread ends a process that has not
    exited a few seconds after it; no hanging await can block that thread.
    """
    first: float | None = None

    def catch(number: signal.Signals) -> None:
        nonlocal first
        if first is None:
            first = monotonic()
            if within is not None:
                exit_after(within + EXIT_SLACK_SECONDS)
            stop()
        elif monotonic() - first > SIGNAL_DEBOUNCE_SECONDS:
            _exit_now(number)

    loop = asyncio.get_running_loop()
    minded = [each for each in STOP_SIGNALS if not _is_ignored(each)]
    for each in minded:
        loop.add_signal_handler(each, catch, each)
    try:
        yield
    finally:
        for each in minded:
            loop.remove_signal_handler(each)


async def wait_for_first(*events: asyncio.Event) -> None:
    """Wait until one of the events is set."""
    tasks = [asyncio.create_task(each.wait()) for each in events]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def exit_after(seconds: float) -> None:
    """Force the process to exit after this time, even if something hangs."""

    def end() -> None:
        sys.stderr.write(
            f"Not stopped within {seconds:g} s; exiting. Unfinished rows will be rescued.\n"
        )
        sys.stderr.flush()
        os._exit(ExitCode.FAILED)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def _is_ignored(number: signal.Signals) -> bool:
    """Return whether `nohup` set SIGHUP to be ignored; that must stay so."""
    return number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN


def _exit_now(number: signal.Signals) -> None:
    """Exit like `kill -9`, which is always safe, but restore the terminal's cursor."""
    if sys.stderr.isatty():
        sys.stderr.write(SHOW_CURSOR)
        sys.stderr.flush()
    os._exit(128 + number)
