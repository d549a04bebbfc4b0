"""Virtual time that advances only while all tasks wait, so that waits can be measured exactly."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _LeapingSelector(selectors.DefaultSelector):
    """Lets the time pass at once that it was to wait for."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += max(timeout or 0.0, 0.0)
        return super().select(0)


class _LeapingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._leaping = _LeapingSelector()
        super().__init__(self._leaping)

    def time(self) -> float:
        return self._leaping.now


def in_virtual_time(story: Coroutine[Any, Any, T]) -> T:
    """Run the story on a clock that starts at nought and stands still while there is work."""
    with asyncio.Runner(loop_factory=_LeapingLoop) as runner:
        return runner.run(story)


def now() -> float:
    return round(asyncio.get_running_loop().time(), 6)
