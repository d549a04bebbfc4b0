"""Ninety virtual days of looking at sites with different habits: freshness against looks spent.

python -m benchmarks.rescans
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from scrapersky.settings import SettingsSource, load_settings
from scrapersky.sitemaps.rescans import RescanPolicy, ScanChanges

DAYS = 90
DAY = timedelta(days=1)
Wait = Callable[[timedelta, bool], timedelta]
"""From the last wait, and whether that look found a change, to the next wait."""


@dataclass(frozen=True)
class Habit:
    """When a site changes, in days from the start."""

    name: str
    changes: tuple[float, ...]


@dataclass(frozen=True)
class Outcome:
    looks: int
    fresh: float
    """The part of the time in which what we have is what the site has."""


def habits(seed: int = 1) -> list[Habit]:
    rng = random.Random(seed)
    weekly = tuple(7 * week + rng.uniform(0, 7) for week in range(DAYS // 7))
    bursts = tuple(sorted(start + rng.uniform(0, 4) for start in (10, 45, 80) for _ in range(12)))
    return [
        Habit("never", ()),
        Habit("daily", tuple(day + rng.random() for day in range(DAYS))),
        Habit("weekly", weekly),
        Habit("bursts", bursts),
        Habit("once, then silence", (3.0,)),
    ]


def simulate(habit: Habit, wait_after: Wait, first: timedelta) -> Outcome:
    """Look at the start, then after every wait; count the time during which we were up to date."""
    looks, fresh, now, wait = 1, 0.0, 0.0, first
    while now < DAYS:
        upcoming = min(now + wait / DAY, float(DAYS))
        missed = [each for each in habit.changes if now < each <= upcoming]
        fresh += (missed[0] if missed else upcoming) - now
        now = upcoming
        if now < DAYS:
            looks += 1
            wait = wait_after(wait, bool(missed))
    return Outcome(looks, fresh / DAYS)


def policies() -> Iterator[tuple[str, Wait, timedelta]]:
    rhythm = RescanPolicy.of(load_settings(SettingsSource(environ={}, env_file=None)))

    def adaptive(wait: timedelta, changed: bool) -> timedelta:
        return rhythm.get_next_interval(wait, ScanChanges(added=int(changed)))[0]

    yield "adaptive", adaptive, rhythm.first
    for days in (1, 7, 30):
        yield f"every {days} d", (lambda wait, _: wait), days * DAY


def rows() -> Iterator[Sequence[str]]:
    for habit in habits():
        found = [simulate(habit, wait, first) for _, wait, first in policies()]
        yield [habit.name, *(f"{each.looks:4d}  {each.fresh:6.1%}" for each in found)]


def main() -> int:
    titles = ["looks, time fresh", *(name for name, _, _ in policies())]
    for row in [titles, *rows()]:
        sys.stdout.write("".join(f"{cell:>20}" for cell in row) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
