"""Bars of what each look at a site found new, changed and gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from scrapersky.models import Job
from scrapersky.sitemaps.outcome import CHANGES, noted_changes
from scrapersky.sitemaps.pacing import Changes

HEIGHT = 110
WIDTH = 640
GAP = 4
WIDEST = 40


@dataclass(frozen=True)
class Bar:
    """One part of a column, in the picture's own units."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    at: datetime
    count: int


@dataclass(frozen=True)
class ChangeChart:
    bars: tuple[Bar, ...]
    looks: int
    total: Changes
    width: int = WIDTH
    height: int = HEIGHT


def change_chart(newest_first: Sequence[Job]) -> ChangeChart | None:
    """Nothing for a site of which no look has ended yet."""
    looks = [each for each in reversed(newest_first) if CHANGES in (each.result_data or {})]
    if not looks:
        return None
    total = Changes()
    for each in looks:
        total = total.plus(noted_changes(each))
    return ChangeChart(tuple(_bars(looks)), len(looks), total)


def _bars(looks: Sequence[Job]) -> Iterator[Bar]:
    step = min(WIDTH / len(looks), WIDEST + GAP)
    highest = max(sum(vars(noted_changes(each)).values()) for each in looks) or 1
    for place, job in enumerate(looks):
        floor = float(HEIGHT)
        for kind, count in vars(noted_changes(job)).items():
            height = HEIGHT * count / highest
            floor -= height
            if count:
                x, width = place * step, max(step - GAP, 1)
                yield Bar(kind, x, floor, width, height, job.finished_at or job.created_at, count)
