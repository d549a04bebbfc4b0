"""What a process reports about itself: fetch counters, run reports and exhausted resources."""

from __future__ import annotations

import errno
import math
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any

from sqlalchemy.exc import TimeoutError as PoolTimeout

from scrapersky.db.outages import DISK_FULL, TOO_MANY_CONNECTIONS, get_sqlstate
from scrapersky.errors import LimitedResource, ResourceExhausted
from scrapersky.logging import get_logger
from scrapersky.pipeline.tables import EventKind
from scrapersky.pipeline.wake import Wakeups
from scrapersky.scraper.http.descriptors import EXHAUSTED_ERRNOS, build_exhausted_error
from scrapersky.scraper.http.fetch_outcomes import FetchOutcome

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
WAIT_SECONDS = 10.0
"""Delay of a row that hit one of our own limits, ±50 %.

The resource may become available at any moment. The jitter keeps the rows from exhausting it again
all together.
"""
RECENT_SECONDS = 300.0
"""How long an exhausted resource is reported to operators."""
LOG_EVERY_SECONDS = 60.0

log = get_logger(__name__)


def find_exhausted_resource(error: BaseException) -> ResourceExhausted | None:
    """Return which of our own limits an error indicates, if any."""
    for each in _iterate_causes(error):
        if resource := _classify_error(each):
            return resource
    return None


def _iterate_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes, each once.

    A chain of causes may be circular, as when a timeout is raised from a cancellation that was
    itself raised from the timeout.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__


def _classify_error(error: BaseException) -> ResourceExhausted | None:
    if isinstance(error, ResourceExhausted):
        return error
    if isinstance(error, PoolTimeout):
        return ResourceExhausted(
            LimitedResource.CONNECTIONS,
            "All database connections of this process were in use for 30 s. Raise "
            "DATABASE_POOL_SIZE, or lower the CONCURRENCY of stages.",
        )
    if get_sqlstate(error) == TOO_MANY_CONNECTIONS:
        return ResourceExhausted(
            LimitedResource.CONNECTIONS,
            "The database accepts no more connections. Raise its max_connections, or lower "
            "DATABASE_POOL_SIZE or the number of processes.",
        )
    if get_sqlstate(error) == DISK_FULL:
        return ResourceExhausted(
            LimitedResource.DISK, "The database's disk is full. Free some space on it."
        )
    if isinstance(error, OSError) and error.errno in EXHAUSTED_ERRNOS:
        return build_exhausted_error()
    if isinstance(error, OSError) and error.errno in NO_SPACE:
        return ResourceExhausted(
            LimitedResource.DISK, "The disk of this machine is full. Free some space on it."
        )
    return None


def get_retry_delay() -> timedelta:
    return timedelta(seconds=WAIT_SECONDS * random.uniform(0.5, 1.5))


class ResourceMonitor:
    """The limits that this process has reached recently, reported with every heartbeat."""

    def __init__(self) -> None:
        self._reached: dict[LimitedResource, tuple[float, str]] = {}
        self._logged: dict[LimitedResource, float] = {}

    def note(self, error: BaseException) -> ResourceExhausted | None:
        """Record the error if it indicates an exhausted resource.

        Each kind is logged at most once a minute.
        """
        limit = find_exhausted_resource(error)
        if limit is None:
            return None
        now = monotonic()
        self._reached[limit.limit] = (now, str(limit))
        if now - self._logged.get(limit.limit, -math.inf) >= LOG_EVERY_SECONDS:
            self._logged[limit.limit] = now
            log.error("resource exhausted", limit=limit.limit.value, problem=str(limit))
        return limit

    def read(self) -> dict[str, Any]:
        """Return the recently reached limits with their messages."""
        since = monotonic() - RECENT_SECONDS
        return {limit.value: text for limit, (at, text) in self._reached.items() if at > since}


@dataclass(frozen=True)
class DatabaseClock:
    """The database's time at a moment of this process's monotonic clock.

    Times that others evaluate are reported in the database's time. This machine's wall clock may be
    wrong or stepped, and a healthy worker would then look as if it had stopped.
    """

    epoch_seconds: float
    read_at: float = field(default_factory=monotonic)

    def convert(self, moment: float | None) -> float | None:
        """Convert a moment of the monotonic clock to seconds since the epoch."""
        return None if moment is None else self.epoch_seconds + moment - self.read_at


@dataclass
class FetchCounters:
    """Fetch outcomes counted since the process started."""

    fetches: Counter[FetchOutcome] = field(default_factory=Counter)

    def count_fetch(self, end: FetchOutcome) -> None:
        self.fetches[end] += 1


class WorkerVitals:
    """The state of this process, reported with every heartbeat so that others can evaluate it."""

    def __init__(self, wakeups: Wakeups, data_dir: Path, own_limits: ResourceMonitor) -> None:
        self._wakeups = wakeups
        self._own_limits = own_limits
        self._data_dir = data_dir
        self._listener_down_since: float | None = None
        """Monotonic time since when the listener has been down."""

    def read(self, clock: DatabaseClock) -> dict[str, Any]:
        return {
            "listener": self._get_listener_state(),
            "deaf_since": clock.convert(self._listener_down_since),
            "disk_free_bytes": get_free_bytes(self._data_dir),
            "own_limits": self._own_limits.read(),
        }

    def _get_listener_state(self) -> str:
        """Return `up`, `down` or `off`.

        `off` means that the process does not listen, because it works single rows on request.
        """
        if not self._wakeups.is_listening:
            return "off"
        up = self._wakeups.listener.up
        self._listener_down_since = None if up else self._listener_down_since or monotonic()
        return "up" if up else "down"


def get_free_bytes(folder: Path) -> int | None:
    """Return the free bytes of the disk that holds the folder; None if unknown.

    The folder need not exist yet: its nearest existing parent is used.
    """
    for place in (folder, *folder.parents):
        try:
            return shutil.disk_usage(place).free
        except FileNotFoundError:
            continue
        except OSError:
            return None
    return None


@dataclass
class RunReport:
    """The result of one run of a stage."""

    stage: str
    began: float = field(default_factory=monotonic)
    found: int = 0
    ended: Counter[EventKind] = field(default_factory=Counter)

    @property
    def succeeded(self) -> int:
        return self.ended[EventKind.COMPLETED] + self.ended[EventKind.SKIPPED]

    @property
    def failed(self) -> int:
        return self.ended[EventKind.FAILED]

    @property
    def retried(self) -> int:
        return self.ended[EventKind.RETRIED] + self.ended[EventKind.SNOOZED]

    def as_fields(self) -> dict[str, Any]:
        return {
            "stage": self.stage,
            "found": self.found,
            "succeeded": self.succeeded,
            "failed": self.failed,
            "retried": self.retried,
            "seconds": round(monotonic() - self.began, 3),
        }
