"""Search OpenStreetMap: one free query per area, split into quarters when it is too large."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from time import monotonic

from scrapersky.errors import RetryLater
from scrapersky.models import TileState
from scrapersky.pipeline.stage import StoreImmediately, Tools
from scrapersky.places.budget.charges import classify_failure
from scrapersky.places.search.google import SearchRequest, describe_unreadable
from scrapersky.places.search.steps import PlacesFetched, SearchProgress, TilesUpdated
from scrapersky.places.search.tiles import Tile, split_tile
from scrapersky.scraper.providers.errors import AreaTooLarge, ProviderDown, ProviderFailed
from scrapersky.scraper.providers.geography import side_km
from scrapersky.scraper.providers.model import PlaceFacts, PlacePage
from scrapersky.scraper.providers.osm import Overpass

STORE_BATCH_SIZE = 500
MAX_DIVISIONS = 4
"""A server that fails on 1/256 of an area is overloaded. Retry later instead of sending more
queries.
"""
RESUME_DELAY = timedelta(seconds=1)


class OsmSearch:
    """A running search. A yielded step is stored before the next line runs."""

    def __init__(self, request: SearchRequest, tools: Tools, *, seconds: float) -> None:
        self._request = request
        self._overpass = Overpass(tools.fetch, tools.settings.overpass_base_url)
        self._tiles = {each.path: each for each in request.tiles}
        self._found = dict.fromkeys(request.found)
        self._stop_at = monotonic() + seconds
        self._has_come_on = False

    async def steps(self) -> AsyncIterator[StoreImmediately]:
        while (tile := self._get_next_tile()) is not None:
            if self._has_enough():
                yield TilesUpdated(self._update_tiles(*self._skip_open()), self._get_progress())
                return
            self._check_deadline()
            try:
                page = await self._fetch(tile)
            except AreaTooLarge as error:
                yield TilesUpdated(
                    self._update_tiles(*_divide_tile(tile, error)), self._get_progress()
                )
            else:
                async for step in self._store_page(tile, page):
                    yield step
            self._has_come_on = True

    def _get_next_tile(self) -> Tile | None:
        """Return the next tile, depth first: this sends an overloaded server the fewest queries."""
        return min(self._list_open(), key=lambda each: each.path, default=None)

    def _list_open(self) -> list[Tile]:
        return [each for each in self._tiles.values() if each.is_open]

    def _update_tiles(self, *tiles: Tile) -> tuple[Tile, ...]:
        self._tiles.update({each.path: each for each in tiles})
        return tiles

    def _has_enough(self) -> bool:
        return len(self._found) >= self._request.max_results

    def _check_deadline(self) -> None:
        if monotonic() > self._stop_at and self._has_come_on:
            raise RetryLater(
                "More requests are pending; the search resumes shortly.", after=RESUME_DELAY
            )

    async def _fetch(self, tile: Tile) -> PlacePage:
        query = replace(self._request.query, area=tile.area)
        try:
            return await self._overpass.search(query, tile.area)
        except AreaTooLarge:
            raise
        except ProviderFailed as error:
            raise classify_failure(error, has_come_on=self._has_come_on) from error

    async def _store_page(self, tile: Tile, page: PlacePage) -> AsyncIterator[StoreImmediately]:
        """Yield the places in batches. Only the last step marks the tile done; until then it would
        be queried again.
        """
        new = [each for each in page.places if each.place_id not in self._found]
        kept = new[: self._request.max_results - len(self._found)]
        for start in range(0, len(kept), STORE_BATCH_SIZE):
            yield self._build_fetched(tile, kept[start : start + STORE_BATCH_SIZE], page)
        (done,) = self._update_tiles(self._finish_tile(tile, page, len(new) - len(kept)))
        yield self._build_fetched(done, (), page)

    def _build_fetched(
        self, tile: Tile, facts: Sequence[PlaceFacts], page: PlacePage
    ) -> PlacesFetched:
        first = len(self._found) + 1
        self._found.update(dict.fromkeys(each.place_id for each in facts))
        return PlacesFetched(
            tile, tuple(facts), first, self._get_progress(), attribution=page.attribution
        )

    def _finish_tile(self, tile: Tile, page: PlacePage, left: int) -> Tile:
        updated = replace(tile, requests=tile.requests + 1, note=describe_unreadable(page))
        if not left:
            return replace(updated, state=TileState.DONE)
        max_results = self._request.max_results
        note = f"{max_results + left:,} places exist; the limit is {max_results:,}."
        return replace(updated, state=TileState.SATURATED, note=note)

    def _skip_open(self) -> list[Tile]:
        note = f"The limit of {self._request.max_results:,} places is reached."
        return [replace(each, state=TileState.NOT_ASKED, note=note) for each in self._list_open()]

    def _get_progress(self) -> SearchProgress:
        parts = [each for each in self._tiles.values() if each.state is not TileState.SPLIT]
        done = sum(not each.is_open for each in parts)
        return SearchProgress(min(0.99, 0.1 + 0.9 * done / len(parts)), "Fetching places")


def _divide_tile(tile: Tile, error: AreaTooLarge) -> list[Tile]:
    if len(tile.path) >= MAX_DIVISIONS:
        raise ProviderDown(
            f"{error} The part is only {side_km(tile.area):.1f} km wide, so the server may be "
            "overloaded. Retry later, search a smaller area, or set OVERPASS_BASE_URL to another "
            "server."
        ) from error
    updated = replace(tile, requests=tile.requests + 1, state=TileState.SPLIT)
    return [updated, *split_tile(tile)]
