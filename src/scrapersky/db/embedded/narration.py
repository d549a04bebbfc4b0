"""Say what is being waited for: not at once, and not too often."""

from __future__ import annotations

import time
from collections.abc import Callable

FIRST_AFTER_SECONDS = 2.0
EVERY_SECONDS = 5.0


class Narrator:
    """Passes sentences on to whoever listens, at most one every few seconds."""

    def __init__(self, say: Callable[[str], None] | None) -> None:
        self._say = say or (lambda sentence: None)
        self._next = time.monotonic() + FIRST_AFTER_SECONDS

    def tell(self, sentence: str) -> None:
        """Something that happens once; always passed on."""
        self._say(sentence)

    def waiting(self, sentence: str) -> None:
        """Something that goes on; call it as often as you like."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + EVERY_SECONDS
            self._say(sentence)
