"""Results that a place search yields to be stored, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from scrapersky.pipeline.stage import StoreImmediately
from scrapersky.places.search.tiles import Tile
from scrapersky.scraper.providers.model import Area, PlaceFacts


@dataclass(frozen=True)
class SearchProgress:
    """How far the search has come, for those who watch."""

    progress: float
    phase: str


@dataclass(frozen=True)
class AreaFound(StoreImmediately):
    """Where a named area lies."""

    query: str
    name: str
    area: Area
    country: str | None
    osm: str | None


@dataclass(frozen=True)
class TilesUpdated(StoreImmediately):
    """Tiles as they stand now; nothing was paid for it."""

    tiles: tuple[Tile, ...]
    sight: SearchProgress


@dataclass(frozen=True)
class KnownPlaces(StoreImmediately):
    """All of a tile is known from before: the places are noted as found again."""

    tile: Tile
    provider: str
    ids: tuple[str, ...]
    first_position: int
    sight: SearchProgress
    go_on: bool = True


@dataclass(frozen=True)
class PlacesFetched(StoreImmediately):
    """Places, and what was paid for them."""

    tile: Tile
    facts: tuple[PlaceFacts, ...]
    first_position: int
    sight: SearchProgress
    entry_id: UUID | None = None
    attribution: str | None = None
    without_details: bool = False
    """Whether places whose details are still to be paid for go on, too."""


@dataclass(frozen=True)
class SearchFinished:
    """All that was to be asked was asked."""


SearchStep = (
    AreaFound | TilesUpdated | KnownPlaces | PlacesFetched | StoreImmediately | SearchFinished
)
