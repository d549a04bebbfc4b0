"""Compute charts as numbers; templates draw them as SVG and repeat them as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from scrapersky.models import Job
from scrapersky.sitemaps.outcome import CHANGES_KEY, get_changes
from scrapersky.sitemaps.rescans import ScanChanges

BAR_WIDTH, BAR_GAP = 8.0, 2.0
"""In SVG units; the drawing is scaled to the available width."""
CHART_HEIGHT = 100.0
COLOUR_COUNT = 8
"""Number of colours in the stylesheet; further series start over with the first."""
AXIS_STEPS = (2, 4, 6, 8, 10)


@dataclass(frozen=True)
class Series:
    """Values of one series, oldest first."""

    name: str
    title: str
    values: tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.values)


@dataclass(frozen=True)
class BarSegment:
    x: float
    y: float
    width: float
    height: float
    colour: int


@dataclass(frozen=True)
class BarColumn:
    """All bars at one position of the axis."""

    x: float
    says: str
    bars: tuple[BarSegment, ...]


@dataclass(frozen=True)
class StackedBars:
    width: float
    height: float
    columns: tuple[BarColumn, ...]
    ticks: tuple[int, ...]
    """Labels of the y axis, from top to bottom."""

    @property
    def column_width(self) -> float:
        return BAR_WIDTH + BAR_GAP


def build_stacked_bars(series: Sequence[Series], labels: Sequence[str]) -> StackedBars:
    """Build a stacked bar chart; `labels` name the positions of the axis: "10 min ago"."""
    sums = [sum(column) for column in zip(*(each.values for each in series), strict=True)]
    top = get_axis_maximum(max(sums, default=0))
    columns = tuple(_build_column(place, label, series, top) for place, label in enumerate(labels))
    width = max(len(labels), 1) * (BAR_WIDTH + BAR_GAP)
    return StackedBars(width, CHART_HEIGHT, columns, ticks=(top, top // 2, 0))


def get_axis_maximum(highest: int) -> int:
    """Return the next even, round number: `37` → `40`."""
    size = 1
    while highest > AXIS_STEPS[-1] * size:
        size *= 10
    return next(step * size for step in AXIS_STEPS if step * size >= max(highest, AXIS_STEPS[1]))


def _build_column(place: int, label: str, series: Sequence[Series], top: int) -> BarColumn:
    x = place * (BAR_WIDTH + BAR_GAP)
    bars, low = [], CHART_HEIGHT
    for number, each in enumerate(series):
        height = each.values[place] / top * CHART_HEIGHT
        low -= height
        if height:
            shape = (round(x + BAR_GAP / 2, 2), round(low, 2), BAR_WIDTH, round(height, 2))
            bars.append(BarSegment(*shape, colour=number % COLOUR_COUNT))
    return BarColumn(x, _describe_column(place, label, series), tuple(bars))


def _describe_column(place: int, label: str, series: Sequence[Series]) -> str:
    parts = [f"{each.title} {each.values[place]:,}" for each in series if each.values[place]]
    return f"{label}: {', '.join(parts) or 'nothing'}"


CHANGE_CHART_HEIGHT = 110
CHANGE_CHART_WIDTH = 640
CHANGE_BAR_GAP = 4
MAX_CHANGE_BAR_WIDTH = 40


@dataclass(frozen=True)
class ChangeBar:
    """One segment of a bar, in SVG units."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    at: datetime
    count: int


@dataclass(frozen=True)
class ChangeChart:
    bars: tuple[ChangeBar, ...]
    looks: int
    total: ScanChanges
    width: int = CHANGE_CHART_WIDTH
    height: int = CHANGE_CHART_HEIGHT


def build_change_chart(newest_first: Sequence[Job]) -> ChangeChart | None:
    """Build the chart of changes per scan; None if no scan has finished."""
    looks = [each for each in reversed(newest_first) if CHANGES_KEY in (each.result_data or {})]
    if not looks:
        return None
    total = ScanChanges()
    for each in looks:
        total = total.plus(get_changes(each))
    return ChangeChart(tuple(_iter_change_bars(looks)), len(looks), total)


def _iter_change_bars(looks: Sequence[Job]) -> Iterator[ChangeBar]:
    step = min(CHANGE_CHART_WIDTH / len(looks), MAX_CHANGE_BAR_WIDTH + CHANGE_BAR_GAP)
    highest = max(sum(vars(get_changes(each)).values()) for each in looks) or 1
    for place, job in enumerate(looks):
        floor = float(CHANGE_CHART_HEIGHT)
        for kind, count in vars(get_changes(job)).items():
            height = CHANGE_CHART_HEIGHT * count / highest
            floor -= height
            if count:
                x, width = place * step, max(step - CHANGE_BAR_GAP, 1)
                yield ChangeBar(
                    kind, x, floor, width, height, job.finished_at or job.created_at, count
                )
