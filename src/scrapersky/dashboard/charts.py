"""Charts as numbers for a template: it draws them as SVG, and the same numbers stand as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BAR, GAP = 8.0, 2.0
"""In units of the drawing, which is stretched to the room it has."""
HEIGHT = 100.0
COLOURS = 8
"""So many are told apart by the styles; a further series begins with the first again."""
STEPS = (2, 4, 6, 8, 10)


@dataclass(frozen=True)
class Series:
    """One thing's numbers, from the oldest to the newest."""

    name: str
    title: str
    values: tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.values)


@dataclass(frozen=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    colour: int


@dataclass(frozen=True)
class Column:
    """All that stands above one place of the axis."""

    x: float
    says: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class StackedBars:
    width: float
    height: float
    columns: tuple[Column, ...]
    ticks: tuple[int, ...]
    """What the heights mean, from the top down."""

    @property
    def column_width(self) -> float:
        return BAR + GAP


def stacked_bars(series: Sequence[Series], labels: Sequence[str]) -> StackedBars:
    """`labels` name the places of the axis: "10 min ago"."""
    sums = [sum(column) for column in zip(*(each.values for each in series), strict=True)]
    top = axis_top(max(sums, default=0))
    columns = tuple(_column(place, label, series, top) for place, label in enumerate(labels))
    width = max(len(labels), 1) * (BAR + GAP)
    return StackedBars(width, HEIGHT, columns, ticks=(top, top // 2, 0))


def axis_top(highest: int) -> int:
    """An even, round number that is not lower: `37` → `40`."""
    size = 1
    while highest > STEPS[-1] * size:
        size *= 10
    return next(step * size for step in STEPS if step * size >= max(highest, STEPS[1]))


def _column(place: int, label: str, series: Sequence[Series], top: int) -> Column:
    x = place * (BAR + GAP)
    bars, low = [], HEIGHT
    for number, each in enumerate(series):
        height = each.values[place] / top * HEIGHT
        low -= height
        if height:
            shape = (round(x + GAP / 2, 2), round(low, 2), BAR, round(height, 2))
            bars.append(Bar(*shape, colour=number % COLOURS))
    return Column(x, _says(place, label, series), tuple(bars))


def _says(place: int, label: str, series: Sequence[Series]) -> str:
    parts = [f"{each.title} {each.values[place]:,}" for each in series if each.values[place]]
    return f"{label}: {', '.join(parts) or 'nothing'}"
