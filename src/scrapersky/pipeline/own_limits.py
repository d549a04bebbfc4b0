"""Tell our own limits from the faults of hosts and rows: descriptors, connections, disk space."""

from __future__ import annotations

import errno
import math
import random
from collections.abc import Iterator
from datetime import timedelta
from time import monotonic
from typing import Any

from sqlalchemy.exc import TimeoutError as PoolTimeout

from scrapersky.db.away import DISK_FULL, TOO_MANY_CONNECTIONS, sqlstate_of
from scrapersky.errors import OwnLimit, OwnLimitReached
from scrapersky.logging import get_logger
from scrapersky.scraper.descriptors import EXHAUSTED, out_of_descriptors

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
WAIT_SECONDS = 10.0
"""A row that met a limit of ours is due again after this, give or take half: room may come back
any moment, and all of them together must not use it up at once."""
RECENT_SECONDS = 300.0
"""For so long a limit that was reached is told to operators."""
LOG_EVERY_SECONDS = 60.0

log = get_logger(__name__)


def find_own_limit(error: BaseException) -> OwnLimitReached | None:
    """Which of our own limits an error means, if it means one."""
    for each in _causes(error):
        if found := _own_limit(each):
            return found
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes, each once: a chain of causes may be circular, as when a
    timeout is raised from a cancellation that was itself raised from the timeout."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__


def _own_limit(error: BaseException) -> OwnLimitReached | None:
    if isinstance(error, OwnLimitReached):
        return error
    if isinstance(error, PoolTimeout):
        return OwnLimitReached(
            OwnLimit.CONNECTIONS,
            "All database connections of this process were in use for 30 s. Raise "
            "DATABASE_POOL_SIZE, or lower the CONCURRENCY of stages.",
        )
    if sqlstate_of(error) == TOO_MANY_CONNECTIONS:
        return OwnLimitReached(
            OwnLimit.CONNECTIONS,
            "The database takes no more connections. Raise its max_connections, or lower "
            "DATABASE_POOL_SIZE or the number of processes.",
        )
    if sqlstate_of(error) == DISK_FULL:
        return OwnLimitReached(OwnLimit.DISK, "The database's disk is full. Make room on it.")
    if isinstance(error, OSError) and error.errno in EXHAUSTED:
        return out_of_descriptors()
    if isinstance(error, OSError) and error.errno in NO_SPACE:
        return OwnLimitReached(OwnLimit.DISK, "The disk of this machine is full. Make room on it.")
    return None


def get_wait() -> timedelta:
    return timedelta(seconds=WAIT_SECONDS * random.uniform(0.5, 1.5))


class OwnLimits:
    """The limits that this process has reached lately; told with every heartbeat."""

    def __init__(self) -> None:
        self._reached: dict[OwnLimit, tuple[float, str]] = {}
        self._logged: dict[OwnLimit, float] = {}

    def note(self, error: BaseException) -> OwnLimitReached | None:
        """Remember it if it is one; the log tells of each kind once a minute."""
        found = find_own_limit(error)
        if found is None:
            return None
        now = monotonic()
        self._reached[found.limit] = (now, str(found))
        if now - self._logged.get(found.limit, -math.inf) >= LOG_EVERY_SECONDS:
            self._logged[found.limit] = now
            log.error("own limit reached", limit=found.limit.value, problem=str(found))
        return found

    def read(self) -> dict[str, Any]:
        """Sentences by limit, of those reached lately."""
        since = monotonic() - RECENT_SECONDS
        return {limit.value: text for limit, (at, text) in self._reached.items() if at > since}
