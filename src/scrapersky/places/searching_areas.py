"""Where a search looks: as it was given, or where OpenStreetMap says that a name lies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scrapersky.errors import InvalidInput, Rejected
from scrapersky.pipeline.stage import Tools
from scrapersky.places.governor_refusals import verdict_of
from scrapersky.places.searching_steps import AreaFound
from scrapersky.scraper.providers.failures import ProviderFailed
from scrapersky.scraper.providers.geography import around, centre, check_area
from scrapersky.scraper.providers.model import Area
from scrapersky.scraper.providers.osm import Nominatim


def named_query(location: str, region: str | None) -> str:
    """As names of areas are kept: there is a Paris in Texas, for who asks for it there."""
    plain = " ".join(location.split()).lower()
    return f"{plain} [{region.lower()}]" if region else plain


def area_of(params: Mapping[str, Any]) -> Area | None:
    """As it was given; nothing where only a name was."""
    if params.get("area"):
        return Area(**params["area"])
    if params.get("center"):
        at = params["center"]
        return around(at["latitude"], at["longitude"], params["radius_km"])
    return None


def narrowed(area: Area, radius_km: float | None) -> Area:
    """A radius is counted from the middle of what was named."""
    return area if radius_km is None else around(*centre(area), radius_km)


def checked(area: Area, name: str) -> Area:
    try:
        return check_area(area)
    except InvalidInput as error:
        raise Rejected(f"{name}: {error}") from error


async def look_up(location: str, language: str, region: str | None, tools: Tools) -> AreaFound:
    nominatim = Nominatim(tools.fetch, tools.settings.nominatim_base_url)
    try:
        found = await nominatim.area(location, language, country=region)
    except ProviderFailed as error:
        raise verdict_of(error) from error
    if found is None:
        raise Rejected(
            f"OpenStreetMap knows no area called {location!r}{_in(region)}. Write it as on a map, "
            "with its country where several have the name, or give a center with a radius."
        )
    query = named_query(location, region)
    return AreaFound(query, found.name, found.area, found.country, found.osm)


def _in(region: str | None) -> str:
    return f" in the region {region.upper()}" if region else ""
