"""Ctrl-C and `kill` end the demo as its own end would: nothing is left behind."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def cancelled_by_signals(task: asyncio.Task[Any]) -> Iterator[list[signal.Signals]]:
    """The first signal cancels the task; later ones must not disturb it while it clears up."""
    caught: list[signal.Signals] = []

    def catch(number: signal.Signals) -> None:
        if not caught:
            task.cancel()
        caught.append(number)

    loop = asyncio.get_running_loop()
    before = {each: signal.getsignal(each) for each in SIGNALS}
    for each in SIGNALS:
        loop.add_signal_handler(each, catch, each)
    try:
        yield caught
    finally:
        for each, handler in before.items():
            loop.remove_signal_handler(each)
            signal.signal(each, handler)
