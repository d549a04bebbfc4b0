"""Geocoding of named areas."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import pytest
from hypothesis import given

from scrapersky.scraper.http.addresses import AddressRules
from scrapersky.scraper.http.fetch import Fetcher, get_gate_key
from scrapersky.scraper.http.rate_limit import HostOutcome
from scrapersky.scraper.providers import Area
from scrapersky.scraper.providers.errors import (
    BadRequest,
    KeyRefused,
    MinuteQuota,
    ProviderDown,
    ProviderFailed,
)
from scrapersky.scraper.providers.geography import area_km2, contains
from scrapersky.scraper.providers.osm import NamedArea, Nominatim
from scrapersky.settings import SettingsSource, load_settings
from scrapersky.testing import FailureMode, FakeArea, PlacesProvider, ProviderService
from tests.scraper.providers.canned import (
    Canned,
    fetcher_that_says,
    json_values,
    response,
    spoiled,
)
from tests.scraper.providers.conftest import LEIPZIG

FOUND: dict[str, Any] = {
    "osm_type": "relation",
    "osm_id": 62649,
    "lat": "51.34",
    "lon": "12.37",
    "display_name": "Leipzig, Sachsen, Deutschland",
    "address": {"country_code": "de"},
    "boundingbox": ["51.2381704", "51.4481145", "12.2366519", "12.5424440"],
}


async def test_a_town_is_found_with_its_box_in_the_right_order(nominatim: Nominatim) -> None:
    found = await nominatim.area("  leipzig ", "de")

    assert found == NamedArea("Leipzig, DE", LEIPZIG, "DE", "relation/62000")


async def test_a_town_nobody_knows_is_nothing(nominatim: Nominatim) -> None:
    assert await nominatim.area("Atlantis", "en") is None


async def test_a_house_is_searched_around(nominatim: Nominatim, provider: PlacesProvider) -> None:
    provider.map.areas = [FakeArea("Markt 1", Area(51.34, 12.37, 51.3401, 12.3701))]

    found = await nominatim.area("Markt 1", "de")

    assert found is not None
    assert contains(found.area, 51.3405, 12.3705)
    assert area_km2(found.area) == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize("query", ["", "  ", "\x00", "x" * 301])
async def test_a_name_that_is_none_is_not_asked_for(
    nominatim: Nominatim, provider: PlacesProvider, query: str
) -> None:
    with pytest.raises(BadRequest, match="1 to 300"):
        await nominatim.area(query, "en")

    assert provider.counts.total() == 0


@pytest.mark.parametrize(
    ("trouble", "kind", "sentence"),
    [
        (FailureMode.FORBIDDEN, KeyRefused, "usage policy"),
        (FailureMode.MINUTE_QUOTA, MinuteQuota, "Too many requests"),
        (FailureMode.SERVER_ERROR, ProviderDown, "answered 500"),
        (FailureMode.UNAVAILABLE, ProviderDown, "answered 503"),
        (FailureMode.WEB_PAGE, ProviderDown, "did not answer with JSON"),
        (FailureMode.REDIRECT, ProviderDown, "answered 302"),
        (FailureMode.CUT, ProviderDown, "could not be reached"),
    ],
)
async def test_each_failure_has_its_name(
    provider: PlacesProvider, trouble: FailureMode, kind: type[ProviderFailed], sentence: str
) -> None:
    provider.fail(trouble, service=ProviderService.NOMINATIM, times=2)
    settings = load_settings(SettingsSource(environ=provider.environment(), env_file=None))

    async with Fetcher.from_settings(settings) as fetch:
        with pytest.raises(kind, match=sentence):
            await Nominatim(fetch, provider.nominatim_url).area("Leipzig", "en")


def test_an_error_in_json_is_a_bad_request_in_its_words() -> None:
    body = json.dumps({"error": {"code": 400, "message": "Bad viewbox."}}).encode()

    with pytest.raises(BadRequest, match="Bad viewbox"):
        asyncio.run(Nominatim(fetcher_that_says(response(body, 400)), "").area("x"))


def test_something_else_than_a_list_is_a_failure() -> None:
    body = b'{"error": "Unable to geocode"}'

    with pytest.raises(ProviderDown, match="list of places"):
        asyncio.run(Nominatim(fetcher_that_says(response(body)), "").area("x"))


@pytest.mark.parametrize(
    "box",
    [
        ["51", "52", "12"],
        ["52", "51", "12", "13"],
        ["a", "b", "c", "d"],
        [None, 1, 2, 3],
        ["nan", "52", "12", "13"],
        ["-91", "52", "12", "13"],
        ["51", "52", "-181", "13"],
        "51,52,12,13",
    ],
)
def test_a_result_without_a_proper_box_is_passed_over(box: object) -> None:
    body = json.dumps([{**FOUND, "boundingbox": box}, FOUND]).encode()

    found = asyncio.run(Nominatim(fetcher_that_says(response(body)), "").area("Leipzig"))

    assert found is not None
    assert found.osm == "relation/62649"
    assert found.area.west == 12.2366519


@given(document=spoiled([FOUND]) | json_values)
def test_an_answer_is_an_area_nothing_or_a_named_failure(document: Any) -> None:
    answer = response(json.dumps(document).encode())

    with suppress(ProviderFailed):
        found = asyncio.run(Nominatim(fetcher_that_says(answer), "").area("Leipzig"))
        assert found is None or -90 <= found.area.south <= found.area.north <= 90


class NotingGate:
    """Lets everybody through, and notes what is said about hosts."""

    def __init__(self) -> None:
        self.delays: dict[str, float] = {}

    @asynccontextmanager
    async def slot(self, host: str, *, exempt: bool) -> AsyncIterator[None]:
        assert self.delays.get(host) == 1.0, "asked before the gate knew how far apart"
        yield

    async def report(self, host: str, outcome: HostOutcome) -> None:
        """Nobody asks."""

    async def set_crawl_delay(self, host: str, seconds: float) -> None:
        self.delays[host] = seconds


async def test_the_gate_is_told_of_one_request_a_second_before_the_first(
    provider: PlacesProvider,
) -> None:
    gate = NotingGate()
    settings = load_settings(SettingsSource(environ=provider.environment(), env_file=None))
    rules = AddressRules.from_provider_settings(settings)
    async with Fetcher(user_agent="ScraperSky test", rules=rules, gate=gate) as fetch:
        await Nominatim(fetch, provider.nominatim_url).area("Leipzig", "en")

    assert gate.delays == {get_gate_key(provider.nominatim_url): 1.0}


async def test_only_the_country_that_was_asked_for_is_looked_in() -> None:
    canned = Canned(response(b"[]"))
    nominatim = Nominatim(cast(Fetcher, canned), "")

    await nominatim.area("Paris", country="US")
    await nominatim.area("Paris")

    assert ["countrycodes=us" in each for each in canned.asked] == [True, False]
