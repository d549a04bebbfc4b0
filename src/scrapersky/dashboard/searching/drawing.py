"""A map as numbers for a template: parts of an area and points in it, drawn as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scrapersky.scraper.providers.geography import KM_PER_DEGREE, centre, width_degrees
from scrapersky.scraper.providers.model import Area

LONGER_SIDE = 1000.0
"""In units of the drawing."""
NARROWEST = 120.0
BAR_SHARE = 0.3
"""Of the map's width that the bar with its scale takes at most."""
STEPS = (5, 2, 1)


@dataclass(frozen=True)
class ScaleBar:
    length: float
    says: str


@dataclass(frozen=True)
class Projection:
    """Degrees to units: true to shape in the middle of the area, north is up."""

    area: Area
    units: float
    """Per degree of latitude."""
    narrowing: float
    """How much shorter a degree of longitude is here."""

    @classmethod
    def of(cls, area: Area) -> Projection:
        narrowing = max(math.cos(math.radians(centre(area).latitude)), 0.01)
        high, wide = area.north - area.south, width_degrees(area) * narrowing
        return cls(area, LONGER_SIDE / max(high, wide, 1e-9), narrowing)

    @property
    def width(self) -> float:
        return max(round(self._wide(width_degrees(self.area)), 1), NARROWEST)

    @property
    def height(self) -> float:
        return max(round((self.area.north - self.area.south) * self.units, 1), NARROWEST)

    def _wide(self, degrees: float) -> float:
        return degrees * self.narrowing * self.units

    def x(self, longitude: float) -> float:
        """Also across the date line."""
        east = (longitude - self.area.west + 180) % 360 - 180
        return round(self._wide(east), 1)

    def y(self, latitude: float) -> float:
        return round((self.area.north - latitude) * self.units, 1)

    def rectangle(self, part: Area) -> str:
        """As a step of an SVG path."""
        left, top = self.x(part.west), self.y(part.north)
        wide = round(self._wide(width_degrees(part)), 1)
        high = round(self.y(part.south) - top, 1)
        return f"M{left:g} {top:g}h{wide:g}v{high:g}h{-wide:g}z"

    def point(self, latitude: float, longitude: float) -> str:
        """A line without length: with round ends it is a dot."""
        return f"M{self.x(longitude):g} {self.y(latitude):g}h0"

    @property
    def scale_bar(self) -> ScaleBar:
        units_per_km = self.units / KM_PER_DEGREE
        km = rounded_down(self.width * BAR_SHARE / units_per_km)
        says = f"{km:g} km" if km >= 1 else f"{km * 1000:g} m"
        return ScaleBar(round(km * units_per_km, 1), says)


def rounded_down(value: float) -> float:
    """`37` → `20`: a one, two or five with zeros that is not more."""
    size = 10.0 ** math.floor(math.log10(value))
    return next(step * size for step in STEPS if step * size <= value * 1.000001)


def rectangles(projection: Projection, parts: Iterable[Area]) -> str:
    return "".join(projection.rectangle(each) for each in parts)


def points(projection: Projection, at: Iterable[tuple[float, float]]) -> str:
    return "".join(projection.point(*each) for each in at)


def around_points(at: Sequence[tuple[float, float]]) -> Area:
    """The area that holds them all, with some room around."""
    south, north = min(each[0] for each in at), max(each[0] for each in at)
    west, east = min(each[1] for each in at), max(each[1] for each in at)
    room = max(north - south, east - west, 0.01) * 0.05
    return Area(
        max(south - room, -90), max(west - room, -180), min(north + room, 90), min(east + room, 180)
    )
