"""When to look at a site again: sooner if it changes, later if it does not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from scrapersky.settings import Settings

SOONER, LATER = 0.35, 1.35
"""A change cuts the wait to a third, a look in vain adds a third: of the pairs tried on ninety
virtual days (`python -m benchmarks.rescans`) one of those that stay fresh with few looks."""
LONGEST_AFTER_FAILURES = timedelta(days=30)


@dataclass(frozen=True)
class Changes:
    """What a scan found to differ from the one before."""

    added: int = 0
    changed: int = 0
    gone: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.gone)

    def __str__(self) -> str:
        return f"{self.added:,} new, {self.changed:,} changed, {self.gone:,} gone"

    def plus(self, other: Changes) -> Changes:
        return Changes(
            self.added + other.added, self.changed + other.changed, self.gone + other.gone
        )


@dataclass(frozen=True)
class Rhythm:
    """How often sites are looked at, as the settings have it."""

    first: timedelta
    shortest: timedelta
    longest: timedelta

    @classmethod
    def of(cls, settings: Settings) -> Rhythm:
        return cls(
            first=settings.rescan_interval,
            shortest=timedelta(hours=settings.sitemap_rescan_min_hours),
            longest=timedelta(hours=settings.sitemap_rescan_max_hours),
        )

    def after_first_look(self) -> tuple[timedelta, str]:
        return self.first, f"Next look in {spoken(self.first)}, as after every first look."

    def after_look(self, previous: timedelta, changes: Changes) -> tuple[timedelta, str]:
        """The next wait, and why."""
        wait = min(max(previous * (SOONER if changes else LATER), self.shortest), self.longest)
        reason = f"the last look found changes ({changes})" if changes else "nothing had changed"
        return wait, f"Next look in {spoken(wait)} because {reason}."


def after_failure(previous: timedelta, failures: int) -> tuple[timedelta, str]:
    """Each failure in a row doubles the wait, up to a month."""
    wait = min(previous * 2.0 ** min(failures, 20), LONGEST_AFTER_FAILURES)
    times = "once" if failures == 1 else f"{failures} times in a row"
    return wait, f"Next look in {spoken(wait)} because the scan failed {times}."


def spoken(wait: timedelta) -> str:
    hours = wait / timedelta(hours=1)
    return f"{hours:.0f} hours" if hours < 48 else f"{hours / 24:.1f} days".replace(".0 ", " ")
