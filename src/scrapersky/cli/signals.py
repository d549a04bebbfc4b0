"""Ctrl-C, `kill`, a closed terminal: the first asks for an orderly end, the second ends at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SAME_SIGNAL_SECONDS = 0.5
"""`timeout` and some shells send a signal to the process and to its group: that is one wish."""
SHOW_CURSOR = "\x1b[?25h"


@contextmanager
def stopping_on_signals(stop: Callable[[], object]) -> Iterator[None]:
    """For as long as the block lasts; needs a running loop."""
    first: float | None = None

    def catch(number: signal.Signals) -> None:
        nonlocal first
        if first is None:
            first = monotonic()
            stop()
        elif monotonic() - first > SAME_SIGNAL_SECONDS:
            _end_at_once(number)

    loop = asyncio.get_running_loop()
    minded = [each for each in SIGNALS if not _is_not_for_us(each)]
    for each in minded:
        loop.add_signal_handler(each, catch, each)
    try:
        yield
    finally:
        for each in minded:
            loop.remove_signal_handler(each)


def _is_not_for_us(number: signal.Signals) -> bool:
    """`nohup` has us ignore the terminal's end, and that shall stay so."""
    return number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN


def _end_at_once(number: signal.Signals) -> None:
    """As `kill -9` would, which nothing of ours minds; but the terminal gets its cursor back."""
    if sys.stderr.isatty():
        sys.stderr.write(SHOW_CURSOR)
        sys.stderr.flush()
    os._exit(128 + number)
