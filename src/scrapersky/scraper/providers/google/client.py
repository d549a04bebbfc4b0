"""Ask Google Places (New)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from scrapersky.redaction import know
from scrapersky.scraper.failures import FetchFailed
from scrapersky.scraper.fetch import Fetcher
from scrapersky.scraper.providers.failures import (
    KeyRefused,
    PagingBroken,
    PlaceGone,
    ProviderDown,
)
from scrapersky.scraper.providers.google.answers import answer_in
from scrapersky.scraper.providers.google.asking import search_body
from scrapersky.scraper.providers.google.masks import DETAILS_FULL, SEARCH_FULL, Mask
from scrapersky.scraper.providers.google.reading import read_place
from scrapersky.scraper.providers.google.refusals import NO_KEY
from scrapersky.scraper.providers.model import PlaceFacts, PlacePage, PlaceQuery
from scrapersky.scraper.providers.unreachable import unreachable
from scrapersky.scraper.providers.values import items_of, text_of

MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""Twenty places with all we ask for are a hundredth of it."""
LONGEST_PLACE_ID = 500


class GooglePlaces:
    """A client with a key; the key goes into one header and nowhere else."""

    def __init__(self, fetch: Fetcher, key: str, base_url: str) -> None:
        know([key])
        self._fetch = fetch
        self._key = key.strip()
        """Secrets that come out of files end with a line break."""
        self._base_url = base_url.rstrip("/")

    def __repr__(self) -> str:
        return f"GooglePlaces({self._base_url!r})"

    async def search(
        self, query: PlaceQuery, *, mask: Mask = SEARCH_FULL, page_token: str | None = None
    ) -> PlacePage:
        """One page; each is one request that is billed as `mask.sku`."""
        body = json.dumps(search_body(query, page_token)).encode()
        answer = await self._ask("/v1/places:searchText", mask, body, paging=page_token is not None)
        if not isinstance(answer.get("places", []), list):
            raise ProviderDown("Google answered with something else than places.", billed=True)
        page = _page(answer, mask, query)
        if page.unreadable and not page.places:
            raise ProviderDown("Google answered with something else than places.", billed=True)
        if page.next_token is not None and page.next_token == page_token:
            raise PagingBroken("Google repeats its page token; the rest cannot be had.", page=page)
        return page

    async def details(
        self,
        place_id: str,
        *,
        mask: Mask = DETAILS_FULL,
        language: str = "en",
        region: str | None = None,
    ) -> PlaceFacts:
        """What is known of one place, under the id that was asked for; `moved_to` names the one
        that it has now, where that is another."""
        if text_of(place_id, at_most=LONGEST_PLACE_ID) != place_id:
            raise PlaceGone("A place without a proper id cannot be asked for.")
        asked = {"languageCode": text_of(language) or "en"}
        if region:
            asked["regionCode"] = text_of(region.upper()) or ""
        path = f"/v1/places/{quote(place_id, safe='')}?{urlencode(asked)}"
        answer = await self._ask(path, mask, None, place_id=place_id)
        facts = read_place(
            answer, asked_id=place_id, has_details=mask.brings_details, region=region
        )
        assert facts is not None, "a place with an id can always be read"
        return facts

    async def _ask(
        self,
        path: str,
        mask: Mask,
        body: bytes | None,
        *,
        paging: bool = False,
        place_id: str | None = None,
    ) -> Mapping[str, Any]:
        try:
            response = await self._fetch.ask(
                self._base_url + path,
                body,
                headers=self._headers(mask),
                max_bytes=MAX_ANSWER_BYTES,
                to_provider=True,
            )
        except FetchFailed as error:
            raise unreachable("Google", error) from error
        return answer_in(response, place_id=place_id, paging=paging)

    def _headers(self, mask: Mask) -> dict[str, str]:
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


def _page(answer: Mapping[str, Any], mask: Mask, query: PlaceQuery) -> PlacePage:
    """`{}` is an answer: nothing was found. What has no id cannot be kept."""
    read = [
        read_place(each, has_details=mask.brings_details, region=query.region)
        for each in items_of(answer.get("places"))
    ]
    token = answer.get("nextPageToken")
    return PlacePage(
        places=tuple(each for each in read if each is not None),
        next_token=token if isinstance(token, str) and token else None,
        unreadable=read.count(None),
    )
