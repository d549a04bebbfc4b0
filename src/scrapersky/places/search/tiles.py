"""Tiles of a search area: which to probe next, and when to split.

A tile is probed for IDs first, which is free. A tile with more places than the provider returns is
split into quarters. `plan.py` then decides how to fetch the rest with as few paid requests as
possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from scrapersky.models import TileState
from scrapersky.scraper.providers.geography import distance_m, get_centre, side_km, split_area
from scrapersky.scraper.providers.model import Area

PAGE_SIZE = 20
MAX_PAGES = 3
MAX_PLACES_PER_TILE = PAGE_SIZE * MAX_PAGES
"""The provider returns at most this many per query: a tile with as many may have more."""
MIN_TILE_KM = 0.05
"""Minimum side of a tile. Anything more crowded is in one building."""
PROBE_SLACK = 1.1
"""Probe slightly more than requested, because fetching whole tiles is cheaper."""
SLICE_SEPARATOR = "/"
"""Separates a tile's path from the number of its slice."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One part of the area and its state."""

    path: str
    area: Area
    state: TileState = TileState.WAITING
    ids: tuple[str, ...] | None = None
    """Place IDs from free probes."""
    found: int = 0
    new: int = 0
    requests: int = 0
    paid_requests: int = 0
    next_token: str | None = None
    asked_again: bool = False
    note: str | None = None

    @property
    def is_slice(self) -> bool:
        return SLICE_SEPARATOR in self.path

    @property
    def is_open(self) -> bool:
        return self.state is TileState.WAITING

    @property
    def is_complete(self) -> bool:
        """Whether the IDs of all its places are known."""
        return self.ids is not None and len(self.ids) < MAX_PLACES_PER_TILE

    @property
    def is_begun(self) -> bool:
        return self.next_token is not None


@dataclass
class Tiles:
    """All tiles of a search. Every step returns the tiles that changed, to be stored."""

    whole: Area
    limit: int
    """Maximum number of tiles to probe."""
    enough: int
    """Number of places after which probing stops."""
    known: frozenset[str] = frozenset()
    """IDs of places with fresh details."""
    all: dict[str, Tile] = field(default_factory=dict)

    @classmethod
    def of(cls, tiles: Iterable[Tile], *, limit: int, enough: int, known: frozenset[str]) -> Tiles:
        all_of_them = {each.path: each for each in tiles}
        return cls(all_of_them[""].area, limit, enough, known, all_of_them)

    def replace_tiles(self, *tiles: Tile) -> tuple[Tile, ...]:
        self.all.update({each.path: each for each in tiles})
        return tiles

    def get_next_probe(self) -> Tile | None:
        """Return the next tile to probe: the smallest first, then the nearest to the centre.

        When the search has enough places, the probed tiles then lie together.
        """
        waiting = [each for each in self._quarters() if each.is_open and each.ids is None]
        if not waiting or self.count_ids() >= self.enough * PROBE_SLACK:
            return None
        middle = get_centre(self.whole)
        return min(waiting, key=lambda t: (-len(t.path), distance_m(get_centre(t.area), middle)))

    def split_or_keep(self, tile: Tile, ids: Iterable[str], requests: int) -> tuple[Tile, ...]:
        """Split a tile with too many places, as far as possible."""
        updated = replace(tile, ids=tuple(dict.fromkeys(ids)), requests=tile.requests + requests)
        if not self._should_split(updated):
            return self.replace_tiles(updated)
        why_not = self._explain_no_split(updated)
        if why_not is None:
            return self.replace_tiles(
                replace(updated, state=TileState.SPLIT, ids=None), *split_tile(updated)
            )
        return self.replace_tiles(
            updated if updated.is_complete else replace(updated, note=why_not)
        )

    def _should_split(self, tile: Tile) -> bool:
        """Return whether the tile is too full, or has so few new places that a smaller tile is
        cheaper.
        """
        ids = tile.ids or ()
        new = len(set(ids) - self.known)
        return not tile.is_complete or (len(ids) > PAGE_SIZE and 0 < new <= len(ids) // 2)

    def _explain_no_split(self, tile: Tile) -> str | None:
        if side_km(tile.area) < 2 * MIN_TILE_KM:
            return f"More than {MAX_PLACES_PER_TILE} places within {MIN_TILE_KM * 1000:.0f} metres."
        if sum(1 for _ in self._quarters()) + 4 > self.limit:
            return f"Not split further: PLACE_SEARCH_MAX_TILES is {self.limit:,}."
        return None

    def _quarters(self) -> Iterator[Tile]:
        return (each for each in self.all.values() if not each.is_slice)

    def count_ids(self) -> int:
        return len({each for tile in self._quarters() for each in tile.ids or ()})

    def children(self, tile: Tile) -> list[Tile]:
        return [self.all[tile.path + digit] for digit in "0123"]

    def leaves(self, tile: Tile) -> list[Tile]:
        """Return the tiles that this one was split into, or itself."""
        if tile.state is not TileState.SPLIT or tile.is_slice:
            return [tile]
        return [leaf for child in self.children(tile) for leaf in self.leaves(child)]

    def open(self) -> list[Tile]:
        return [each for each in self.all.values() if each.is_open]

    def skip_open(self, why: str) -> tuple[Tile, ...]:
        """Skip every tile that is still open."""
        left = TileState.NOT_ASKED
        return self.replace_tiles(*(replace(each, state=left, note=why) for each in self.open()))


def split_tile(tile: Tile) -> list[Tile]:
    return [Tile(tile.path + str(n), area) for n, area in enumerate(split_area(tile.area))]
