"""Tiles of a search area: which to probe next, and when to split.

A tile is probed for ids first, which is free. A tile with more places than the provider returns is
split into quarters; `plan` then decides how to fetch the rest with as few paid requests as
possible.

A tile is looked at for free first, ids only. One that has more than the provider gives is divided
into its quarters; what is left in the end is known by its ids, and `planning` says how it is asked
in full with as few requests as can be.
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
"""The provider gives no more for one question: a tile that has so many may have more."""
MIN_TILE_KM = 0.05
"""A tile is not divided below this side: whatever is so crowded stands in one house."""
PROBE_SLACK = 1.1
"""A little more is looked at than is wanted: tiles that are whole are asked for less."""
SLICE_SEPARATOR = "/"
"""Divides the path of a tile from the number of a slice of it."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One part, as it stands."""

    path: str
    area: Area
    state: TileState = TileState.WAITING
    ids: tuple[str, ...] | None = None
    """What a free look brought."""
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
        """Whether all that is in it is known by its id."""
        return self.ids is not None and len(self.ids) < MAX_PLACES_PER_TILE

    @property
    def is_begun(self) -> bool:
        return self.next_token is not None


@dataclass
class Tiles:
    """All tiles of a search. Those that changed are told by every step, to be stored."""

    whole: Area
    limit: int
    """Tiles that are looked at, at most."""
    enough: int
    """Places after which no further tile is looked at."""
    known: frozenset[str] = frozenset()
    """Of which everything was told before, and lately."""
    all: dict[str, Tile] = field(default_factory=dict)

    @classmethod
    def of(cls, tiles: Iterable[Tile], *, limit: int, enough: int, known: frozenset[str]) -> Tiles:
        all_of_them = {each.path: each for each in tiles}
        return cls(all_of_them[""].area, limit, enough, known, all_of_them)

    def replace_tiles(self, *tiles: Tile) -> tuple[Tile, ...]:
        self.all.update({each.path: each for each in tiles})
        return tiles

    def get_next_probe(self) -> Tile | None:
        """The smallest first and, of these, the nearest to the middle: what is gathered when the
        search has enough lies together there."""
        waiting = [each for each in self._quarters() if each.is_open and each.ids is None]
        if not waiting or self.count_ids() >= self.enough * PROBE_SLACK:
            return None
        middle = get_centre(self.whole)
        return min(waiting, key=lambda t: (-len(t.path), distance_m(get_centre(t.area), middle)))

    def split_or_keep(self, tile: Tile, ids: Iterable[str], requests: int) -> tuple[Tile, ...]:
        """A tile with too much in it is divided, as far as that goes."""
        seen = replace(tile, ids=tuple(dict.fromkeys(ids)), requests=tile.requests + requests)
        if not self._should_split(seen):
            return self.replace_tiles(seen)
        why_not = self._explain_no_split(seen)
        if why_not is None:
            return self.replace_tiles(
                replace(seen, state=TileState.SPLIT, ids=None), *split_tile(seen)
            )
        return self.replace_tiles(seen if seen.is_complete else replace(seen, note=why_not))

    def _should_split(self, tile: Tile) -> bool:
        """Too full; or only a little of it is new, which a smaller tile has for less."""
        ids = tile.ids or ()
        new = len(set(ids) - self.known)
        return not tile.is_complete or (len(ids) > PAGE_SIZE and 0 < new <= len(ids) // 2)

    def _explain_no_split(self, tile: Tile) -> str | None:
        if side_km(tile.area) < 2 * MIN_TILE_KM:
            return f"More than {MAX_PLACES_PER_TILE} places within {MIN_TILE_KM * 1000:.0f} metres."
        if sum(1 for _ in self._quarters()) + 4 > self.limit:
            return f"PLACE_SEARCH_MAX_TILES is {self.limit:,}: it was not divided further."
        return None

    def _quarters(self) -> Iterator[Tile]:
        return (each for each in self.all.values() if not each.is_slice)

    def count_ids(self) -> int:
        return len({each for tile in self._quarters() for each in tile.ids or ()})

    def children(self, tile: Tile) -> list[Tile]:
        return [self.all[tile.path + digit] for digit in "0123"]

    def leaves(self, tile: Tile) -> list[Tile]:
        """What a tile was divided into in the end; itself where it was not."""
        if tile.state is not TileState.SPLIT or tile.is_slice:
            return [tile]
        return [leaf for child in self.children(tile) for leaf in self.leaves(child)]

    def open(self) -> list[Tile]:
        return [each for each in self.all.values() if each.is_open]

    def skip_open(self, why: str) -> tuple[Tile, ...]:
        """What was not asked by now is not asked any more."""
        left = TileState.NOT_ASKED
        return self.replace_tiles(*(replace(each, state=left, note=why) for each in self.open()))


def split_tile(tile: Tile) -> list[Tile]:
    return [Tile(tile.path + str(n), area) for n, area in enumerate(split_area(tile.area))]
