"""What a process knows of itself and no table tells: what it has counted, and how it is doing."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from scrapersky.pipeline.own_limits import OwnLimits
from scrapersky.pipeline.tables import EventKind
from scrapersky.pipeline.wake import Wakeups
from scrapersky.scraper.fetch_ends import FetchEnd


@dataclass(frozen=True)
class DatabaseClock:
    """The database's time at a moment of this process's monotonic clock.

    Times that others judge are told in the database's time. This machine's wall clock may be wrong
    or stepped, and then a healthy worker would look as if it had stopped.
    """

    epoch_seconds: float
    read_at: float = field(default_factory=monotonic)

    def convert(self, moment: float | None) -> float | None:
        """Convert a moment of the monotonic clock to seconds since the epoch."""
        return None if moment is None else self.epoch_seconds + moment - self.read_at


@dataclass
class Figures:
    """Counted since the process began."""

    fetches: Counter[FetchEnd] = field(default_factory=Counter)

    def count_fetch(self, end: FetchEnd) -> None:
        self.fetches[end] += 1


class Vitals:
    """How the process is doing; told with every heartbeat, so that others can judge it."""

    def __init__(self, wakeups: Wakeups, data_dir: Path, own_limits: OwnLimits) -> None:
        self._wakeups = wakeups
        self._own_limits = own_limits
        self._data_dir = data_dir
        self._deaf_since: float | None = None
        """Monotonic."""

    def read(self, clock: DatabaseClock) -> dict[str, Any]:
        return {
            "listener": self._listener(),
            "deaf_since": clock.convert(self._deaf_since),
            "disk_free_bytes": free_bytes(self._data_dir),
            "own_limits": self._own_limits.read(),
        }

    def _listener(self) -> str:
        """`off` where nobody listens, because the process works single rows for a person."""
        if not self._wakeups.is_listening:
            return "off"
        up = self._wakeups.listener.up
        self._deaf_since = None if up else self._deaf_since or monotonic()
        return "up" if up else "down"


def free_bytes(folder: Path) -> int | None:
    """Where the folder lies or would lie; None when that cannot be told."""
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
    """What one run of a stage came to."""

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
