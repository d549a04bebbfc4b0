"""A search at OpenStreetMap: one question for the whole area, which costs nothing; an area that is
too much for one question is asked in its quarters."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from time import monotonic

from scrapersky.errors import RetryLater
from scrapersky.models import TileState
from scrapersky.pipeline.stage import AtOnce, Tools
from scrapersky.places.governor_refusals import verdict_of
from scrapersky.places.searching import Wanted, unreadable
from scrapersky.places.searching_steps import Answered, Moved, Sight
from scrapersky.places.tiles import Tile, quarters_of
from scrapersky.scraper.providers.failures import ProviderDown, ProviderFailed, TooMuch
from scrapersky.scraper.providers.geography import side_km
from scrapersky.scraper.providers.model import PlaceFacts, PlacePage
from scrapersky.scraper.providers.osm import Overpass

STORED_AT_ONCE = 500
MOST_DIVISIONS = 4
"""A server that gives up on the 256th part of an area is overloaded: it is left alone and asked
again later, rather than asked ever more."""
A_MOMENT = timedelta(seconds=1)


class OsmSearch:
    """One search at work; a step that is yielded is stored before the next line runs."""

    def __init__(self, wanted: Wanted, tools: Tools, *, seconds: float) -> None:
        self._wanted = wanted
        self._overpass = Overpass(tools.fetch, tools.settings.overpass_base_url)
        self._tiles = {each.path: each for each in wanted.tiles}
        self._found = dict.fromkeys(wanted.found)
        self._stop_at = monotonic() + seconds
        self._has_come_on = False

    async def steps(self) -> AsyncIterator[AtOnce]:
        while (tile := self._next()) is not None:
            if self._is_enough():
                yield Moved(self._put(*self._left_out()), self._sight())
                return
            self._take_a_break()
            try:
                page = await self._ask(tile)
            except TooMuch as error:
                yield Moved(self._put(*_divided(tile, error)), self._sight())
            else:
                async for step in self._store(tile, page):
                    yield step
            self._has_come_on = True

    def _next(self) -> Tile | None:
        """Parts of a part before its neighbours: an overloaded server is asked least so."""
        return min(self._open(), key=lambda each: each.path, default=None)

    def _open(self) -> list[Tile]:
        return [each for each in self._tiles.values() if each.is_open]

    def _put(self, *tiles: Tile) -> tuple[Tile, ...]:
        self._tiles.update({each.path: each for each in tiles})
        return tiles

    def _is_enough(self) -> bool:
        return len(self._found) >= self._wanted.max_results

    def _take_a_break(self) -> None:
        if monotonic() > self._stop_at and self._has_come_on:
            raise RetryLater("There is more to ask; it goes on in a moment.", after=A_MOMENT)

    async def _ask(self, tile: Tile) -> PlacePage:
        query = replace(self._wanted.query, area=tile.area)
        try:
            return await self._overpass.search(query, tile.area)
        except TooMuch:
            raise
        except ProviderFailed as error:
            raise verdict_of(error, has_come_on=self._has_come_on) from error

    async def _store(self, tile: Tile, page: PlacePage) -> AsyncIterator[AtOnce]:
        """Its last step says that the tile is done: before that it would be asked again."""
        new = [each for each in page.places if each.place_id not in self._found]
        kept = new[: self._wanted.max_results - len(self._found)]
        for start in range(0, len(kept), STORED_AT_ONCE):
            yield self._answered(tile, kept[start : start + STORED_AT_ONCE], page)
        (done,) = self._put(self._asked(tile, page, len(new) - len(kept)))
        yield self._answered(done, (), page)

    def _answered(self, tile: Tile, facts: Sequence[PlaceFacts], page: PlacePage) -> Answered:
        first = len(self._found) + 1
        self._found.update(dict.fromkeys(each.place_id for each in facts))
        return Answered(tile, tuple(facts), first, self._sight(), attribution=page.attribution)

    def _asked(self, tile: Tile, page: PlacePage, left: int) -> Tile:
        asked = replace(tile, requests=tile.requests + 1, note=unreadable(page))
        if not left:
            return replace(asked, state=TileState.DONE)
        wanted = self._wanted.max_results
        note = f"There are {wanted + left:,}; {wanted:,} were asked for."
        return replace(asked, state=TileState.SATURATED, note=note)

    def _left_out(self) -> list[Tile]:
        note = f"The search has the {self._wanted.max_results:,} places it was asked for."
        return [replace(each, state=TileState.NOT_ASKED, note=note) for each in self._open()]

    def _sight(self) -> Sight:
        parts = [each for each in self._tiles.values() if each.state is not TileState.SPLIT]
        done = sum(not each.is_open for each in parts)
        return Sight(min(0.99, 0.1 + 0.9 * done / len(parts)), "asking for places")


def _divided(tile: Tile, error: TooMuch) -> list[Tile]:
    if len(tile.path) >= MOST_DIVISIONS:
        raise ProviderDown(
            f"{error} That was a part of {side_km(tile.area):.1f} km already, so the server may be "
            "overloaded: try later, search a smaller area, or set OVERPASS_BASE_URL to another "
            "server."
        ) from error
    asked = replace(tile, requests=tile.requests + 1, state=TileState.SPLIT)
    return [asked, *quarters_of(tile)]
