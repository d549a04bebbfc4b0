"""Ask Overpass for the places of a kind inside an area."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from scrapersky.scraper.failures import FetchFailed
from scrapersky.scraper.fetch import Fetcher
from scrapersky.scraper.providers.failures import ProviderDown, TooMuch
from scrapersky.scraper.providers.model import Area, PlacePage, PlaceQuery
from scrapersky.scraper.providers.osm.answers import document_in
from scrapersky.scraper.providers.osm.ql import MOST_SECONDS, query_text
from scrapersky.scraper.providers.osm.reading import read_element
from scrapersky.scraper.providers.unreachable import unreachable
from scrapersky.scraper.providers.values import mapping_of, text_of

ATTRIBUTION = "© OpenStreetMap contributors"
"""To be shown wherever the data is; its licence is the ODbL."""
_TOO_MUCH = ("timed out", "out of memory", "out of time")
ANSWERED_WITHIN_SECONDS = 5
"""What a server that gave up needs to say so, before we leave."""


class Overpass:
    def __init__(self, fetch: Fetcher, base_url: str) -> None:
        self._fetch = fetch
        self._base_url = base_url.rstrip("/")

    async def search(self, query: PlaceQuery, area: Area) -> PlacePage:
        """All of them at once: there are no pages, and nothing more to ask of a place."""
        # A server that goes on after we have left works for nobody.
        patience = int(self._fetch.limits.timeout_seconds) - ANSWERED_WITHIN_SECONDS
        seconds = max(1, min(MOST_SECONDS, patience))
        document = await self._ask(query_text(query.business_type, area, seconds=seconds))
        answer = mapping_of(document)
        if remark := text_of(answer.get("remark")):
            raise _gave_up(remark)
        elements = answer.get("elements")
        if not isinstance(elements, list):
            raise ProviderDown("Overpass answered with something else than places.")
        read = [read_element(each, region=query.region) for each in elements]
        places = {each.place_id: each for each in read if each is not None}
        if read and not places:
            raise ProviderDown("Overpass answered with something else than places.")
        return PlacePage(
            places=tuple(places.values()), attribution=ATTRIBUTION, unreadable=read.count(None)
        )

    async def _ask(self, text: str) -> Any:
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        body = urlencode({"data": text}).encode()
        try:
            response = await self._fetch.ask(
                f"{self._base_url}/api/interpreter", body, headers=headers, to_provider=True
            )
        except FetchFailed as error:
            raise unreachable("Overpass", error) from error
        return document_in(response, "Overpass")


def _gave_up(remark: str) -> ProviderDown:
    """Whatever it remarks, what came with it is not all there is."""
    kind = TooMuch if any(each in remark.lower() for each in _TOO_MUCH) else ProviderDown
    return kind(f"Overpass gave up: {remark[:300]}")
