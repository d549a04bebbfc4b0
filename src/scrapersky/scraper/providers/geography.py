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
"""Maximum search radius. Larger searches need several centres or a named area."""
MIN_RADIUS_KM = 0.05
MAX_AREA_KM2 = 20_000_000.0
"""Bounding box of all but the very largest countries. Larger searches would not finish."""
CELL_DEGREES = 0.01
"""Cell height in degrees of latitude: about 1 km."""
_CELL_ROWS = round(180 / CELL_DEGREES)
_CELL = re.compile(r"(\d{1,5}):(\d{1,5})")


class Point(NamedTuple):
    latitude: float
    longitude: float


def check_point(latitude: float, longitude: float) -> Point:
    """Return the point, or raise `InvalidInput`."""
    if not (math.isfinite(latitude) and -90 <= latitude <= 90):
        raise InvalidInput(f"Latitude must be between -90 and 90, not {latitude:g}.")
    if not (math.isfinite(longitude) and -180 <= longitude <= 180):
        raise InvalidInput(f"Longitude must be between -180 and 180, not {longitude:g}.")
    return Point(latitude, longitude)


def check_area(area: Area) -> Area:
    """Return the area, or raise `InvalidInput`."""
    check_point(area.south, area.west)
    check_point(area.north, area.east)
    if area.south >= area.north:
        raise InvalidInput("The south edge of an area must be south of its north edge.")
    if area.west == area.east:
        raise InvalidInput("The west and east edges of an area must differ.")
    if width_degrees(area) > 180:
        raise InvalidInput("An area must not span more than half of the globe.")
    if area_km2(area) > MAX_AREA_KM2:
        raise InvalidInput(
            f"An area of {area_km2(area):,.0f} km² is too large (maximum {MAX_AREA_KM2:,.0f} km²). "
            "Search parts of it."
        )
    return area


def get_bounding_area(latitude: float, longitude: float, radius_km: float) -> Area:
    """Return the bounding rectangle of a circle. At a pole it spans half of the globe."""
    check_point(latitude, longitude)
    if not math.isfinite(radius_km) or radius_km < MIN_RADIUS_KM:
        raise InvalidInput(f"The radius must be at least {MIN_RADIUS_KM * 1000:.0f} m.")
    if radius_km > MAX_RADIUS_KM:
        raise InvalidInput(
            f"A radius of {radius_km:,.0f} km is too large (maximum {MAX_RADIUS_KM:,.0f} km). "
            "Search several centres, or a named region."
        )
    high = radius_km / KM_PER_DEGREE
    south, north = max(-90.0, latitude - high), min(90.0, latitude + high)
    wide = _half_width_degrees(latitude, math.radians(high))
    return Area(south, wrap_longitude(longitude - wide), north, wrap_longitude(longitude + wide))


def _half_width_degrees(latitude: float, angle: float) -> float:
    """Return how far east the circle extends: farther than at its centre, towards the pole."""
    across = math.cos(math.radians(latitude))
    if across <= math.sin(angle):  # the circle contains the pole
        return 90.0
    return min(90.0, math.degrees(math.asin(math.sin(angle) / across)))


def wrap_longitude(longitude: float) -> float:
    """Normalise a longitude to -180 to 180."""
    if -180 <= longitude <= 180:
        return longitude
    return (longitude + 180) % 360 - 180


def width_degrees(area: Area) -> float:
    wide = area.east - area.west
    return wide if wide >= 0 else wide + 360


def get_centre(area: Area) -> Point:
    middle = wrap_longitude(area.west + width_degrees(area) / 2)
    return Point(area.south + (area.north - area.south) / 2, middle)


def split_area(area: Area) -> tuple[Area, Area, Area, Area]:
    """Split into quarters (SW, SE, NW, NE) without gaps or overlaps."""
    middle = get_centre(area)
    return (
        Area(area.south, area.west, middle.latitude, middle.longitude),
        Area(area.south, middle.longitude, middle.latitude, area.east),
        Area(middle.latitude, area.west, area.north, middle.longitude),
        Area(middle.latitude, middle.longitude, area.north, area.east),
    )


def contains(area: Area, latitude: float, longitude: float) -> bool:
    """Whether the point is in the area, borders included."""
    if not area.south <= latitude <= area.north:
        return False
    if area.west <= area.east:
        return area.west <= longitude <= area.east
    return longitude >= area.west or longitude <= area.east


def distance_m(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the great-circle distance in metres between two (latitude, longitude) points."""
    south, north = math.radians(one[0]), math.radians(other[0])
    high = math.sin((north - south) / 2) ** 2
    wide = math.sin(math.radians(other[1] - one[1]) / 2) ** 2
    part = high + math.cos(south) * math.cos(north) * wide
    return 2000 * EARTH_RADIUS_KM * math.asin(math.sqrt(min(1.0, part)))


def area_km2(area: Area) -> float:
    high = math.sin(math.radians(area.north)) - math.sin(math.radians(area.south))
    return EARTH_RADIUS_KM**2 * high * math.radians(width_degrees(area))


def side_km(area: Area) -> float:
    """Return the length of the longer side."""
    nearest = 0.0 if area.south <= 0 <= area.north else min(abs(area.south), abs(area.north))
    wide = width_degrees(area) * math.cos(math.radians(nearest))
    return KM_PER_DEGREE * max(area.north - area.south, wide)


def get_cell(latitude: float, longitude: float) -> str:
    """Return the name of the cell, about 1 km square, that contains the point."""
    check_point(latitude, longitude)
    row = min(_CELL_ROWS - 1, math.floor((latitude + 90) / CELL_DEGREES))
    columns = _count_columns(row)
    column = math.floor((longitude + 180) / 360 * columns) % columns
    return f"{row}:{column}"


def get_neighbours(cell: str) -> tuple[str, ...]:
    """Return the cell and its neighbours, which cover everything within 1 km."""
    match = _CELL.fullmatch(cell)
    if match is None or not 0 <= int(match[1]) < _CELL_ROWS:
        raise InvalidInput(f"{cell[:40]!r} is not a valid cell.")
    row, column = int(match[1]), int(match[2])
    rows = range(max(0, row - 1), min(_CELL_ROWS, row + 2))
    touching = (
        f"{each}:{other}" for each in rows for other in _get_touching_columns(row, column, each)
    )
    return tuple(dict.fromkeys((cell, *touching)))


def _count_columns(row: int) -> int:
    """Return the number of cells in a row. It shrinks towards the poles to keep widths similar."""
    latitude = max(abs(row * CELL_DEGREES - 90), abs((row + 1) * CELL_DEGREES - 90))
    return max(1, math.floor(360 * math.cos(math.radians(latitude)) / CELL_DEGREES))


def _get_touching_columns(row: int, column: int, other_row: int) -> list[int]:
    """Return the columns of another row that touch a cell, plus one on each side."""
    here, there = _count_columns(row), _count_columns(other_row)
    first = math.floor(column / here * there) - 1
    last = math.floor((column + 1) / here * there) + 1
    if last - first >= there:
        return list(range(there))
    return [each % there for each in range(first, last + 1)]
