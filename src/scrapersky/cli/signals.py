"""Stop on SIGINT, SIGTERM and SIGHUP: the first asks for an orderly stop, the second exits now."""

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
"""`timeout` and some shells send a signal to the process and to its group: that is one wish."""
EXIT_SLACK_SECONDS = 10.0
"""Beyond the grace, for everything that is closed after the work. Whatever hangs then (a half-open
connection, a thread) is left behind."""
SHOW_CURSOR = "\x1b[?25h"


@contextmanager
def handle_stop_signals(
    stop: Callable[[], object], *, within: float | None = None
) -> Iterator[None]:
    """For as long as the block lasts; needs a running loop.

    `within` is the grace in seconds of a service: a process that has not ended by itself a few
    seconds after it is ended by a timer of its own thread, which no hanging await holds up.
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
    """End the process after so many seconds, whatever hangs by then."""

    def end() -> None:
        sys.stderr.write(f"Did not stop within {seconds:g} s; ended. Its rows will be rescued.\n")
        sys.stderr.flush()
        os._exit(ExitCode.FAILED)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def _is_ignored(number: signal.Signals) -> bool:
    """`nohup` has us ignore the terminal's end, and that shall stay so."""
    return number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN


def _exit_now(number: signal.Signals) -> None:
    """As `kill -9` would, which nothing of ours minds; but the terminal gets its cursor back."""
    if sys.stderr.isatty():
        sys.stderr.write(SHOW_CURSOR)
        sys.stderr.flush()
    os._exit(128 + number)
