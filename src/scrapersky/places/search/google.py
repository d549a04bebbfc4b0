"""Search Google tile by tile.

Each request is charged before it is sent, and each page is stored before the next request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from math import ceil
from time import monotonic
from uuid import UUID

from scrapersky.db.base import uuid7
from scrapersky.errors import RetryLater
from scrapersky.models import Provider, TileState
from scrapersky.pipeline.stage import StoreImmediately, Tools
from scrapersky.places.budget.charges import (
    Charge,
    build_refusal,
    classify_failure,
    get_default_cap,
    get_default_installation_cap,
)
from scrapersky.places.search import plan
from scrapersky.places.search.steps import KnownPlaces, PlacesFetched, SearchProgress, TilesUpdated
from scrapersky.places.search.tiles import MAX_PAGES, MAX_PLACES_PER_TILE, PAGE_SIZE, Tile, Tiles
from scrapersky.scraper.providers.errors import PagingBroken, ProviderFailed
from scrapersky.scraper.providers.google import SEARCH_FULL, SEARCH_IDS, FieldMask, GooglePlaces
from scrapersky.scraper.providers.model import Area, PlacePage, PlaceQuery

RESUME_DELAY = timedelta(seconds=1)
LIST_CHANGED_NOTE = "Google's list changed between two pages; some places may be missing."


class GoogleRequests:
    """Sends requests. The attributes hold the last outcome once its generator has ended."""

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
        """Whether a result was stored that need not be requested again."""
        self.page = PlacePage(())
        self.entry_id: UUID | None = None
        """Ledger entry of the request. None after a refund."""
        self.broken: str | None = None
        """Why the next page is not available."""
        self.seen: tuple[str, ...] = ()
        self.looks = 0

    async def probe(self, area: Area, *, pages: int = MAX_PAGES) -> AsyncIterator[StoreImmediately]:
        """Collect the place IDs of a tile with free requests.

        Starts over once when the next page is not available or the list changed between pages; the
        IDs of both passes are united.
        """
        self.looks = 0
        place_ids: dict[str, None] = {}
        for _ in range(2):
            ids: list[str] = []
            token: str | None = None
            for _ in range(pages):
                async for step in self.fetch_page(SEARCH_IDS, area, token):
                    yield step
                self.looks += 1
                ids += [each.place_id for each in self.page.places]
                token = self.page.next_token
                if token is None or self.broken is not None:
                    break
            place_ids |= dict.fromkeys(ids)
            self.seen = tuple(place_ids)
            if self.broken is None and len(set(ids)) == len(ids):
                return
        self.broken = self.broken or LIST_CHANGED_NOTE

    async def fetch_page(
        self, mask: FieldMask, area: Area, token: str | None
    ) -> AsyncIterator[StoreImmediately]:
        """Send one request. Its page is in `page` once the generator has ended."""
        if monotonic() > self._stop_at and self.has_come_on:
            raise RetryLater(
                "More requests are pending; the search resumes shortly.", after=RESUME_DELAY
            )
        charge = self._build_charge(mask)
        yield charge
        self.page, self.broken, self.entry_id = PlacePage(()), None, charge.entry_id
        query = replace(self._query, area=area)
        try:
            self.page = await self._google.search(query, mask=mask, page_token=token)
        except ProviderFailed as error:
            async for step in self._handle_failure(error, charge):
                yield step

    async def _handle_failure(
        self, error: ProviderFailed, charge: Charge
    ) -> AsyncIterator[StoreImmediately]:
        if isinstance(error, PagingBroken) and error.page is not None:
            self.page, self.broken = replace(error.page, next_token=None), str(error)
            return
        yield build_refusal(error, charge)
        if not isinstance(error, PagingBroken):
            raise classify_failure(error, has_come_on=self.has_come_on) from error
        self.broken, self.entry_id = str(error), None

    def _build_charge(self, mask: FieldMask) -> Charge:
        return Charge(
            uuid7(),
            Provider.GOOGLE,
            mask.sku,
            mask.method,
            get_default_cap(self._settings),
            self._settings.google_free_requests,
            search_id=self._search_id,
            installation_cap_usd=get_default_installation_cap(self._settings),
        )


PHASE_PROBING = "Probing tiles (free)"
PHASE_FETCHING = "Fetching places"


@dataclass(frozen=True)
class SearchRequest:
    """A search request and its progress so far."""

    search_id: UUID
    provider: str
    query: PlaceQuery
    max_results: int
    area: Area | None = None
    """None until the location is geocoded."""
    location: str | None = None
    radius_km: float | None = None
    tiles: tuple[Tile, ...] = ()
    known: Mapping[str, datetime] = field(default_factory=dict)
    """When the details of known places were fetched."""
    found: tuple[str, ...] = ()
    """Number of places found so far."""


class GoogleSearch:
    """A running search. Its steps are generators: a yielded step is stored before the next line
    runs.
    """

    def __init__(self, request: SearchRequest, tools: Tools, *, seconds: float) -> None:
        settings = tools.settings
        self.request = request
        self.settings = settings
        self.found = dict.fromkeys(request.found)
        self.tiles = Tiles.of(
            request.tiles,
            limit=settings.place_search_max_tiles,
            enough=request.max_results,
            known=_select_fresh(request, settings.place_details_max_age_days),
        )
        self._asked = GoogleRequests(request.query, request.search_id, tools, seconds=seconds)

    async def steps(self) -> AsyncIterator[StoreImmediately]:
        in_one = self.request.max_results <= MAX_PLACES_PER_TILE
        async for step in self._search_whole() if in_one else self._search_tiles():
            yield step
        left = self.tiles.skip_open(_describe_limit(self.request.max_results))
        if left:
            yield TilesUpdated(left, self._get_progress(PHASE_FETCHING))

    async def _search_whole(self) -> AsyncIterator[StoreImmediately]:
        """Fetch the whole area with one query, when the limit allows no more places than a query
        returns.
        """
        whole = self.tiles.all[""]
        if whole.is_open and not whole.is_begun and whole.ids is None and self.tiles.known:
            async for step in self._asked.probe(whole.area, pages=self._count_pages()):
                yield step
            (whole,) = self.tiles.replace_tiles(self._limit_ids(whole))
        if whole.is_open:
            async for step in self._fetch_tile(whole):
                yield step

    def _limit_ids(self, whole: Tile) -> Tile:
        """Limit the IDs to the number of places requested."""
        max_results = self.request.max_results
        more = len(self._asked.seen) > max_results or self._asked.page.next_token is not None
        return replace(
            whole,
            ids=self._asked.seen[:max_results],
            requests=whole.requests + self._asked.looks,
            note=_describe_limit(max_results) if more else self._asked.broken,
        )

    async def _search_tiles(self) -> AsyncIterator[StoreImmediately]:
        while len(self.found) < self.request.max_results:
            started = next((each for each in self.tiles.open() if each.is_begun), None)
            tile = started or self.tiles.get_next_probe()
            if tile is None:
                async for step in self._plan_fetches():
                    yield step
                tile = self._get_next_fetch()
            if tile is None:
                return
            async for step in self._continue_tile(tile):
                yield step

    def _get_next_fetch(self) -> Tile | None:
        """Return the next tile to fetch. Cut slices come before uncut strips."""
        waiting = [each for each in self.tiles.open() if each.ids is not None or each.is_slice]
        return min(waiting, key=lambda each: each.ids is None, default=None)

    def _continue_tile(self, tile: Tile) -> AsyncIterator[StoreImmediately]:
        if tile.is_begun or tile.ids is not None:
            return self._fetch_tile(tile)
        return self._cut_slice(tile) if tile.is_slice else self._probe_tile(tile)

    # Free requests

    async def _probe_tile(self, tile: Tile) -> AsyncIterator[StoreImmediately]:
        async for step in self._asked.probe(tile.area):
            yield step
        changed = self.tiles.split_or_keep(tile, self._asked.seen, self._asked.looks)
        if self._asked.broken is not None and changed[0].is_complete:
            changed = self.tiles.replace_tiles(replace(changed[0], note=self._asked.broken))
        yield self._build_update(changed)

    async def _cut_slice(self, strip: Tile) -> AsyncIterator[StoreImmediately]:
        cut = plan.SliceCut(strip.area, plan.list_area_counts(self.tiles, strip))
        spent = 0
        while not cut.is_done:
            tried = cut.get_next_area()
            async for step in self._asked.probe(tried):
                yield step
            cut.record_probe(tried, self._asked.seen)
            spent += self._asked.looks
        number = plan.get_next_number(self.tiles, strip)
        yield self._build_update(
            self.tiles.replace_tiles(*plan.cut_strip(strip, cut, number, spent))
        )

    async def _plan_fetches(self) -> AsyncIterator[StoreImmediately]:
        """Plan how the probed tiles are fetched. Tiles with only known places are recorded without
        a request.
        """
        planned = plan.plan_tiles(self.tiles, frozenset(self.found))
        for tile in planned:
            if tile.state is TileState.KNOWN:
                yield self._mark_found(tile)
        others = tuple(each for each in planned if each.state is not TileState.KNOWN)
        if others:
            yield self._build_update(others)

    def _mark_found(self, tile: Tile) -> KnownPlaces:
        first = len(self.found) + 1
        ids = tile.ids or ()
        self.found.update(dict.fromkeys(ids))
        self._asked.has_come_on = True
        return KnownPlaces(
            tile, self.request.provider, ids, first, self._get_progress(PHASE_FETCHING)
        )

    # Paid requests

    async def _fetch_tile(self, tile: Tile) -> AsyncIterator[StoreImmediately]:
        new = set(tile.ids or ()) - self.tiles.known - set(self.found)
        if tile.ids is not None and not new and not tile.is_begun:
            (known,) = self.tiles.replace_tiles(plan.mark_known(tile))
            yield self._mark_found(known)
            return
        while tile.is_open:
            async for step in self._asked.fetch_page(SEARCH_FULL, tile.area, tile.next_token):
                yield step
            tile = self._apply_page(tile)
            yield self._build_fetched(tile)

    def _apply_page(self, tile: Tile) -> Tile:
        self.found.update(dict.fromkeys(each.place_id for each in self._asked.page.places))
        updated = replace(
            tile,
            requests=tile.requests + 1,
            paid_requests=tile.paid_requests + (self._asked.entry_id is not None),
            next_token=self._asked.page.next_token,
            note=tile.note or describe_unreadable(self._asked.page),
        )
        (after,) = self.tiles.replace_tiles(self._decide_state(updated))
        return after

    def _decide_state(self, tile: Tile) -> Tile:
        """Return whether the tile continues with a next page, starts over or is done."""
        missing = set(tile.ids or ()) - set(self.found)
        if self._asked.broken is not None and (missing or tile.ids is None):
            again = replace(tile, next_token=None, asked_again=True)
            done = replace(again, state=TileState.DONE, note=self._asked.broken)
            return done if tile.asked_again else again
        if tile.next_token is not None and self._can_continue(tile):
            return tile
        if tile.next_token is not None and self._has_enough():
            note = _describe_limit(self.request.max_results)
            return replace(tile, state=TileState.SATURATED, next_token=None, note=note)
        crowded = tile.ids is not None and not tile.is_complete
        state = TileState.SATURATED if crowded else TileState.DONE
        short = f"Places listed at first but not returned: {len(missing):,}." if missing else None
        return replace(tile, state=state, next_token=None, note=tile.note or short)

    def _can_continue(self, tile: Tile) -> bool:
        pages = MAX_PAGES * (2 if tile.asked_again else 1)
        return tile.paid_requests < pages and not self._has_enough()

    def _has_enough(self) -> bool:
        return len(self.found) >= self.request.max_results

    def _build_fetched(self, tile: Tile) -> PlacesFetched:
        facts = self._asked.page.places
        self._asked.has_come_on = True
        return PlacesFetched(
            tile,
            facts,
            first_position=len(self.found) - len(facts) + 1,
            sight=self._get_progress(PHASE_FETCHING),
            entry_id=self._asked.entry_id,
            attribution=self._asked.page.attribution,
            without_details=self.settings.auto_deep_scan,
        )

    # Progress

    def _build_update(self, tiles: tuple[Tile, ...]) -> TilesUpdated:
        self._asked.has_come_on = True
        return TilesUpdated(tiles, self._get_progress(PHASE_PROBING))

    def _get_progress(self, phase: str) -> SearchProgress:
        max_results = self.request.max_results
        if phase == PHASE_PROBING and not self.found:
            return SearchProgress(min(0.3, 0.3 * self.tiles.count_ids() / max_results), phase)
        expected = min(max_results, self.tiles.count_ids() or max_results)
        return SearchProgress(min(0.99, 0.3 + 0.7 * len(self.found) / expected), phase)

    def _count_pages(self) -> int:
        return ceil(self.request.max_results / PAGE_SIZE)


def _select_fresh(request: SearchRequest, max_age_days: float) -> frozenset[str]:
    oldest = datetime.now(UTC) - timedelta(days=max_age_days)
    return frozenset(each for each, at in request.known.items() if at > oldest)


def describe_unreadable(page: PlacePage) -> str | None:
    if not page.unreadable:
        return None
    return f"Unreadable places skipped: {page.unreadable:,}."


def _describe_limit(max_results: int) -> str:
    return f"The limit of {max_results:,} places is reached."
