"""Areas and distances, including the date line and the poles."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scrapersky.errors import InvalidInput
from scrapersky.scraper.providers.geography import (
    MAX_RADIUS_KM,
    area_km2,
    check_area,
    check_point,
    contains,
    distance_m,
    get_bounding_area,
    get_cell,
    get_centre,
    get_neighbours,
    side_km,
    split_area,
    width_degrees,
    wrap_longitude,
)
from scrapersky.scraper.providers.model import Area

latitudes = st.floats(-90, 90)
longitudes = st.floats(-180, 180)
points = st.tuples(latitudes, longitudes)


@st.composite
def areas(draw: st.DrawFn) -> Area:
    south = draw(st.floats(-89, 88))
    west = draw(longitudes)
    high, wide = draw(st.floats(0.001, 10)), draw(st.floats(0.001, 170))
    return Area(south, west, min(90.0, south + high), wrap_longitude(west + wide))


@given(area=areas(), at=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_a_point_of_an_area_is_in_one_of_its_quarters(area: Area, at: tuple[float, float]) -> None:
    latitude = area.south + at[0] * (area.north - area.south)
    longitude = wrap_longitude(area.west + at[1] * width_degrees(area))
    assume(contains(area, latitude, longitude))  # rounding may push it over the border

    assert any(contains(each, latitude, longitude) for each in split_area(area))


@given(area=areas(), point=points)
def test_quarters_hold_nothing_that_the_area_does_not(
    area: Area, point: tuple[float, float]
) -> None:
    if any(contains(each, *point) for each in split_area(area)):
        assert contains(area, *point)


@given(area=areas())
def test_quarters_meet_exactly_and_are_as_large_as_the_whole(area: Area) -> None:
    south_west, south_east, north_west, north_east = split_area(area)

    assert (south_west.south, south_west.west) == (area.south, area.west)
    assert (north_east.north, north_east.east) == (area.north, area.east)
    assert south_west.east == south_east.west == north_west.east == north_east.west
    assert south_west.north == north_west.south == south_east.north == north_east.south
    assert sum(map(area_km2, split_area(area))) == pytest.approx(area_km2(area), rel=1e-6)
    assert contains(area, *get_centre(area))


@given(one=points, other=points)
def test_distance_is_the_same_both_ways_and_never_beyond_half_the_globe(
    one: tuple[float, float], other: tuple[float, float]
) -> None:
    there, back = distance_m(one, other), distance_m(other, one)

    assert there == pytest.approx(back, abs=1e-6)
    assert 0 <= there <= math.pi * 6_371_008.8 + 1
    assert distance_m(one, one) == 0


def test_distances_are_known_ones() -> None:
    leipzig, berlin = (51.3397, 12.3731), (52.5200, 13.4050)

    assert distance_m(leipzig, berlin) == pytest.approx(149_000, rel=0.01)
    assert distance_m((0, 179.5), (0, -179.5)) == pytest.approx(111_195, rel=0.001)
    assert distance_m((90, 0), (90, 123)) == pytest.approx(0, abs=0.001)


@given(
    latitude=st.floats(-80, 80),
    longitude=longitudes,
    radius=st.floats(0.1, MAX_RADIUS_KM),
    bearing=st.floats(0, 2 * math.pi),
)
def test_a_circle_lies_in_the_area_around_its_centre(
    latitude: float, longitude: float, radius: float, bearing: float
) -> None:
    area = get_bounding_area(latitude, longitude, radius)
    there = destination(latitude, longitude, radius * 0.999, bearing)

    assert contains(area, *there)
    assert check_area(area) == area


def test_an_area_at_a_pole_ends_there() -> None:
    area = get_bounding_area(89.9, 10, 100)

    assert area.north == 90
    assert width_degrees(area) == pytest.approx(180)


def test_an_area_across_the_date_line_is_narrow() -> None:
    area = get_bounding_area(-17, 179.9, 50)

    assert area.west > area.east
    assert width_degrees(area) < 2
    assert contains(area, -17, -179.95)
    assert not contains(area, -17, 0)


def test_a_radius_of_five_thousand_kilometres_is_refused_with_the_limit() -> None:
    with pytest.raises(InvalidInput, match=r"5,000 km is too large \(maximum 500 km\)"):
        get_bounding_area(51, 12, 5_000)


@pytest.mark.parametrize("radius", [0, -1, math.nan, math.inf, 0.001])
def test_a_radius_that_is_none_is_refused(radius: float) -> None:
    with pytest.raises(InvalidInput, match="radius"):
        get_bounding_area(51, 12, radius)


@pytest.mark.parametrize(
    ("latitude", "longitude"),
    [(90.1, 0), (-91, 0), (0, 180.5), (0, -181), (math.nan, 0), (0, math.inf)],
)
def test_coordinates_out_of_range_are_refused(latitude: float, longitude: float) -> None:
    for check in (check_point, get_cell):
        with pytest.raises(InvalidInput, match="between"):
            check(latitude, longitude)
    with pytest.raises(InvalidInput, match="between"):
        get_bounding_area(latitude, longitude, 1)


@pytest.mark.parametrize(
    ("area", "sentence"),
    [
        (Area(52, 12, 51, 13), "south of its north"),
        (Area(51, 12, 51, 13), "south of its north"),
        (Area(51, 12, 52, 12), "must differ"),
        (Area(51, -170, 52, 170), "half of the globe"),
        (Area(-40, -60, 40, 60), "too large"),
        (Area(51, 12, 95, 13), "between -90 and 90"),
    ],
)
def test_areas_that_cannot_be_searched_are_refused(area: Area, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        check_area(area)


def test_a_large_country_can_be_searched() -> None:
    assert check_area(Area(24.5, -125, 49.4, -66.9))


def test_the_size_of_an_area_is_that_of_the_globe() -> None:
    assert area_km2(Area(-90, -180, 90, 180)) == pytest.approx(510_065_000, rel=0.001)
    assert side_km(Area(0, 0, 1, 2)) == pytest.approx(222.4, rel=0.01)


@given(
    latitude=latitudes,
    longitude=longitudes,
    metres=st.floats(0, 1_000),
    bearing=st.floats(0, 2 * math.pi),
)
def test_whatever_lies_within_a_kilometre_is_in_a_neighbouring_cell(
    latitude: float, longitude: float, metres: float, bearing: float
) -> None:
    there = destination(latitude, longitude, metres / 1000, bearing)

    assert get_cell(*there) in get_neighbours(get_cell(latitude, longitude))


@given(point=points)
def test_cells_are_neighbours_of_each_other(point: tuple[float, float]) -> None:
    cell = get_cell(*point)

    around_it = get_neighbours(cell)

    assert around_it[0] == cell
    assert len(set(around_it)) == len(around_it)


@pytest.mark.parametrize("cell", ["", "x", "1", "1:2:3", "-1:4", "99999:1"])
def test_what_names_no_cell_is_refused(cell: str) -> None:
    with pytest.raises(InvalidInput, match="not a valid cell"):
        get_neighbours(cell)


def destination(
    latitude: float, longitude: float, km: float, bearing: float
) -> tuple[float, float]:
    angle, north = km / 6371.0088, math.radians(latitude)
    up = math.sin(north) * math.cos(angle)
    sine = up + math.cos(north) * math.sin(angle) * math.cos(bearing)
    there = math.asin(max(-1.0, min(1.0, sine)))
    turn = math.atan2(
        math.sin(bearing) * math.sin(angle) * math.cos(north),
        math.cos(angle) - math.sin(north) * math.sin(there),
    )
    return math.degrees(there), wrap_longitude(longitude + math.degrees(turn))
