"""What the work of a search asks to be stored, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from scrapersky.pipeline.stage import AtOnce
from scrapersky.places.tiles import Tile
from scrapersky.scraper.providers.model import Area, PlaceFacts


@dataclass(frozen=True)
class Sight:
    """How far the search has come, for those who watch."""

    progress: float
    phase: str


@dataclass(frozen=True)
class AreaFound(AtOnce):
    """Where a named area lies."""

    query: str
    name: str
    area: Area
    country: str | None
    osm: str | None


@dataclass(frozen=True)
class Moved(AtOnce):
    """Tiles as they stand now; nothing was paid for it."""

    tiles: tuple[Tile, ...]
    sight: Sight


@dataclass(frozen=True)
class Recognised(AtOnce):
    """All of a tile is known from before: the places are noted as found again."""

    tile: Tile
    provider: str
    ids: tuple[str, ...]
    first_position: int
    sight: Sight
    go_on: bool = True


@dataclass(frozen=True)
class Answered(AtOnce):
    """Places, and what was paid for them."""

    tile: Tile
    facts: tuple[PlaceFacts, ...]
    first_position: int
    sight: Sight
    entry_id: UUID | None = None
    attribution: str | None = None
    without_details: bool = False
    """Whether places whose details are still to be paid for go on, too."""


@dataclass(frozen=True)
class Finished:
    """All that was to be asked was asked."""


Step = AreaFound | Moved | Recognised | Answered | AtOnce | Finished
