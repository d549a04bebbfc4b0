"""Client for the Google Places API (New)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from scrapersky.redaction import register_secrets
from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.http.fetch_errors import FetchFailed
from scrapersky.scraper.providers.errors import (
    KeyRefused,
    PagingBroken,
    PlaceGone,
    ProviderDown,
    build_unreachable_error,
)
from scrapersky.scraper.providers.google.field_masks import DETAILS_FULL, SEARCH_FULL, FieldMask
from scrapersky.scraper.providers.google.places import parse_place
from scrapersky.scraper.providers.google.responses import NO_KEY, parse_response
from scrapersky.scraper.providers.model import Area, PlaceFacts, PlacePage, PlaceQuery
from scrapersky.scraper.providers.values import as_list, parse_text

PAGE_SIZE = 20
"""Google's maximum page size."""
MAX_RESULTS = 60
"""Google's maximum over all pages of a search. An area that reaches it may have more places."""


def build_text_query(query: PlaceQuery) -> str:
    what = " ".join(query.business_type.split())
    where = " ".join((query.location or "").split())
    return f"{what} in {where}" if where else what


def build_search_body(query: PlaceQuery, page_token: str | None = None) -> dict[str, Any]:
    """Build the request body. Every page repeats it, because Google binds the token to it."""
    body: dict[str, Any] = {
        "textQuery": build_text_query(query),
        "pageSize": PAGE_SIZE,
        "languageCode": query.language,
        # Otherwise businesses that visit their customers, such as plumbers, are left out.
        "includePureServiceAreaBusinesses": True,
    }
    if query.region:
        body["regionCode"] = query.region.upper()
    if query.area is not None:
        body["locationRestriction"] = {"rectangle": build_rectangle(query.area)}
    if query.open_now:
        body["openNow"] = True
    if query.min_rating is not None:
        body["minRating"] = round_rating(query.min_rating)
    if page_token is not None:
        body["pageToken"] = page_token
    return body


def round_rating(min_rating: float) -> float:
    """Round down to a half. Google accepts only halves and would round other values up."""
    return min(5.0, max(0.0, math.floor(min_rating * 2) / 2))


def build_rectangle(area: Area) -> dict[str, Any]:
    return {
        "low": {"latitude": area.south, "longitude": area.west},
        "high": {"latitude": area.north, "longitude": area.east},
    }


MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""About a hundred times the size of twenty places with all fields."""
MAX_PLACE_ID_CHARACTERS = 500


class GooglePlaces:
    """Client with an API key. The key is sent in one header and appears nowhere else."""

    def __init__(self, fetch: Fetcher, key: str, base_url: str) -> None:
        register_secrets([key])
        self._fetch = fetch
        self._key = key.strip()
        """Secrets read from files end with a line break, so it is stripped."""
        self._base_url = base_url.rstrip("/")

    def __repr__(self) -> str:
        return f"GooglePlaces({self._base_url!r})"

    async def search(
        self, query: PlaceQuery, *, mask: FieldMask = SEARCH_FULL, page_token: str | None = None
    ) -> PlacePage:
        """Fetch one page. Each is one request, billed as `mask.sku`."""
        body = json.dumps(build_search_body(query, page_token)).encode()
        answer = await self._request(
            "/v1/places:searchText", mask, body, paging=page_token is not None
        )
        if not isinstance(answer.get("places", []), list):
            raise ProviderDown("Google's response contains no list of places.", billed=True)
        page = _parse_page(answer, mask, query)
        if page.unreadable and not page.places:
            raise ProviderDown("Google's response contains no valid places.", billed=True)
        if page.next_token is not None and page.next_token == page_token:
            raise PagingBroken(
                "Google repeated its page token, so the remaining pages cannot be loaded.",
                page=page,
            )
        return page

    async def details(
        self,
        place_id: str,
        *,
        mask: FieldMask = DETAILS_FULL,
        language: str = "en",
        region: str | None = None,
    ) -> PlaceFacts:
        """Fetch one place. It keeps the requested id; `moved_to` is its new id, if it has one."""
        if parse_text(place_id, at_most=MAX_PLACE_ID_CHARACTERS) != place_id:
            raise PlaceGone("The place id is not valid.")
        asked = {"languageCode": parse_text(language) or "en"}
        if region:
            asked["regionCode"] = parse_text(region.upper()) or ""
        path = f"/v1/places/{quote(place_id, safe='')}?{urlencode(asked)}"
        answer = await self._request(path, mask, None, place_id=place_id)
        facts = parse_place(
            answer, asked_id=place_id, has_details=mask.covers_details, region=region
        )
        assert facts is not None, "a place with an id can always be parsed"
        return facts

    async def _request(
        self,
        path: str,
        mask: FieldMask,
        body: bytes | None,
        *,
        paging: bool = False,
        place_id: str | None = None,
    ) -> Mapping[str, Any]:
        try:
            response = await self._fetch.ask(
                self._base_url + path,
                body,
                headers=self._build_headers(mask),
                max_bytes=MAX_ANSWER_BYTES,
                to_provider=True,
            )
        except FetchFailed as error:
            raise build_unreachable_error("Google", error) from error
        return parse_response(response, place_id=place_id, paging=paging)

    def _build_headers(self, mask: FieldMask) -> dict[str, str]:
        if not self._key:
            raise KeyRefused(NO_KEY)
        if not (self._key.isascii() and self._key.isprintable()):
            raise KeyRefused(
                "GOOGLE_PLACES_API_KEY contains characters that are not valid in a Google API key."
            )
        return {
            "X-Goog-Api-Key": self._key,
            "X-Goog-FieldMask": mask.header,
            "Content-Type": "application/json",
            "Accept": "application/json",
        }


def _parse_page(answer: Mapping[str, Any], mask: FieldMask, query: PlaceQuery) -> PlacePage:
    """Parse a page. `{}` means no results. Places without an id are counted as unreadable."""
    read = [
        parse_place(each, has_details=mask.covers_details, region=query.region)
        for each in as_list(answer.get("places"))
    ]
    token = answer.get("nextPageToken")
    return PlacePage(
        places=tuple(each for each in read if each is not None),
        next_token=token if isinstance(token, str) and token else None,
        unreadable=read.count(None),
    )
