"""Ask Overpass for the places of a kind inside an area."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from scrapersky.scraper.failures import FetchFailed
from scrapersky.scraper.fetch import Fetcher
from scrapersky.scraper.providers.failures import ProviderDown
from scrapersky.scraper.providers.model import Area, PlacePage, PlaceQuery
from scrapersky.scraper.providers.osm.answers import WAIT_SECONDS, document_in
from scrapersky.scraper.providers.osm.ql import MOST_SECONDS, query_text
from scrapersky.scraper.providers.osm.reading import read_element
from scrapersky.scraper.providers.unreachable import unreachable
from scrapersky.scraper.providers.values import mapping_of, text_of

ATTRIBUTION = "© OpenStreetMap contributors"
"""To be shown wherever the data is; its licence is the ODbL."""
_FAILED = ("error", "timed out", "out of memory")


class Overpass:
    def __init__(self, fetch: Fetcher, base_url: str) -> None:
        self._fetch = fetch
        self._base_url = base_url.rstrip("/")

    async def search(self, query: PlaceQuery, area: Area) -> PlacePage:
        """All of them at once: there are no pages, and nothing more to ask of a place."""
        # A server that goes on after we have left works for nobody.
        seconds = max(1, min(MOST_SECONDS, int(self._fetch.limits.timeout_seconds)))
        document = await self._ask(query_text(query.business_type, area, seconds=seconds))
        answer = mapping_of(document)
        remark = text_of(answer.get("remark")) or ""
        if any(each in remark.lower() for each in _FAILED):
            raise ProviderDown(
                f"Overpass gave up: {remark[:300]}", retry_after_seconds=WAIT_SECONDS
            )
        elements = answer.get("elements")
        if not isinstance(elements, list):
            raise ProviderDown("Overpass answered with something else than places.")
        read = (read_element(each, region=query.region) for each in elements)
        return PlacePage(
            places=tuple({each.place_id: each for each in read if each is not None}.values()),
            attribution=ATTRIBUTION,
        )

    async def _ask(self, text: str) -> Any:
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        body = urlencode({"data": text}).encode()
        try:
            response = await self._fetch.ask(
                f"{self._base_url}/api/interpreter", body, headers=headers
            )
        except FetchFailed as error:
            raise unreachable("Overpass", error) from error
        return document_in(response, "Overpass")
