"""Ask Nominatim where a named area lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from scrapersky.scraper.failures import FetchFailed
from scrapersky.scraper.fetch import Fetcher
from scrapersky.scraper.providers.failures import BadRequest, ProviderDown
from scrapersky.scraper.providers.geography import KM_PER_DEGREE, around
from scrapersky.scraper.providers.model import Area
from scrapersky.scraper.providers.osm.answers import document_in
from scrapersky.scraper.providers.unreachable import unreachable
from scrapersky.scraper.providers.values import items_of, mapping_of, text_of

SECONDS_BETWEEN_REQUESTS = 1.0
"""What its usage policy asks of an application, over all of its processes."""
MOST_RESULTS = 5
MAX_ANSWER_BYTES = 1024 * 1024
LONGEST_QUERY = 300
SMALLEST_RADIUS_KM = 1.0
"""A name may be that of a house: what is looked for is then around it."""


@dataclass(frozen=True, slots=True)
class NamedArea:
    """Where something lies. Its area may be too large to be searched: see `check_area`."""

    name: str
    area: Area
    country: str | None
    """Two letters, upper case."""
    osm: str | None
    """`relation/62649`."""


class Nominatim:
    def __init__(self, fetch: Fetcher, base_url: str) -> None:
        self._fetch = fetch
        self._base_url = base_url.rstrip("/")

    async def area(
        self, query: str, language: str = "en", *, country: str | None = None
    ) -> NamedArea | None:
        """Nothing when it knows no such place (in the `country`, two letters, where one is given).
        Who asks keeps the answer, and asks once."""
        wanted = text_of(query, at_most=LONGEST_QUERY + 1)
        if wanted is None or len(wanted) > LONGEST_QUERY:
            raise BadRequest(f"A place's name has 1 to {LONGEST_QUERY} characters.")
        await self._fetch.set_crawl_delay(self._base_url, SECONDS_BETWEEN_REQUESTS)
        asked: dict[str, str | int] = {
            "q": wanted,
            "format": "jsonv2",
            "limit": MOST_RESULTS,
            "addressdetails": 1,
            "accept-language": text_of(language) or "en",
        }
        if country:
            asked["countrycodes"] = country.lower()
        document = await self._ask(f"{self._base_url}/search?{urlencode(asked)}")
        if not isinstance(document, list):
            raise ProviderDown("Nominatim answered with something else than a list of places.")
        read = (_named_area(mapping_of(each)) for each in items_of(document))
        return next((each for each in read if each is not None), None)

    async def _ask(self, url: str) -> Any:
        headers = {"Accept": "application/json"}
        try:
            response = await self._fetch.ask(
                url, headers=headers, max_bytes=MAX_ANSWER_BYTES, to_provider=True
            )
        except FetchFailed as error:
            raise unreachable("Nominatim", error) from error
        return document_in(response, "Nominatim")


def _named_area(found: Mapping[str, Any]) -> NamedArea | None:
    area = _area(found)
    if area is None:
        return None
    address = mapping_of(found.get("address"))
    country = text_of(address.get("country_code"), at_most=2)
    kind, number = text_of(found.get("osm_type")), found.get("osm_id")
    return NamedArea(
        name=text_of(found.get("display_name")) or text_of(found.get("name")) or "",
        area=area,
        country=country.upper() if country and country.isalpha() else None,
        osm=f"{kind}/{number}" if kind and isinstance(number, int) else None,
    )


def _area(found: Mapping[str, Any]) -> Area | None:
    """Its box, which goes south, north, west, east, as texts; one that is smaller than what
    people mean by `there` is made larger."""
    box = [_degrees(each) for each in items_of(found.get("boundingbox"))]
    if len(box) != 4 or None in box:
        return None
    south, north, west, east = (each for each in box if each is not None)
    if not (-90 <= south <= north <= 90 and -180 <= west <= 180 and -180 <= east <= 180):
        return None
    if max(north - south, abs(east - west)) < 2 * SMALLEST_RADIUS_KM / KM_PER_DEGREE:
        return around((south + north) / 2, (west + east) / 2, SMALLEST_RADIUS_KM)
    return Area(south=south, west=west, north=north, east=east)


def _degrees(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        degrees = float(value)
    except (ValueError, OverflowError):
        return None
    return degrees if -360 <= degrees <= 360 else None
