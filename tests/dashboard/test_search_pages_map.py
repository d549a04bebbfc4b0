"""The map of a search: correct proportions, also across the date line, with a readable scale."""

from __future__ import annotations

import re

import pytest

from scrapersky.dashboard.views.search_coverage import (
    Projection,
    build_coverage_map,
    get_bounding_area,
    round_down,
)
from scrapersky.models import SearchTile
from scrapersky.scraper.providers.geography import split_area
from scrapersky.scraper.providers.model import Area

LEIPZIG = Area(51.2, 12.2, 51.45, 12.55)
FIJI = Area(-18.5, 176.0, -16.0, -179.0)


def corners(path: str) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of every rectangle."""
    steps = re.findall(r"M(\S+) ([^h]+)h([^v]+)v([^h]+)h[^z]+z", path)
    found = [tuple(map(float, each)) for each in steps]
    return [(x, y, x + wide, y + high) for x, y, wide, high in found]


def tile(path: str, area: Area, state: str) -> SearchTile:
    return SearchTile(
        path=path, state=state, found=0, new=0, south=area.south, west=area.west, north=area.north,
        east=area.east,
    )  # fmt: skip


@pytest.mark.parametrize("area", [LEIPZIG, FIJI])
def test_the_quarters_of_an_area_fill_its_map_without_gap_or_overlap(area: Area) -> None:
    map_of_it = Projection.of(area)
    south_west, south_east, north_west, north_east = (
        corners(map_of_it.rectangle(each))[0] for each in split_area(area)
    )

    assert north_west[:2] == (0, 0)
    assert south_east[2:] == pytest.approx((map_of_it.width, map_of_it.height), abs=0.2)
    assert south_west[2] == pytest.approx(south_east[0], abs=0.2)
    assert north_west[3] == pytest.approx(south_west[1], abs=0.2)
    assert north_east[:2] == pytest.approx((south_east[0], 0), abs=0.2)


def test_a_kilometre_is_as_long_to_the_east_as_to_the_north() -> None:
    square = Area(51.0, 12.0, 51.09, 12.143)  # 10 km by 10 km, there
    map_of_it = Projection.of(square)

    assert map_of_it.width == pytest.approx(map_of_it.height, rel=0.01)
    assert map_of_it.scale_bar.says == "2 km"
    assert map_of_it.scale_bar.length == pytest.approx(map_of_it.width / 5, rel=0.02)


def test_a_place_beyond_the_date_line_lies_where_it_belongs() -> None:
    map_of_it = Projection.of(FIJI)

    assert map_of_it.point(-17.0, 179.9) == f"M{map_of_it.x(179.9):g} {map_of_it.y(-17.0):g}h0"
    assert 0 < map_of_it.x(179.9) < map_of_it.x(-179.9) < map_of_it.width


@pytest.mark.parametrize(("given", "said"), [(37, 20), (5, 5), (0.7, 0.5), (1999, 1000)])
def test_a_scale_is_a_round_number(given: float, said: float) -> None:
    assert round_down(given) == pytest.approx(said)


def test_tiles_in_whose_place_others_were_asked_are_not_drawn() -> None:
    south_west, south_east, north_west, north_east = split_area(LEIPZIG)
    coverage = build_coverage_map(
        [
            tile("", LEIPZIG, "split"),
            tile("0", south_west, "joined"),
            tile("0/0", south_west, "done"),
            tile("1", south_east, "known"),
            tile("2", north_west, "done"),
            tile("3", north_east, "waiting"),
        ],
        [(51.3, 12.3, True), (51.3, 12.4, False)],
    )

    assert coverage is not None
    assert {each.state: each.tiles for each in coverage.counts} == {
        "done": 2,
        "known": 1,
        "waiting": 1,
    }
    assert coverage.sentence == "75 % of 676 km² searched."
    assert (coverage.fitting.count("M"), coverage.others.count("M")) == (1, 1)


def test_an_area_is_covered_wholly_only_when_nothing_is_missing() -> None:
    whole = build_coverage_map([tile("", LEIPZIG, "done")], [])
    assert whole is not None
    assert whole.sentence == "All of 676 km² searched."
    sliver = Area(LEIPZIG.south, LEIPZIG.west, LEIPZIG.south + 0.0001, LEIPZIG.east)
    rest = Area(LEIPZIG.south + 0.0001, LEIPZIG.west, LEIPZIG.north, LEIPZIG.east)
    nearly = build_coverage_map(
        [tile("", LEIPZIG, "split"), tile("0", rest, "done"), tile("1", sliver, "waiting")], []
    )
    assert nearly is not None
    assert nearly.sentence == "99 % of 676 km² searched."


def test_places_of_a_list_are_drawn_without_an_area() -> None:
    at = [(51.3, 12.3), (51.4, 12.5)]
    coverage = build_coverage_map([], [(*each, True) for each in at])

    assert coverage is not None
    assert coverage.sentence == ""
    around = get_bounding_area(at)
    assert around.south < 51.3 < 51.4 < around.north
    assert build_coverage_map([], []) is None


def test_one_place_alone_has_a_map_around_it() -> None:
    coverage = build_coverage_map([], [(51.3, 12.3, True)])

    assert coverage is not None
    assert coverage.width > 0
    assert coverage.height > 0
