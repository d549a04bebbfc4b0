"""How much of a search's area was asked: as a picture, as a table, and in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.searching.drawing import (
    Projection,
    ScaleBar,
    around_points,
    points,
    rectangles,
)
from scrapersky.models import Place, SearchPlace, SearchTile, TileState
from scrapersky.scraper.providers.geography import area_km2
from scrapersky.scraper.providers.model import Area

TILES_DRAWN = 3_000
DOTS_DRAWN = 2_000
NOTES_SHOWN = 5
INNER = (TileState.SPLIT, TileState.JOINED)
"""Tiles in whose place others were asked."""
LEGEND = {
    TileState.DONE: "asked",
    TileState.KNOWN: "nothing new in it, so not paid for",
    TileState.SATURATED: "asked in part: there is more",
    TileState.WAITING: "still to be asked",
    TileState.NOT_ASKED: "not asked",
}
ASKED = (TileState.DONE, TileState.KNOWN, TileState.SATURATED)

Dot = tuple[float, float, bool]
"""Latitude, longitude, and whether it passes the search's filters."""


@dataclass(frozen=True)
class TileCount:
    """The parts of the area that stand alike."""

    state: str
    says: str
    tiles: int
    found: int
    new: int
    km2: float
    path: str
    """The rectangles, as SVG draws them."""


@dataclass(frozen=True)
class Coverage:
    width: float
    height: float
    scale: ScaleBar
    counts: tuple[TileCount, ...]
    fitting: str
    """Dots of the places that pass the filters, as SVG draws them."""
    others: str
    dots: int
    notes: tuple[str, ...]
    """Why parts were not asked, or not asked to their end."""
    is_cut: bool
    """Whether there is more than is drawn."""

    @property
    def has_others(self) -> bool:
        return bool(self.others)

    @property
    def sentence(self) -> str:
        return sentence_of(self.counts)


async def coverage_of(session: AsyncSession, search_id: UUID) -> Coverage | None:
    """Nothing before the area is known, and for lists, which have none, without coordinates."""
    tiles = await _tiles(session, search_id)
    dots = await _dots(session, search_id)
    return drawn(tiles, dots)


async def _tiles(session: AsyncSession, search_id: UUID) -> Sequence[SearchTile]:
    """The whole area, and the parts that stand for themselves."""
    found = await session.scalars(
        select(SearchTile)
        .where(
            SearchTile.search_id == search_id,
            or_(SearchTile.path == "", SearchTile.state.not_in(INNER)),
        )
        .order_by(SearchTile.path)
        .limit(TILES_DRAWN + 1)
    )
    return found.all()


async def _dots(session: AsyncSession, search_id: UUID) -> Sequence[Dot]:
    found: Any = await session.execute(
        select(Place.latitude, Place.longitude, SearchPlace.fits)
        .join(SearchPlace, SearchPlace.place_id == Place.id)
        .where(
            SearchPlace.search_id == search_id,
            Place.latitude.is_not(None),
            Place.longitude.is_not(None),
        )
        .order_by(SearchPlace.position)
        .limit(DOTS_DRAWN + 1)
    )
    return [tuple(each) for each in found]


def drawn(tiles: Sequence[SearchTile], dots: Sequence[Dot]) -> Coverage | None:
    whole = _whole(tiles, dots)
    if whole is None:
        return None
    projection = Projection.of(whole)
    shown = [each for each in tiles[:TILES_DRAWN] if each.state not in INNER]
    at = dots[:DOTS_DRAWN]
    return Coverage(
        width=projection.width,
        height=projection.height,
        scale=projection.scale_bar,
        counts=tuple(_counts(projection, shown)),
        fitting=points(projection, (each[:2] for each in at if each[2])),
        others=points(projection, (each[:2] for each in at if not each[2])),
        dots=len(at),
        notes=_notes(shown),
        is_cut=len(tiles) > TILES_DRAWN or len(dots) > DOTS_DRAWN,
    )


def _whole(tiles: Sequence[SearchTile], dots: Sequence[Dot]) -> Area | None:
    whole = next((each for each in tiles if each.path == ""), None)
    if whole is not None:
        return area_of(whole)
    return around_points([each[:2] for each in dots]) if dots else None


def area_of(tile: SearchTile) -> Area:
    return Area(tile.south, tile.west, tile.north, tile.east)


def _counts(projection: Projection, tiles: Sequence[SearchTile]) -> Iterator[TileCount]:
    for state, says in LEGEND.items():
        alike = [each for each in tiles if each.state == state]
        areas = [area_of(each) for each in alike]
        if alike:
            yield TileCount(
                state=state,
                says=says,
                tiles=len(alike),
                found=sum(each.found for each in alike),
                new=sum(each.new for each in alike),
                km2=sum(area_km2(each) for each in areas),
                path=rectangles(projection, areas),
            )


def _notes(tiles: Sequence[SearchTile]) -> tuple[str, ...]:
    said = dict.fromkeys(each.note for each in tiles if each.note)
    return tuple(each for each in said if each)[:NOTES_SHOWN]


def sentence_of(counts: Sequence[TileCount]) -> str:
    """How much of the area was asked, by its size and not by the number of its parts."""
    whole = sum(each.km2 for each in counts)
    asked = sum(each.km2 for each in counts if each.state in ASKED)
    return f"{_percent(asked / whole)} of {size(whole)} was asked." if whole else ""


def _percent(share: float) -> str:
    """Never all of it while something is missing, and never nothing while something is there."""
    if share >= 1 - 1e-9:
        return "All"
    if share <= 0:
        return "Nothing"
    return f"{min(max(round(share * 100), 1), 99)} %"


def size(km2: float) -> str:
    return f"{km2:,.0f} km²" if km2 >= 10 else f"{km2:,.2f} km²"
