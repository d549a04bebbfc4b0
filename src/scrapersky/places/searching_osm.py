"""A search at OpenStreetMap: one question for the whole area, which costs nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from scrapersky.models import TileState
from scrapersky.pipeline.stage import AtOnce, Tools
from scrapersky.places.governor_refusals import verdict_of
from scrapersky.places.searching import Wanted
from scrapersky.places.searching_steps import Answered, Sight
from scrapersky.places.tiles import Tile
from scrapersky.scraper.providers.failures import ProviderFailed
from scrapersky.scraper.providers.model import PlacePage
from scrapersky.scraper.providers.osm import Overpass

STORED_AT_ONCE = 500


async def osm_steps(wanted: Wanted, tools: Tools) -> AsyncIterator[AtOnce]:
    (whole,) = wanted.tiles
    if whole.state is not TileState.WAITING:
        return
    page = await _ask(wanted, whole, tools)
    places = page.places[: wanted.max_results]
    for start in range(0, len(places), STORED_AT_ONCE):
        done = Sight(0.5 + 0.5 * start / len(places), "storing places")
        part = places[start : start + STORED_AT_ONCE]
        yield Answered(whole, part, start + 1, done, attribution=page.attribution)
    yield Answered(
        _asked(whole, page, wanted),
        (),
        len(places) + 1,
        Sight(0.99, "storing places"),
        attribution=page.attribution,
    )


async def _ask(wanted: Wanted, whole: Tile, tools: Tools) -> PlacePage:
    overpass = Overpass(tools.fetch, tools.settings.overpass_base_url)
    try:
        return await overpass.search(replace(wanted.query, area=whole.area), whole.area)
    except ProviderFailed as error:
        raise verdict_of(error) from error


def _asked(whole: Tile, page: PlacePage, wanted: Wanted) -> Tile:
    asked = replace(whole, requests=whole.requests + 1, state=TileState.DONE)
    if len(page.places) <= wanted.max_results:
        return asked
    note = f"There are {len(page.places):,}; {wanted.max_results:,} were asked for."
    return replace(asked, state=TileState.SATURATED, note=note)
