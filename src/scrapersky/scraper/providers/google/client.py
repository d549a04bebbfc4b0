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
"""The most that Google gives at once."""
MAX_RESULTS = 60
"""The most that Google gives over all pages of a search; an area that has so many may have more."""


def build_text_query(query: PlaceQuery) -> str:
    what = " ".join(query.business_type.split())
    where = " ".join((query.location or "").split())
    return f"{what} in {where}" if where else what


def build_search_body(query: PlaceQuery, page_token: str | None = None) -> dict[str, Any]:
    """Every page repeats the whole request: Google binds the token to it."""
    body: dict[str, Any] = {
        "textQuery": build_text_query(query),
        "pageSize": PAGE_SIZE,
        "languageCode": query.language,
        # Otherwise those that come to their customers, plumbers say, are left out.
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
    """The half below: Google takes halves only and would go up from others, past some that fit."""
    return min(5.0, max(0.0, math.floor(min_rating * 2) / 2))


def build_rectangle(area: Area) -> dict[str, Any]:
    return {
        "low": {"latitude": area.south, "longitude": area.west},
        "high": {"latitude": area.north, "longitude": area.east},
    }


MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""Twenty places with all we ask for are a hundredth of it."""
MAX_PLACE_ID_CHARACTERS = 500


class GooglePlaces:
    """A client with a key; the key goes into one header and nowhere else."""

    def __init__(self, fetch: Fetcher, key: str, base_url: str) -> None:
        register_secrets([key])
        self._fetch = fetch
        self._key = key.strip()
        """Secrets that come out of files end with a line break."""
        self._base_url = base_url.rstrip("/")

    def __repr__(self) -> str:
        return f"GooglePlaces({self._base_url!r})"

    async def search(
        self, query: PlaceQuery, *, mask: FieldMask = SEARCH_FULL, page_token: str | None = None
    ) -> PlacePage:
        """One page; each is one request that is billed as `mask.sku`."""
        body = json.dumps(build_search_body(query, page_token)).encode()
        answer = await self._request(
            "/v1/places:searchText", mask, body, paging=page_token is not None
        )
        if not isinstance(answer.get("places", []), list):
            raise ProviderDown("Google answered with something else than places.", billed=True)
        page = _parse_page(answer, mask, query)
        if page.unreadable and not page.places:
            raise ProviderDown("Google answered with something else than places.", billed=True)
        if page.next_token is not None and page.next_token == page_token:
            raise PagingBroken("Google repeats its page token; the rest cannot be had.", page=page)
        return page

    async def details(
        self,
        place_id: str,
        *,
        mask: FieldMask = DETAILS_FULL,
        language: str = "en",
        region: str | None = None,
    ) -> PlaceFacts:
        """What is known of one place, under the id that was asked for; `moved_to` names the one
        that it has now, where that is another."""
        if parse_text(place_id, at_most=MAX_PLACE_ID_CHARACTERS) != place_id:
            raise PlaceGone("A place without a proper id cannot be asked for.")
        asked = {"languageCode": parse_text(language) or "en"}
        if region:
            asked["regionCode"] = parse_text(region.upper()) or ""
        path = f"/v1/places/{quote(place_id, safe='')}?{urlencode(asked)}"
        answer = await self._request(path, mask, None, place_id=place_id)
        facts = parse_place(
            answer, asked_id=place_id, has_details=mask.covers_details, region=region
        )
        assert facts is not None, "a place with an id can always be read"
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
            raise KeyRefused("GOOGLE_PLACES_API_KEY has characters that no key of Google's has.")
        return {
            "X-Goog-Api-Key": self._key,
            "X-Goog-FieldMask": mask.header,
            "Content-Type": "application/json",
            "Accept": "application/json",
        }


def _parse_page(answer: Mapping[str, Any], mask: FieldMask, query: PlaceQuery) -> PlacePage:
    """`{}` is an answer: nothing was found. What has no id cannot be kept."""
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
