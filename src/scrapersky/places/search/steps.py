"""Results that a place search yields to be stored, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from scrapersky.pipeline.stage import StoreImmediately
from scrapersky.places.search.tiles import Tile
from scrapersky.scraper.providers.model import Area, PlaceFacts


@dataclass(frozen=True)
class SearchProgress:
    """Progress shown on the job."""

    progress: float
    phase: str


@dataclass(frozen=True)
class AreaFound(StoreImmediately):
    """The geocoded area."""

    query: str
    name: str
    area: Area
    country: str | None
    osm: str | None


@dataclass(frozen=True)
class TilesUpdated(StoreImmediately):
    """Changed tiles without paid results."""

    tiles: tuple[Tile, ...]
    sight: SearchProgress


@dataclass(frozen=True)
class KnownPlaces(StoreImmediately):
    """A tile whose places are all known: they are linked without a request."""

    tile: Tile
    provider: str
    ids: tuple[str, ...]
    first_position: int
    sight: SearchProgress
    go_on: bool = True


@dataclass(frozen=True)
class PlacesFetched(StoreImmediately):
    """Fetched places and their charge."""

    tile: Tile
    facts: tuple[PlaceFacts, ...]
    first_position: int
    sight: SearchProgress
    entry_id: UUID | None = None
    attribution: str | None = None
    without_details: bool = False
    """Whether places without details are queued for a paid deep scan too."""


@dataclass(frozen=True)
class SearchFinished:
    """Every tile is done."""


SearchStep = (
    AreaFound | TilesUpdated | KnownPlaces | PlacesFetched | StoreImmediately | SearchFinished
)
