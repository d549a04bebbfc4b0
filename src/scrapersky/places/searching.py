"""Ask a provider for the places in an area: every request is charged before it is sent, and what
it brought is stored before the next one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from math import ceil
from uuid import UUID

from scrapersky.models import TileState
from scrapersky.pipeline.stage import AtOnce, Tools
from scrapersky.places import planning
from scrapersky.places.searching_requests import GoogleRequests
from scrapersky.places.searching_steps import Answered, Moved, Recognised, Sight
from scrapersky.places.tiles import MOST, PAGE, PAGES, Tile, Tiles
from scrapersky.scraper.providers.google import SEARCH_FULL
from scrapersky.scraper.providers.model import Area, PlacePage, PlaceQuery

LOOKING = "looking what there is, which costs nothing"
ASKING = "asking for places"
A_MOMENT = timedelta(seconds=1)


@dataclass(frozen=True)
class Wanted:
    """What a search is to bring, and how far it has come."""

    search_id: UUID
    provider: str
    query: PlaceQuery
    max_results: int
    area: Area | None = None
    """Nothing while nobody knows where it lies."""
    location: str | None = None
    radius_km: float | None = None
    tiles: tuple[Tile, ...] = ()
    known: Mapping[str, datetime] = field(default_factory=dict)
    """When places that were found before told everything."""
    found: tuple[str, ...] = ()
    """What this search has brought by now."""


class GoogleSearch:
    """One search at work. Its steps are generators: a step that is yielded is stored before the
    next line runs."""

    def __init__(self, wanted: Wanted, tools: Tools, *, seconds: float) -> None:
        settings = tools.settings
        self.wanted = wanted
        self.settings = settings
        self.found = dict.fromkeys(wanted.found)
        self.tiles = Tiles.of(
            wanted.tiles,
            limit=settings.place_search_max_tiles,
            enough=wanted.max_results,
            known=_fresh(wanted, settings.place_details_max_age_days),
        )
        self._asked = GoogleRequests(wanted.query, wanted.search_id, tools, seconds=seconds)

    async def steps(self) -> AsyncIterator[AtOnce]:
        in_one = self.wanted.max_results <= MOST
        async for step in self._at_once() if in_one else self._in_parts():
            yield step
        left = self.tiles.leave_the_rest(_enough(self.wanted.max_results))
        if left:
            yield Moved(left, self._sight(ASKING))

    async def _at_once(self) -> AsyncIterator[AtOnce]:
        """No more is wanted than the provider gives for one question."""
        whole = self.tiles.all[""]
        if whole.is_open and not whole.is_begun and whole.ids is None and self.tiles.known:
            async for step in self._asked.look(whole.area, pages=self._pages()):
                yield step
            (whole,) = self.tiles.put(self._first_of(whole))
        if whole.is_open:
            async for step in self._take(whole):
                yield step

    def _first_of(self, whole: Tile) -> Tile:
        """As many as are wanted, of those that were seen."""
        wanted = self.wanted.max_results
        more = len(self._asked.seen) > wanted or self._asked.page.next_token is not None
        return replace(
            whole,
            ids=self._asked.seen[:wanted],
            requests=whole.requests + self._asked.looks,
            note=_enough(wanted) if more else self._asked.broken,
        )

    async def _in_parts(self) -> AsyncIterator[AtOnce]:
        while len(self.found) < self.wanted.max_results:
            begun = next((each for each in self.tiles.open() if each.is_begun), None)
            tile = begun or self.tiles.next_to_look_at()
            if tile is None:
                async for step in self._settle_known():
                    yield step
                tile = self._next_to_take()
            if tile is None:
                return
            async for step in self._go_on_with(tile):
                yield step

    def _next_to_take(self) -> Tile | None:
        """A slice that is cut before a strip that is not."""
        waiting = [each for each in self.tiles.open() if each.ids is not None or each.is_slice]
        return min(waiting, key=lambda each: each.ids is None, default=None)

    def _go_on_with(self, tile: Tile) -> AsyncIterator[AtOnce]:
        if tile.is_begun or tile.ids is not None:
            return self._take(tile)
        return self._cut(tile) if tile.is_slice else self._look_at(tile)

    # What costs nothing

    async def _look_at(self, tile: Tile) -> AsyncIterator[AtOnce]:
        async for step in self._asked.look(tile.area):
            yield step
        changed = self.tiles.looked_at(tile, self._asked.seen, self._asked.looks)
        if self._asked.broken is not None and changed[0].is_complete:
            changed = self.tiles.put(replace(changed[0], note=self._asked.broken))
        yield self._moved(changed)

    async def _cut(self, strip: Tile) -> AsyncIterator[AtOnce]:
        cut = planning.Cut(strip.area, planning.crowds_under(self.tiles, strip))
        spent = 0
        while not cut.is_done:
            tried = cut.next_try()
            async for step in self._asked.look(tried):
                yield step
            cut.learn(tried, self._asked.seen)
            spent += self._asked.looks
        number = planning.next_number(self.tiles, strip)
        yield self._moved(self.tiles.put(*planning.cut(strip, cut, number, spent)))

    async def _settle_known(self) -> AsyncIterator[AtOnce]:
        """Decide how what was seen is asked; what need not be asked is noted as found again."""
        planned = planning.plan(self.tiles, frozenset(self.found))
        for tile in planned:
            if tile.state is TileState.KNOWN:
                yield self._recognised(tile)
        others = tuple(each for each in planned if each.state is not TileState.KNOWN)
        if others:
            yield self._moved(others)

    def _recognised(self, tile: Tile) -> Recognised:
        first = len(self.found) + 1
        ids = tile.ids or ()
        self.found.update(dict.fromkeys(ids))
        self._asked.has_come_on = True
        return Recognised(tile, self.wanted.provider, ids, first, self._sight(ASKING))

    # What is paid for

    async def _take(self, tile: Tile) -> AsyncIterator[AtOnce]:
        new = set(tile.ids or ()) - self.tiles.known - set(self.found)
        if tile.ids is not None and not new and not tile.is_begun:
            (known,) = self.tiles.put(planning.known(tile))
            yield self._recognised(known)
            return
        while tile.is_open:
            async for step in self._asked.ask(SEARCH_FULL, tile.area, tile.next_token):
                yield step
            tile = self._after_page(tile)
            yield self._answered(tile)

    def _after_page(self, tile: Tile) -> Tile:
        self.found.update(dict.fromkeys(each.place_id for each in self._asked.page.places))
        asked = replace(
            tile,
            requests=tile.requests + 1,
            paid_requests=tile.paid_requests + (self._asked.entry_id is not None),
            next_token=self._asked.page.next_token,
            note=tile.note or unreadable(self._asked.page),
        )
        (after,) = self.tiles.put(self._judged(asked))
        return after

    def _judged(self, tile: Tile) -> Tile:
        """Whether it goes on with a next page, begins once more, or is done."""
        missing = set(tile.ids or ()) - set(self.found)
        if self._asked.broken is not None and (missing or tile.ids is None):
            again = replace(tile, next_token=None, asked_again=True)
            done = replace(again, state=TileState.DONE, note=self._asked.broken)
            return done if tile.asked_again else again
        if tile.next_token is not None and self._may_go_on(tile):
            return tile
        if tile.next_token is not None and self._has_enough():
            note = _enough(self.wanted.max_results)
            return replace(tile, state=TileState.SATURATED, next_token=None, note=note)
        crowded = tile.ids is not None and not tile.is_complete
        state = TileState.SATURATED if crowded else TileState.DONE
        short = f"{len(missing)} of those it named at first did not come." if missing else None
        return replace(tile, state=state, next_token=None, note=tile.note or short)

    def _may_go_on(self, tile: Tile) -> bool:
        pages = PAGES * (2 if tile.asked_again else 1)
        return tile.paid_requests < pages and not self._has_enough()

    def _has_enough(self) -> bool:
        return len(self.found) >= self.wanted.max_results

    def _answered(self, tile: Tile) -> Answered:
        facts = self._asked.page.places
        self._asked.has_come_on = True
        return Answered(
            tile,
            facts,
            first_position=len(self.found) - len(facts) + 1,
            sight=self._sight(ASKING),
            entry_id=self._asked.entry_id,
            attribution=self._asked.page.attribution,
            without_details=self.settings.auto_deep_scan,
        )

    # How far it has come

    def _moved(self, tiles: tuple[Tile, ...]) -> Moved:
        self._asked.has_come_on = True
        return Moved(tiles, self._sight(LOOKING))

    def _sight(self, phase: str) -> Sight:
        wanted = self.wanted.max_results
        if phase == LOOKING and not self.found:
            return Sight(min(0.3, 0.3 * self.tiles.gathered() / wanted), phase)
        expected = min(wanted, self.tiles.gathered() or wanted)
        return Sight(min(0.99, 0.3 + 0.7 * len(self.found) / expected), phase)

    def _pages(self) -> int:
        return ceil(self.wanted.max_results / PAGE)


def _fresh(wanted: Wanted, max_age_days: float) -> frozenset[str]:
    oldest = datetime.now(UTC) - timedelta(days=max_age_days)
    return frozenset(each for each, at in wanted.known.items() if at > oldest)


def unreadable(page: PlacePage) -> str | None:
    if not page.unreadable:
        return None
    return f"{page.unreadable:,} of what came could not be read as places."


def _enough(max_results: int) -> str:
    return f"The search has the {max_results:,} places it was asked for."
