"""Coverage of a search area as an SVG map, a table and a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import Place, SearchPlace, SearchTile, TileState
from scrapersky.scraper.providers.geography import (
    KM_PER_DEGREE,
    area_km2,
    get_centre,
    width_degrees,
)
from scrapersky.scraper.providers.model import Area

MAX_SIDE = 1000.0
"""In SVG units."""
MIN_SIDE = 120.0
MAX_SCALE_BAR_SHARE = 0.3
"""Maximum share of the map's width for the scale bar."""
SCALE_STEPS = (5, 2, 1)


@dataclass(frozen=True)
class ScaleBar:
    length: float
    says: str


@dataclass(frozen=True)
class Projection:
    """Equirectangular projection from degrees to SVG units, undistorted at the area's centre."""

    area: Area
    units: float
    """SVG units per degree of latitude."""
    narrowing: float
    """Length of a degree of longitude relative to one of latitude."""

    @classmethod
    def of(cls, area: Area) -> Projection:
        narrowing = max(math.cos(math.radians(get_centre(area).latitude)), 0.01)
        high, wide = area.north - area.south, width_degrees(area) * narrowing
        return cls(area, MAX_SIDE / max(high, wide, 1e-9), narrowing)

    @property
    def width(self) -> float:
        return max(round(self._scale_width(width_degrees(self.area)), 1), MIN_SIDE)

    @property
    def height(self) -> float:
        return max(round((self.area.north - self.area.south) * self.units, 1), MIN_SIDE)

    def _scale_width(self, degrees: float) -> float:
        return degrees * self.narrowing * self.units

    def x(self, longitude: float) -> float:
        """Return the x coordinate, also across the date line."""
        east = (longitude - self.area.west + 180) % 360 - 180
        return round(self._scale_width(east), 1)

    def y(self, latitude: float) -> float:
        return round((self.area.north - latitude) * self.units, 1)

    def rectangle(self, part: Area) -> str:
        """Return the rectangle as SVG path commands."""
        left, top = self.x(part.west), self.y(part.north)
        wide = round(self._scale_width(width_degrees(part)), 1)
        high = round(self.y(part.south) - top, 1)
        return f"M{left:g} {top:g}h{wide:g}v{high:g}h{-wide:g}z"

    def point(self, latitude: float, longitude: float) -> str:
        """Return a zero-length line, which round line caps draw as a dot."""
        return f"M{self.x(longitude):g} {self.y(latitude):g}h0"

    @property
    def scale_bar(self) -> ScaleBar:
        units_per_km = self.units / KM_PER_DEGREE
        km = round_down(self.width * MAX_SCALE_BAR_SHARE / units_per_km)
        says = f"{km:g} km" if km >= 1 else f"{km * 1000:g} m"
        return ScaleBar(round(km * units_per_km, 1), says)


def round_down(value: float) -> float:
    """Round down to 1, 2 or 5 times a power of ten: `37` → `20`."""
    size = 10.0 ** math.floor(math.log10(value))
    return next(step * size for step in SCALE_STEPS if step * size <= value * 1.000001)


def build_rectangles_path(projection: Projection, parts: Iterable[Area]) -> str:
    return "".join(projection.rectangle(each) for each in parts)


def build_points_path(projection: Projection, at: Iterable[tuple[float, float]]) -> str:
    return "".join(projection.point(*each) for each in at)


def get_bounding_area(at: Sequence[tuple[float, float]]) -> Area:
    """Return the bounding box of the points, with a margin."""
    south, north = min(each[0] for each in at), max(each[0] for each in at)
    west, east = min(each[1] for each in at), max(each[1] for each in at)
    room = max(north - south, east - west, 0.01) * 0.05
    return Area(
        max(south - room, -90), max(west - room, -180), min(north + room, 90), min(east + room, 180)
    )


MAX_TILES = 3_000
MAX_DOTS = 2_000
MAX_NOTES = 5
INNER_STATES = (TileState.SPLIT, TileState.JOINED)
"""Tiles that were replaced by smaller tiles."""
LEGEND = {
    TileState.DONE: "asked",
    TileState.KNOWN: "nothing new, not paid for",
    TileState.SATURATED: "partly searched",
    TileState.WAITING: "pending",
    TileState.NOT_ASKED: "not asked",
}
ASKED_STATES = (TileState.DONE, TileState.KNOWN, TileState.SATURATED)

Dot = tuple[float, float, bool]
"""Latitude, longitude, and whether it matches the search's filters."""


@dataclass(frozen=True)
class TileCount:
    """Tiles with the same state."""

    state: str
    says: str
    tiles: int
    found: int
    new: int
    km2: float
    path: str
    """Rectangles as an SVG path."""


@dataclass(frozen=True)
class CoverageMap:
    width: float
    height: float
    scale: ScaleBar
    counts: tuple[TileCount, ...]
    fitting: str
    """Places that match the filters, as an SVG path."""
    others: str
    dots: int
    notes: tuple[str, ...]
    """Reasons why tiles were not or only partly searched."""
    is_cut: bool
    """Whether some tiles or places are not drawn."""

    @property
    def has_others(self) -> bool:
        return bool(self.others)

    @property
    def sentence(self) -> str:
        return describe_counts(self.counts)


async def load_coverage(session: AsyncSession, search_id: UUID) -> CoverageMap | None:
    """Return the map; None before the area is resolved and for lists without coordinates."""
    tiles = await _load_tiles(session, search_id)
    dots = await _load_dots(session, search_id)
    return build_coverage_map(tiles, dots)


async def _load_tiles(session: AsyncSession, search_id: UUID) -> Sequence[SearchTile]:
    """Return the whole area and its leaf tiles."""
    rows = await session.scalars(
        select(SearchTile)
        .where(
            SearchTile.search_id == search_id,
            or_(SearchTile.path == "", SearchTile.state.not_in(INNER_STATES)),
        )
        .order_by(SearchTile.path)
        .limit(MAX_TILES + 1)
    )
    return rows.all()


async def _load_dots(session: AsyncSession, search_id: UUID) -> Sequence[Dot]:
    result: Any = await session.execute(
        select(Place.latitude, Place.longitude, SearchPlace.fits)
        .join(SearchPlace, SearchPlace.place_id == Place.id)
        .where(
            SearchPlace.search_id == search_id,
            Place.latitude.is_not(None),
            Place.longitude.is_not(None),
        )
        .order_by(SearchPlace.position)
        .limit(MAX_DOTS + 1)
    )
    return [tuple(each) for each in result]


def build_coverage_map(tiles: Sequence[SearchTile], dots: Sequence[Dot]) -> CoverageMap | None:
    whole = _get_bounds(tiles, dots)
    if whole is None:
        return None
    projection = Projection.of(whole)
    visible = [each for each in tiles[:MAX_TILES] if each.state not in INNER_STATES]
    at = dots[:MAX_DOTS]
    return CoverageMap(
        width=projection.width,
        height=projection.height,
        scale=projection.scale_bar,
        counts=tuple(_iter_counts(projection, visible)),
        fitting=build_points_path(projection, (each[:2] for each in at if each[2])),
        others=build_points_path(projection, (each[:2] for each in at if not each[2])),
        dots=len(at),
        notes=_list_notes(visible),
        is_cut=len(tiles) > MAX_TILES or len(dots) > MAX_DOTS,
    )


def _get_bounds(tiles: Sequence[SearchTile], dots: Sequence[Dot]) -> Area | None:
    whole = next((each for each in tiles if each.path == ""), None)
    if whole is not None:
        return get_area(whole)
    return get_bounding_area([each[:2] for each in dots]) if dots else None


def get_area(tile: SearchTile) -> Area:
    return Area(tile.south, tile.west, tile.north, tile.east)


def _iter_counts(projection: Projection, tiles: Sequence[SearchTile]) -> Iterator[TileCount]:
    for state, says in LEGEND.items():
        alike = [each for each in tiles if each.state == state]
        areas = [get_area(each) for each in alike]
        if alike:
            yield TileCount(
                state=state,
                says=says,
                tiles=len(alike),
                found=sum(each.found for each in alike),
                new=sum(each.new for each in alike),
                km2=sum(area_km2(each) for each in areas),
                path=build_rectangles_path(projection, areas),
            )


def _list_notes(tiles: Sequence[SearchTile]) -> tuple[str, ...]:
    notes = dict.fromkeys(each.note for each in tiles if each.note)
    return tuple(each for each in notes if each)[:MAX_NOTES]


def describe_counts(counts: Sequence[TileCount]) -> str:
    """Describe the searched share of the area, by size rather than by number of tiles."""
    whole = sum(each.km2 for each in counts)
    requested_km2 = sum(each.km2 for each in counts if each.state in ASKED_STATES)
    return (
        f"{_format_percent(requested_km2 / whole)} of {format_area(whole)} searched."
        if whole
        else ""
    )


def _format_percent(share: float) -> str:
    """Format a share; never "All" while something is missing, never "Nothing" while something is
    done.
    """
    if share >= 1 - 1e-9:
        return "All"
    if share <= 0:
        return "Nothing"
    return f"{min(max(round(share * 100), 1), 99)} %"


def format_area(km2: float) -> str:
    return f"{km2:,.0f} km²" if km2 >= 10 else f"{km2:,.2f} km²"
