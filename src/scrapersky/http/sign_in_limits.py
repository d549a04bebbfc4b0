"""Passwords cannot be tried out: after a few failures whoever tries has to wait, longer each time.

Counted for each name, whether there is somebody of that name or not, and for each address. As with
the other limits the counts stand in the process's memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from scrapersky.http.rate_limits import REMEMBERED, Recent

FREE_FOR_A_NAME = 5
FREE_FOR_AN_ADDRESS = 30
"""Behind one address there may be a whole office."""
FIRST_WAIT_SECONDS = 2.0
LONGEST_WAIT_SECONDS = 300.0
FORGOTTEN_AFTER_SECONDS = 3600.0


@dataclass
class Failures:
    """What somebody has tried in vain since they last succeeded."""

    free: int
    count: int = 0
    last: float = 0.0

    def seconds_to_wait(self, now: float) -> float:
        if now - self.last > FORGOTTEN_AFTER_SECONDS:
            self.count = 0
        beyond = self.count - self.free
        if beyond < 0:
            return 0
        wait = min(FIRST_WAIT_SECONDS * 2.0 ** min(beyond, 20), LONGEST_WAIT_SECONDS)
        return max(0, self.last + wait - now)

    def add(self, now: float) -> None:
        self.count, self.last = self.count + 1, now


class SignInLimits:
    """An attempt counts as failed from its beginning, so that many at once are no way around."""

    def __init__(self, *, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._names: Recent[Failures] = Recent(REMEMBERED)
        self._addresses: Recent[Failures] = Recent(REMEMBERED)

    def begin(self, name: str, address: str) -> int:
        """Counts an attempt; or says how many seconds there are to wait, and counts nothing."""
        tried, now = self._of(name, address), self._now()
        if wait := max(each.seconds_to_wait(now) for each in tried):
            return math.ceil(wait)
        for each in tried:
            each.add(now)
        return 0

    def succeed(self, name: str, address: str) -> None:
        """The name's failures are forgotten; of the address's, only that this was one."""
        of_name, of_address = self._of(name, address)
        of_name.count = 0
        of_address.count = max(0, of_address.count - 1)

    def _of(self, name: str, address: str) -> tuple[Failures, Failures]:
        of_name = self._names.get(name) or self._names.put(name, Failures(FREE_FOR_A_NAME))
        of_address = self._addresses.get(address) or self._addresses.put(
            address, Failures(FREE_FOR_AN_ADDRESS)
        )
        return of_name, of_address
