"""Areas and distances on the globe, across the date line and at the poles."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from scrapersky.errors import InvalidInput
from scrapersky.scraper.providers.model import Area

EARTH_RADIUS_KM = 6371.0088
KM_PER_DEGREE = math.pi * EARTH_RADIUS_KM / 180
MAX_RADIUS_KM = 500.0
"""Around a point; whoever looks further wants several searches, or a named area."""
MIN_RADIUS_KM = 0.05
MAX_AREA_KM2 = 20_000_000.0
"""The box around any country but the very largest; a search over more would never end."""
CELL_DEGREES = 0.01
"""Of latitude: a cell is about a kilometre high."""
_CELL_ROWS = round(180 / CELL_DEGREES)
_CELL = re.compile(r"(\d{1,5}):(\d{1,5})")


class Point(NamedTuple):
    latitude: float
    longitude: float


def check_point(latitude: float, longitude: float) -> Point:
    """The same, or `InvalidInput` with what is wrong."""
    if not (math.isfinite(latitude) and -90 <= latitude <= 90):
        raise InvalidInput(f"A latitude lies between -90 and 90; {latitude:g} does not.")
    if not (math.isfinite(longitude) and -180 <= longitude <= 180):
        raise InvalidInput(f"A longitude lies between -180 and 180; {longitude:g} does not.")
    return Point(latitude, longitude)


def check_area(area: Area) -> Area:
    """The same, or `InvalidInput` with what is wrong."""
    check_point(area.south, area.west)
    check_point(area.north, area.east)
    if area.south >= area.north:
        raise InvalidInput("The south of an area must lie south of its north.")
    if area.west == area.east:
        raise InvalidInput("The west and the east of an area must not be the same.")
    if width_degrees(area) > 180:
        raise InvalidInput("An area may not go around more than half of the globe.")
    if area_km2(area) > MAX_AREA_KM2:
        raise InvalidInput(
            f"An area of {area_km2(area):,.0f} km² is too large: at most {MAX_AREA_KM2:,.0f} km². "
            "Search its parts one by one."
        )
    return area


def check_radius(radius_km: float) -> float:
    if not math.isfinite(radius_km) or radius_km < MIN_RADIUS_KM:
        raise InvalidInput(f"A radius is at least {MIN_RADIUS_KM * 1000:.0f} metres.")
    if radius_km > MAX_RADIUS_KM:
        raise InvalidInput(
            f"A radius of {radius_km:,.0f} km is too large: at most {MAX_RADIUS_KM:,.0f} km. "
            "Search several places, or name a region."
        )
    return radius_km


def get_bounding_area(latitude: float, longitude: float, radius_km: float) -> Area:
    """The rectangle that holds the circle; at a pole it goes around half of the globe."""
    check_point(latitude, longitude)
    high = check_radius(radius_km) / KM_PER_DEGREE
    south, north = max(-90.0, latitude - high), min(90.0, latitude + high)
    wide = _half_width_degrees(latitude, math.radians(high))
    return Area(south, wrap_longitude(longitude - wide), north, wrap_longitude(longitude + wide))


def _half_width_degrees(latitude: float, angle: float) -> float:
    """How far east the circle goes: further than at its centre, where the globe narrows."""
    across = math.cos(math.radians(latitude))
    if across <= math.sin(angle):  # the pole lies inside
        return 90.0
    return min(90.0, math.degrees(math.asin(math.sin(angle) / across)))


def wrap_longitude(longitude: float) -> float:
    """The same meridian between -180 and 180."""
    if -180 <= longitude <= 180:
        return longitude
    return (longitude + 180) % 360 - 180


def width_degrees(area: Area) -> float:
    wide = area.east - area.west
    return wide if wide >= 0 else wide + 360


def get_centre(area: Area) -> Point:
    middle = wrap_longitude(area.west + width_degrees(area) / 2)
    return Point(_get_midpoint(area.south, area.north), middle)


def _get_midpoint(one: float, other: float) -> float:
    return one + (other - one) / 2


def split_area(area: Area) -> tuple[Area, Area, Area, Area]:
    """South-west, south-east, north-west, north-east: they meet without gap or overlap."""
    middle = get_centre(area)
    return (
        Area(area.south, area.west, middle.latitude, middle.longitude),
        Area(area.south, middle.longitude, middle.latitude, area.east),
        Area(middle.latitude, area.west, area.north, middle.longitude),
        Area(middle.latitude, middle.longitude, area.north, area.east),
    )


def contains(area: Area, latitude: float, longitude: float) -> bool:
    """Its borders belong to it."""
    if not area.south <= latitude <= area.north:
        return False
    if area.west <= area.east:
        return area.west <= longitude <= area.east
    return longitude >= area.west or longitude <= area.east


def distance_m(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Metres along the globe between two (latitude, longitude)."""
    south, north = math.radians(one[0]), math.radians(other[0])
    high = math.sin((north - south) / 2) ** 2
    wide = math.sin(math.radians(other[1] - one[1]) / 2) ** 2
    part = high + math.cos(south) * math.cos(north) * wide
    return 2000 * EARTH_RADIUS_KM * math.asin(math.sqrt(min(1.0, part)))


def area_km2(area: Area) -> float:
    high = math.sin(math.radians(area.north)) - math.sin(math.radians(area.south))
    return EARTH_RADIUS_KM**2 * high * math.radians(width_degrees(area))


def side_km(area: Area) -> float:
    """The longer of its sides."""
    nearest = 0.0 if area.south <= 0 <= area.north else min(abs(area.south), abs(area.north))
    wide = width_degrees(area) * math.cos(math.radians(nearest))
    return KM_PER_DEGREE * max(area.north - area.south, wide)


def get_cell(latitude: float, longitude: float) -> str:
    """The name of the square of about a kilometre that the point lies in."""
    check_point(latitude, longitude)
    row = min(_CELL_ROWS - 1, math.floor((latitude + 90) / CELL_DEGREES))
    columns = _count_columns(row)
    column = math.floor((longitude + 180) / 360 * columns) % columns
    return f"{row}:{column}"


def get_neighbours(cell: str) -> tuple[str, ...]:
    """The cell and those that touch it: whatever lies within a kilometre is in one of them."""
    found = _CELL.fullmatch(cell)
    if found is None or not 0 <= int(found[1]) < _CELL_ROWS:
        raise InvalidInput(f"{cell[:40]!r} names no cell.")
    row, column = int(found[1]), int(found[2])
    rows = range(max(0, row - 1), min(_CELL_ROWS, row + 2))
    touching = (
        f"{each}:{other}" for each in rows for other in _get_touching_columns(row, column, each)
    )
    return tuple(dict.fromkeys((cell, *touching)))


def _count_columns(row: int) -> int:
    """A row has fewer cells the nearer it lies to a pole, so that all are about as wide."""
    latitude = max(abs(row * CELL_DEGREES - 90), abs((row + 1) * CELL_DEGREES - 90))
    return max(1, math.floor(360 * math.cos(math.radians(latitude)) / CELL_DEGREES))


def _get_touching_columns(row: int, column: int, other_row: int) -> list[int]:
    """The columns of another row that touch a cell, and one more on each side."""
    here, there = _count_columns(row), _count_columns(other_row)
    first = math.floor(column / here * there) - 1
    last = math.floor((column + 1) / here * there) + 1
    if last - first >= there:
        return list(range(there))
    return [each % there for each in range(first, last + 1)]
