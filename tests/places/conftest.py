"""Place providers on loopback, with a town on their map."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from scrapersky.scraper.providers import Area
from scrapersky.settings import Settings
from scrapersky.testing import FakeArea, PlacesProvider, scatter
from tests.conftest import make_settings

LEIPZIG = Area(51.24, 12.20, 51.44, 12.55)
TOWN = FakeArea("Leipzig", LEIPZIG)


@pytest.fixture
async def provider() -> AsyncIterator[PlacesProvider]:
    """Forty bakeries in Leipzig; a test may put another map in place: `provider.map.places = …`."""
    async with PlacesProvider(scatter(40, LEIPZIG), [TOWN]) as opened:
        yield opened


@pytest.fixture
def place_settings(url: str, provider: PlacesProvider) -> Settings:
    """Settings of a test that asks these providers, with its own database."""
    named = {name.lower(): value for name, value in provider.environment().items()}
    return make_settings(url, **named)
