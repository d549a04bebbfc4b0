"""How a stage runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any

from scrapersky.errors import SettingsError

LARGEST = 1_000_000_000
"""For numbers of seconds, hours and rows; beyond it times are none that a calendar has."""


@dataclass(frozen=True)
class Pace:
    """How a stage runs: seven settings under its prefix, e.g. SITEMAP_SCHEDULER_BATCH_SIZE."""

    interval_minutes: float = 1
    """Time between two ticks; a wake-up does not wait for the next one."""
    batch_size: int = 10
    """Rows one claim takes at most."""
    max_instances: int = 1
    """Runs of the stage at once in a process."""
    concurrency: int = 8
    """Rows a process works at once, whatever ticks and wake-ups come."""
    timeout_seconds: float = 60
    """Work that takes longer is ended, and counts as failed."""
    max_attempts: int = 5
    """After so many the row is failed and a dead letter is written."""
    high_water: int = 10_000
    """When so many rows wait for it, the stages that feed it claim no more; they go on at 70 %."""

    @property
    def timeout(self) -> timedelta:
        return timedelta(seconds=self.timeout_seconds)


def pace_in(environ: Mapping[str, str], prefix: str, default: Pace) -> Pace:
    """The stage's pace: its own defaults, changed by what the environment says."""
    given: dict[str, Any] = {}
    for each in fields(Pace):
        variable = f"{prefix}_{each.name.upper()}"
        if text := environ.get(variable, "").strip():
            given[each.name] = _positive_number(variable, text, whole=each.type == "int")
    return replace(default, **given)


def _positive_number(variable: str, text: str, *, whole: bool) -> float:
    kind = "whole number" if whole else "number"
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        raise SettingsError(f"{variable} cannot be {text!r}: a {kind} is wanted.") from None
    if number <= 0:
        raise SettingsError(f"{variable} cannot be {text}: it must be above zero.")
    if not number <= LARGEST:
        raise SettingsError(f"{variable} cannot be {text}: the most is {LARGEST:,}.")
    return number
