"""Plan how probed tiles are fetched with as few paid requests as possible.

A page has 20 places and costs the same with one in it, so a tile of 21 costs as much as one of 40.
Adjacent tiles are therefore recut: into strips from south to north, and each strip from west to
east into slices of just under 60 places. The probed tiles suggest where a slice ends; free probes
confirm it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import ceil

from scrapersky.models import TileState
from scrapersky.places.search.tiles import (
    MAX_PLACES_PER_TILE,
    PAGE_SIZE,
    SLICE_SEPARATOR,
    Tile,
    Tiles,
)
from scrapersky.scraper.providers.geography import width_degrees, wrap_longitude
from scrapersky.scraper.providers.model import Area

PLACES_PER_STRIP = 330
"""Approximate number of places per strip. Fewer waste more pages at the strips' ends; more make the
slices so thin that too many places share a longitude.
"""
TARGET_PER_SLICE = MAX_PLACES_PER_TILE - 3
"""A slice may have a few more, but not 60: that could mean any number."""
MIN_SLICE_DEGREES = 1e-5
"""About a metre."""
FILL_THRESHOLDS = ((4, 0.92), (8, 0.85), (12, 0.7))
"""Number of tries, and how full the pages must be to accept a slice until then."""
MAX_TRIES = 30


@dataclass(frozen=True)
class AreaCount:
    """A number of places somewhere in an area."""

    area: Area
    count: int


def plan_tiles(tiles: Tiles, place_ids: frozenset[str]) -> tuple[Tile, ...]:
    """Decide how all probed tiles are fetched. Return the tiles that changed."""
    return tiles.replace_tiles(*_plan_tile(tiles, tiles.all[""], place_ids))


def _plan_tile(tiles: Tiles, tile: Tile, place_ids: frozenset[str]) -> list[Tile]:
    leaves = tiles.leaves(tile)
    if not all(each.is_open and each.is_complete for each in leaves):
        children = tiles.children(tile) if tile.state is TileState.SPLIT else []
        return [each for child in children for each in _plan_tile(tiles, child, place_ids)]
    ids = tuple(dict.fromkeys(each for leaf in leaves for each in leaf.ids or ()))
    new = set(ids) - tiles.known - place_ids
    if not new:
        return [mark_known(each) for each in leaves]
    if tile.state is not TileState.SPLIT:
        return []
    if len(new) * 2 < len(ids):
        return [
            each for child in tiles.children(tile) for each in _plan_tile(tiles, child, place_ids)
        ]
    joined = [replace(each, state=TileState.JOINED) for each in leaves]
    return [*joined, *_build_strips(tile, leaves, ids)]


def mark_known(tile: Tile) -> Tile:
    """Mark a tile without paid work: it is empty, or all its places are known."""
    if not tile.is_complete:
        return replace(tile, state=TileState.SATURATED)
    return replace(tile, state=TileState.KNOWN if tile.ids else TileState.DONE)


def _build_strips(tile: Tile, leaves: Sequence[Tile], ids: tuple[str, ...]) -> list[Tile]:
    """Build strips from adjacent tiles. A strip with few enough places becomes a slice right away;
    the others are cut later.
    """
    if len(ids) < MAX_PLACES_PER_TILE:
        return [Tile(f"{tile.path}{SLICE_SEPARATOR}0", tile.area, ids=ids)]
    edges = _find_strip_edges(
        tile.area, [AreaCount(each.area, len(each.ids or ())) for each in leaves], len(ids)
    )
    return [
        Tile(f"{tile.path}{SLICE_SEPARATOR}{n}", replace(tile.area, south=south, north=north))
        for n, (south, north) in enumerate(pairwise(edges))
    ]


def _find_strip_edges(area: Area, crowds: Sequence[AreaCount], total: int) -> list[float]:
    """Return the latitudes that divide the places evenly into strips."""
    count = max(1, round(total / PLACES_PER_STRIP))
    edges = [area.south]
    for n in range(1, count):
        target = sum(each.count for each in crowds) * n / count
        edges.append(_bisect(area.south, area.north, target, lambda y: _count_south(crowds, y)))
    return [*edges, area.north]


def _count_south(crowds: Iterable[AreaCount], latitude: float) -> float:
    return sum(
        each.count * _get_fraction(latitude, each.area.south, each.area.north) for each in crowds
    )


def _get_fraction(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))


def _bisect(low: float, high: float, share: float, count_up_to: Callable[[float], float]) -> float:
    """Find by bisection where the count reaches the target. The count never decreases."""
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if count_up_to(middle) < share else (low, middle)
    return (low + high) / 2


@dataclass
class SliceCut:
    """Search for the end of a strip's next slice. Distances are degrees from the strip's west."""

    strip: Area
    crowds: Sequence[AreaCount]
    """Counts of the tiles that the strip was built from."""
    tries: int = 0
    best: float = 0.0
    """Largest distance that is known to contain few enough places."""
    ids: tuple[str, ...] = ()
    """IDs of the places up to `best`."""
    too_far: float | None = None
    crowded: tuple[str, ...] = ()
    """IDs that the overfull probe returned."""
    _end: float = field(init=False)

    def __post_init__(self) -> None:
        self._end = width_degrees(self.strip)
        self.crowds = [each for each in self.crowds if self._estimate_share(each) > 0]

    @property
    def is_done(self) -> bool:
        if self.best >= self._end or self.tries >= MAX_TRIES:
            return True
        return self._is_full_enough() or self.is_narrow

    @property
    def is_narrow(self) -> bool:
        return self.too_far is not None and self.too_far - self.best <= MIN_SLICE_DEGREES

    @property
    def is_impossible(self) -> bool:
        """Whether even the narrowest slice has too many places, or no end was found."""
        return self.is_done and self.best <= 0

    def _is_full_enough(self) -> bool:
        count = len(self.ids)
        least = next((part for tries, part in FILL_THRESHOLDS if self.tries <= tries), 0.4)
        return count > 0 and count / (PAGE_SIZE * ceil(count / PAGE_SIZE)) >= least

    def get_next_area(self) -> Area:
        return self._build_slice(self._guess_end())

    def record_probe(self, tried: Area, ids: Iterable[str]) -> None:
        new_ids = tuple(dict.fromkeys(ids))
        end = width_degrees(tried)
        self.tries += 1
        if len(new_ids) < MAX_PLACES_PER_TILE:
            self.best, self.ids = max(self.best, end), new_ids
        else:
            self.too_far = end if self.too_far is None else min(self.too_far, end)
            self.crowded = new_ids

    def split_strip(self) -> tuple[Area, Area | None]:
        here = wrap_longitude(self.strip.west + self.best)
        if self.best >= self._end:
            return self.strip, None
        return replace(self.strip, east=here), replace(self.strip, west=here)

    def split_halves(self) -> tuple[Area, Area] | None:
        """Split a strip that cannot be cut into south and north, unless it is too flat."""
        middle = (self.strip.south + self.strip.north) / 2
        if self.strip.north - self.strip.south <= 2 * MIN_SLICE_DEGREES:
            return None
        return replace(self.strip, north=middle), replace(self.strip, south=middle)

    def _guess_end(self) -> float:
        far = self._end if self.too_far is None else self.too_far
        missing = TARGET_PER_SLICE - len(self.ids)
        expected = self._estimate_count(far) - self._estimate_count(self.best)
        if self.too_far is None and expected <= missing:
            return far
        guess = _bisect(
            self.best, far, self._estimate_count(self.best) + missing, self._estimate_count
        )
        inside = self.best + (far - self.best) * 0.02 < guess < far - (far - self.best) * 0.02
        return guess if inside and self.tries < 6 else (self.best + far) / 2

    def _estimate_count(self, end: float) -> float:
        """Estimate the places in the first part of the strip, assuming an even spread within each
        tile.
        """
        return sum(self._estimate_share(each, end) for each in self.crowds)

    def _estimate_share(self, crowd: AreaCount, end: float | None = None) -> float:
        area, strip = crowd.area, self.strip
        high = min(area.north, strip.north) - max(area.south, strip.south)
        begin = _get_degrees_east(area.west, strip.west)
        stop = begin + width_degrees(area)
        wide = min(stop, self._end if end is None else end) - max(begin, 0.0)
        if high <= 0 or wide <= 0:
            return 0.0
        return crowd.count * high / (area.north - area.south) * wide / width_degrees(area)

    def _build_slice(self, end: float) -> Area:
        if end >= self._end:
            return self.strip
        return replace(self.strip, east=wrap_longitude(self.strip.west + end))


def _get_degrees_east(longitude: float, west: float) -> float:
    """Return the degrees from `west` to the longitude, negative if it lies slightly west."""
    return (longitude - west + 180) % 360 - 180


def cut_strip(strip: Tile, cut: SliceCut, number: int, spent: int) -> tuple[Tile, ...]:
    """Cut the next slice off a strip. Return the changed tiles: the rest, the slice to fetch, or
    the halves.
    """
    block = strip.path.partition(SLICE_SEPARATOR)[0]
    spent_on = replace(strip, requests=strip.requests + spent)
    if cut.is_impossible:
        return _halve_strip(spent_on, cut, block, number)
    here, rest = cut.split_strip()
    if rest is None:
        return (replace(spent_on, ids=cut.ids),)
    return Tile(f"{block}{SLICE_SEPARATOR}{number}", here, ids=cut.ids), replace(
        spent_on, area=rest
    )


def _halve_strip(strip: Tile, cut: SliceCut, block: str, number: int) -> tuple[Tile, ...]:
    halves = cut.split_halves()
    if halves is None:
        return (
            replace(
                strip,
                ids=cut.crowded,
                note=f"More than {MAX_PLACES_PER_TILE} places at one point.",
            ),
        )
    south, north = halves
    split = replace(strip, state=TileState.SPLIT)
    return (
        split,
        Tile(f"{block}{SLICE_SEPARATOR}{number}", south),
        Tile(f"{block}{SLICE_SEPARATOR}{number + 1}", north),
    )


def get_next_number(tiles: Tiles, strip: Tile) -> int:
    """Return the number of the next slice of the block."""
    block, _, _ = strip.path.partition(SLICE_SEPARATOR)
    return sum(1 for each in tiles.all if each.startswith(f"{block}{SLICE_SEPARATOR}"))


def list_area_counts(tiles: Tiles, strip: Tile) -> list[AreaCount]:
    """Return the non-empty tiles that the strip's block was built from."""
    block = tiles.all[strip.path.partition(SLICE_SEPARATOR)[0]]
    return [AreaCount(each.area, len(each.ids)) for each in tiles.leaves(block) if each.ids]
