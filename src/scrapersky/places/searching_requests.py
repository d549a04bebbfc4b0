"""Requests to Google, one after the other: charged before, settled where they brought nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from time import monotonic
from uuid import UUID

from scrapersky.db.base import uuid7
from scrapersky.errors import RetryLater
from scrapersky.models import Provider
from scrapersky.pipeline.stage import AtOnce, Tools
from scrapersky.places.governor import Charge, default_cap, default_installation_cap
from scrapersky.places.governor_refusals import refusal_of, verdict_of
from scrapersky.places.tiles import PAGES
from scrapersky.scraper.providers.failures import PagingBroken, ProviderFailed
from scrapersky.scraper.providers.google import SEARCH_IDS, GooglePlaces, Mask
from scrapersky.scraper.providers.model import Area, PlacePage, PlaceQuery

A_MOMENT = timedelta(seconds=1)
CHANGED_MEANWHILE = "Google changed its list between two pages; some may not have been told."


class GoogleRequests:
    """What came of the last one stands here when its generator has ended."""

    def __init__(self, query: PlaceQuery, search_id: UUID, tools: Tools, *, seconds: float) -> None:
        settings = tools.settings
        self._query = query
        self._search_id = search_id
        self._settings = settings
        self._google = GooglePlaces(
            tools.fetch, settings.google_places_api_key, settings.google_places_base_url
        )
        self._stop_at = monotonic() + seconds
        self.has_come_on = False
        """Whether something was stored that need not be asked again."""
        self.page = PlacePage(())
        self.entry_id: UUID | None = None
        """In the ledger; nothing where it was given back."""
        self.broken: str | None = None
        """Why the next page cannot be had."""
        self.seen: tuple[str, ...] = ()
        self.looks = 0

    async def look(self, area: Area, *, pages: int = PAGES) -> AsyncIterator[AtOnce]:
        """Which places there are; from the first page once more where the next cannot be had, or
        where the list changed between two pages: then both times together tell more."""
        self.looks = 0
        seen: dict[str, None] = {}
        for _ in range(2):
            ids: list[str] = []
            token: str | None = None
            for _ in range(pages):
                async for step in self.ask(SEARCH_IDS, area, token):
                    yield step
                self.looks += 1
                ids += [each.place_id for each in self.page.places]
                token = self.page.next_token
                if token is None or self.broken is not None:
                    break
            seen |= dict.fromkeys(ids)
            self.seen = tuple(seen)
            if self.broken is None and len(set(ids)) == len(ids):
                return
        self.broken = self.broken or CHANGED_MEANWHILE

    async def ask(self, mask: Mask, area: Area, token: str | None) -> AsyncIterator[AtOnce]:
        """One request; its page is in `page` when the generator has ended."""
        if monotonic() > self._stop_at and self.has_come_on:
            raise RetryLater("There is more to ask; it goes on in a moment.", after=A_MOMENT)
        charge = self._charge(mask)
        yield charge
        self.page, self.broken, self.entry_id = PlacePage(()), None, charge.entry_id
        query = replace(self._query, area=area)
        try:
            self.page = await self._google.search(query, mask=mask, page_token=token)
        except ProviderFailed as error:
            async for step in self._after_failure(error, charge):
                yield step

    async def _after_failure(self, error: ProviderFailed, charge: Charge) -> AsyncIterator[AtOnce]:
        if isinstance(error, PagingBroken) and error.page is not None:
            self.page, self.broken = replace(error.page, next_token=None), str(error)
            return
        yield refusal_of(error, charge)
        if not isinstance(error, PagingBroken):
            raise verdict_of(error, has_come_on=self.has_come_on) from error
        self.broken, self.entry_id = str(error), None

    def _charge(self, mask: Mask) -> Charge:
        return Charge(
            uuid7(),
            Provider.GOOGLE,
            mask.sku,
            mask.method,
            default_cap(self._settings),
            self._settings.google_free_requests,
            search_id=self._search_id,
            installation_cap_usd=default_installation_cap(self._settings),
        )
