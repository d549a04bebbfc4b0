"""Fake providers, and clients that use them through a real fetcher."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.providers import Area
from scrapersky.scraper.providers.google import GooglePlaces
from scrapersky.scraper.providers.osm import Nominatim, Overpass
from scrapersky.settings import SettingsSource, load_settings
from scrapersky.testing import DEMO_KEY, FakeArea, PlacesProvider, scatter

LEIPZIG = Area(51.24, 12.20, 51.44, 12.55)


@pytest.fixture
async def provider() -> AsyncIterator[PlacesProvider]:
    async with PlacesProvider(scatter(75, LEIPZIG), [FakeArea("Leipzig", LEIPZIG)]) as opened:
        yield opened


@pytest.fixture
async def fetch(provider: PlacesProvider) -> AsyncIterator[Fetcher]:
    environ = {**provider.environment(), "FETCH_TIMEOUT_SECONDS": "5"}
    settings = load_settings(SettingsSource(environ=environ, env_file=None))
    async with Fetcher.from_settings(settings) as opened:
        yield opened


@pytest.fixture
def google(fetch: Fetcher, provider: PlacesProvider) -> GooglePlaces:
    return GooglePlaces(fetch, DEMO_KEY, provider.google_url)


@pytest.fixture
def nominatim(fetch: Fetcher, provider: PlacesProvider) -> Nominatim:
    return Nominatim(fetch, provider.nominatim_url)


@pytest.fixture
def overpass(fetch: Fetcher, provider: PlacesProvider) -> Overpass:
    return Overpass(fetch, provider.overpass_url)
