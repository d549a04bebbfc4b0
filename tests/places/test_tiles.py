"""Dividing an area into tiles with as few paid requests as possible."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil

import pytest

from scrapersky.models import TileState
from scrapersky.places.search import plan
from scrapersky.places.search.tiles import MAX_PLACES_PER_TILE, PAGE_SIZE, Tile, Tiles
from scrapersky.scraper.providers.geography import contains
from scrapersky.scraper.providers.model import Area

TOWN = Area(51.2, 12.2, 51.5, 12.6)
ACROSS_THE_DATE_LINE = Area(-18.0, 179.8, -17.7, -179.8)
Points = Mapping[str, tuple[float, float]]


@dataclass
class Round:
    """A search without a provider: it is told what lies where."""

    points: Points
    tiles: Tiles
    found: set[str] = field(default_factory=set)
    paid: int = 0
    free: int = 0

    def look(self, area: Area) -> list[str]:
        inside = [key for key, point in self.points.items() if contains(area, *point)][
            :MAX_PLACES_PER_TILE
        ]
        self.free += max(1, ceil(len(inside) / PAGE_SIZE))
        return inside

    def run(self) -> Round:
        while len(self.found) < self.tiles.enough and self._step():
            pass
        return self

    def _step(self) -> bool:
        tile = self.tiles.get_next_probe()
        if tile is not None:
            self.tiles.split_or_keep(tile, self.look(tile.area), 1)
            return True
        plan.plan_tiles(self.tiles, frozenset(self.found))
        ready = [each for each in self.tiles.open() if each.ids is not None]
        strips = [each for each in self.tiles.open() if each.is_slice]
        if ready:
            self._pay(ready[0])
        elif strips:
            self._cut(strips[0])
        return bool(ready or strips)

    def _cut(self, strip: Tile) -> None:
        cut = plan.SliceCut(strip.area, plan.list_area_counts(self.tiles, strip))
        while not cut.is_done:
            tried = cut.get_next_area()
            cut.record_probe(tried, self.look(tried))
        number = plan.get_next_number(self.tiles, strip)
        self.tiles.replace_tiles(*plan.cut_strip(strip, cut, number, cut.tries))

    def _pay(self, tile: Tile) -> None:
        ids = tile.ids or ()
        new = set(ids) - self.tiles.known - self.found
        self.tiles.replace_tiles(
            replace(tile, state=TileState.DONE) if new else plan.mark_known(tile)
        )
        for start in range(0, len(ids) if new else 0, PAGE_SIZE):
            if len(self.found) < self.tiles.enough:
                self.paid += 1
                self.found |= set(ids[start : start + PAGE_SIZE])
        if not new:
            self.found |= set(ids)


def searched(points: Points, area: Area = TOWN, *, enough: int = 1000, **more: object) -> Round:
    known = more.get("known", frozenset())
    limit = more.get("limit", 1000)
    assert isinstance(known, frozenset)
    assert isinstance(limit, int)
    tiles = Tiles.of([Tile("", area)], limit=limit, enough=enough, known=known)
    return Round(points, tiles).run()


def uniform(count: int, chance: random.Random) -> Points:
    return {
        str(n): (
            chance.uniform(TOWN.south, TOWN.north),
            chance.uniform(TOWN.west, TOWN.east),
        )
        for n in range(count)
    }


def clustered(count: int, chance: random.Random) -> Points:
    quarters = [(chance.uniform(51.25, 51.45), chance.uniform(12.25, 12.55)) for _ in range(6)]
    return {
        str(n): (chance.gauss(at[0], 0.008), chance.gauss(at[1], 0.008))
        for n, at in ((n, chance.choice(quarters)) for n in range(count))
    }


def dense(count: int, chance: random.Random) -> Points:
    return {str(n): (chance.gauss(51.33, 0.002), chance.gauss(12.37, 0.002)) for n in range(count)}


def in_rows(count: int, chance: random.Random) -> Points:
    """As in a town that was drawn with a ruler: many share a longitude."""
    wide = ceil(count**0.5)
    return {
        str(n): (51.2 + (n // wide + 0.5) * 0.3 / wide, 12.2 + (n % wide + 0.5) * 0.4 / wide)
        for n in range(count)
    }


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("layout", [uniform, clustered, dense, in_rows])
@pytest.mark.parametrize("there_are", [1000, 3000])
def test_a_thousand_places_take_at_most_a_fifth_more_requests_than_full_pages_would(
    layout: Callable[[int, random.Random], Points], seed: int, there_are: int
) -> None:
    done = searched(layout(there_are, random.Random(seed)))

    assert len(done.found) >= 1000
    assert done.paid <= 1.2 * ceil(1000 / PAGE_SIZE)
    assert done.free < 800


@pytest.mark.parametrize("layout", [uniform, clustered, dense, in_rows])
def test_everything_in_the_area_is_found(
    layout: Callable[[int, random.Random], Points],
) -> None:
    points = layout(700, random.Random(3))
    done = searched(points, enough=10_000)

    assert done.found == {key for key, at in points.items() if contains(TOWN, *at)}
    assert not done.tiles.open()


def test_the_parts_that_were_asked_cover_the_area_once() -> None:
    done = searched(uniform(900, random.Random(4)), enough=10_000)
    divided = (TileState.SPLIT, TileState.JOINED)
    parts = [each.area for each in done.tiles.all.values() if each.state not in divided]

    for latitude, longitude in uniform(300, random.Random(5)).values():
        assert sum(contains(each, latitude, longitude) for each in parts) == 1


def test_an_area_across_the_date_line_is_divided_like_any_other() -> None:
    chance = random.Random(6)
    east = [chance.uniform(179.8, 180.2) for _ in range(300)]
    points = {
        str(n): (chance.uniform(-18, -17.7), each if each <= 180 else each - 360)
        for n, each in enumerate(east)
    }
    done = searched(points, ACROSS_THE_DATE_LINE)

    assert len(done.found) == 300
    assert done.paid <= 1.2 * ceil(300 / PAGE_SIZE)


def test_what_is_all_known_is_not_paid_for() -> None:
    points = uniform(400, random.Random(7))
    done = searched(points, enough=10_000, known=frozenset(points))

    states = {each.state for each in done.tiles.all.values()}
    assert done.paid == 0
    assert states <= {TileState.KNOWN, TileState.SPLIT, TileState.DONE}


def test_a_few_unknown_ones_cost_a_page_each() -> None:
    points = uniform(400, random.Random(8))
    done = searched(points, enough=10_000, known=frozenset(list(points)[5:]))

    assert set(list(points)[:5]) <= done.found
    assert done.paid <= 5


def test_the_middle_of_an_area_comes_first() -> None:
    """Where a search has enough before all was looked at."""
    points = uniform(5000, random.Random(9))
    done = searched(points, enough=200)

    away = [abs(points[each][0] - 51.35) / 0.15 for each in done.found]
    assert sum(away) / len(away) < 0.5


def test_no_more_tiles_are_made_than_allowed() -> None:
    done = searched(uniform(2000, random.Random(10)), enough=10_000, limit=21)

    quarters = [each for each in done.tiles.all.values() if not each.is_slice]
    assert len(quarters) == 21
    assert any(each.note and "PLACE_SEARCH_MAX_TILES" in each.note for each in quarters)
