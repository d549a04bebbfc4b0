"""Clients for Nominatim and Overpass."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any
from urllib.parse import urlencode

from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.http.fetch_errors import FetchFailed
from scrapersky.scraper.http.responses import Response
from scrapersky.scraper.providers import errors
from scrapersky.scraper.providers.geography import KM_PER_DEGREE, get_bounding_area
from scrapersky.scraper.providers.model import Area, PlacePage, PlaceQuery
from scrapersky.scraper.providers.osm.overpass import MAX_QUERY_SECONDS, build_query, parse_element
from scrapersky.scraper.providers.values import as_list, as_mapping, parse_json, parse_text

DEFAULT_RETRY_SECONDS = 60.0
"""Retry delay if a busy server does not name one."""
_ERROR_MESSAGE = re.compile(
    r"<strong[^>]{0,80}>\s*Error\s*</strong>\s*:?(.{1,600}?)</p>", re.I | re.S
)
_HTML_TAG = re.compile(r"<[^>]{0,200}>")
_REFUSED_BY_STATUS = {
    403: "rejects our requests. Check its usage policy, identify yourself in FETCH_USER_AGENT, or "
    "use your own server",
    401: "requires authentication, which is not supported. Use another server",
}


async def _request(
    fetch: Fetcher,
    provider: str,
    url: str,
    body: bytes | None = None,
    *,
    max_bytes: int | None = None,
) -> Any:
    headers = {"Accept": "application/json"}
    if body is not None:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    try:
        response = await fetch.ask(
            url, body, headers=headers, max_bytes=max_bytes, to_provider=True
        )
    except FetchFailed as error:
        raise errors.build_unreachable_error(provider, error) from error
    return parse_document(response, provider)


def parse_document(response: Response, provider: str) -> Any:
    if response.status != 200:
        raise _build_failure(response, provider)
    if response.truncated is not None and "larger" in response.truncated:
        raise errors.AreaTooLarge(f"{provider} returned too much data. Search a smaller area.")
    if response.truncated is not None:
        raise errors.ProviderDown(f"{provider}'s response is incomplete: {response.truncated}")
    try:
        return parse_json(response.body)
    except ValueError as error:
        raise errors.ProviderDown(
            f"{provider} did not answer with JSON. Check {provider.upper()}_BASE_URL and any proxy "
            "in between.",
            retry_after_seconds=response.retry_after_seconds,
        ) from error


def _build_failure(response: Response, provider: str) -> errors.ProviderFailed:
    status, wait = response.status, response.retry_after_seconds
    if status == 429:
        seconds = DEFAULT_RETRY_SECONDS if wait is None else wait
        return errors.MinuteQuota(
            f"Too many requests to {provider}. Retrying in {seconds:.0f} s.",
            retry_after_seconds=seconds,
        )
    if status in _REFUSED_BY_STATUS:
        return errors.KeyRefused(f"{provider} {_REFUSED_BY_STATUS[status]}.")
    if status < 400:
        return errors.ProviderDown(
            f"{provider} answered {status} without data. Check {provider.upper()}_BASE_URL."
        )
    if status in (408, 425) or status >= 500:
        return errors.ProviderDown(
            f"{provider} answered {status}. It may be overloaded.", retry_after_seconds=wait
        )
    return errors.BadRequest(f"{provider} rejected the request: {get_error_message(response)}")


def get_error_message(response: Response) -> str:
    """Return the error message from a JSON or HTML response."""
    try:
        error = as_mapping(parse_json(response.body)).get("error")
        message = parse_text(error) or parse_text(as_mapping(error).get("message"))
    except ValueError:
        match = _ERROR_MESSAGE.search(response.body[:20_000].decode("utf-8", "replace"))
        message = parse_text(unescape(_HTML_TAG.sub("", match[1]))) if match else None
    return message or f"status {response.status} without a reason."


SECONDS_BETWEEN_REQUESTS = 1.0
"""Request interval required by the usage policy, across all processes of an application."""
MAX_RESULTS = 5
MAX_NOMINATIM_BYTES = 1024 * 1024
MAX_QUERY_CHARACTERS = 300
MIN_AREA_RADIUS_KM = 1.0
"""Minimum radius of a named area. The name may be that of a single building."""


@dataclass(frozen=True, slots=True)
class NamedArea:
    """Named area. It may be too large to search; see `check_area`."""

    name: str
    area: Area
    country: str | None
    """Two upper-case letters."""
    osm: str | None
    """OSM element, such as `relation/62649`."""


class Nominatim:
    def __init__(self, fetch: Fetcher, base_url: str) -> None:
        self._fetch = fetch
        self._base_url = base_url.rstrip("/")

    async def area(
        self, query: str, language: str = "en", *, country: str | None = None
    ) -> NamedArea | None:
        """Find a named area, optionally in a country (two letters). Return None if there is none.

        The usage policy requires callers to cache the result.
        """
        text = parse_text(query, at_most=MAX_QUERY_CHARACTERS + 1)
        if text is None or len(text) > MAX_QUERY_CHARACTERS:
            raise errors.BadRequest(
                f"The name of a place must have 1 to {MAX_QUERY_CHARACTERS} characters."
            )
        await self._fetch.set_crawl_delay(self._base_url, SECONDS_BETWEEN_REQUESTS)
        parameters: dict[str, str | int] = {
            "q": text,
            "format": "jsonv2",
            "limit": MAX_RESULTS,
            "addressdetails": 1,
            "accept-language": parse_text(language) or "en",
        }
        if country:
            parameters["countrycodes"] = country.lower()
        url = f"{self._base_url}/search?{urlencode(parameters)}"
        document = await _request(self._fetch, "Nominatim", url, max_bytes=MAX_NOMINATIM_BYTES)
        if not isinstance(document, list):
            raise errors.ProviderDown("Nominatim's response is not a list of places.")
        read = (_parse_named_area(as_mapping(each)) for each in as_list(document))
        return next((each for each in read if each is not None), None)


def _parse_named_area(result: Mapping[str, Any]) -> NamedArea | None:
    area = _parse_bounding_box(result)
    if area is None:
        return None
    address = as_mapping(result.get("address"))
    country = parse_text(address.get("country_code"), at_most=2)
    kind, number = parse_text(result.get("osm_type")), result.get("osm_id")
    return NamedArea(
        name=parse_text(result.get("display_name")) or parse_text(result.get("name")) or "",
        area=area,
        country=country.upper() if country and country.isalpha() else None,
        osm=f"{kind}/{number}" if kind and isinstance(number, int) else None,
    )


def _parse_bounding_box(result: Mapping[str, Any]) -> Area | None:
    """Parse a bounding box, given as strings in the order south, north, west, east.

    Boxes that are smaller than `MIN_AREA_RADIUS_KM` are enlarged.
    """
    box = [_parse_degrees(each) for each in as_list(result.get("boundingbox"))]
    if len(box) != 4 or None in box:
        return None
    south, north, west, east = (each for each in box if each is not None)
    if not (-90 <= south <= north <= 90 and -180 <= west <= 180 and -180 <= east <= 180):
        return None
    if max(north - south, abs(east - west)) < 2 * MIN_AREA_RADIUS_KM / KM_PER_DEGREE:
        return get_bounding_area((south + north) / 2, (west + east) / 2, MIN_AREA_RADIUS_KM)
    return Area(south=south, west=west, north=north, east=east)


def _parse_degrees(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        degrees = float(value)
    except (ValueError, OverflowError):
        return None
    return degrees if -360 <= degrees <= 360 else None


ATTRIBUTION = "© OpenStreetMap contributors"
"""Must be displayed with the data, which is licensed under the ODbL."""
_OVERLOAD_REMARKS = ("timed out", "out of memory", "out of time")
RESPONSE_MARGIN_SECONDS = 5
"""Time a server needs to report its own timeout before we close the connection."""


class Overpass:
    def __init__(self, fetch: Fetcher, base_url: str) -> None:
        self._fetch = fetch
        self._base_url = base_url.rstrip("/")

    async def search(self, query: PlaceQuery, area: Area) -> PlacePage:
        """Fetch all places of an area in one request. Overpass has no pages and no details."""
        # Limit the query time, because the server would continue after we disconnect.
        patience = int(self._fetch.limits.timeout_seconds) - RESPONSE_MARGIN_SECONDS
        seconds = max(1, min(MAX_QUERY_SECONDS, patience))
        text = build_query(query.business_type, area, seconds=seconds)
        url, body = f"{self._base_url}/api/interpreter", urlencode({"data": text}).encode()
        answer = as_mapping(await _request(self._fetch, "Overpass", url, body))
        if remark := parse_text(answer.get("remark")):
            # Any remark means that the result is incomplete.
            kind = (
                errors.AreaTooLarge
                if any(each in remark.lower() for each in _OVERLOAD_REMARKS)
                else errors.ProviderDown
            )
            raise kind(f"Overpass aborted the query: {remark[:300]}")
        elements = answer.get("elements")
        if not isinstance(elements, list):
            raise errors.ProviderDown("Overpass's response contains no list of places.")
        read = [parse_element(each, region=query.region) for each in elements]
        places = {each.place_id: each for each in read if each is not None}
        if read and not places:
            raise errors.ProviderDown("Overpass's response contains no valid places.")
        return PlacePage(
            places=tuple(places.values()), attribution=ATTRIBUTION, unreadable=read.count(None)
        )
