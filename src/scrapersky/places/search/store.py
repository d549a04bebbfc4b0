"""Store the steps of a place search and apply its filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.jobs.service import emit_job_finished
from scrapersky.models import (
    JOB_STATUSES,
    BusinessStatus,
    GeocodedArea,
    Job,
    PlaceSightingState,
    SearchTile,
    get_system_user_id,
)
from scrapersky.places.budget import charges
from scrapersky.places.budget.charges import ChargeRefusal, store_refusal
from scrapersky.places.search.coverage import ATTRIBUTION_KEY, build_result
from scrapersky.places.search.steps import (
    AreaFound,
    KnownPlaces,
    PlacesFetched,
    SearchFinished,
    SearchProgress,
    SearchStep,
    TilesUpdated,
)
from scrapersky.places.search.tiles import Tile
from scrapersky.places.store import (
    PlaceOwner,
    SearchLink,
    SeenPlace,
    link_places,
    queue_deep_scans,
    touch_known_places,
    upsert_places,
)
from scrapersky.scraper.providers.geography import Point, distance_m, get_centre
from scrapersky.scraper.providers.model import Area

CLOSED_STATUSES = (BusinessStatus.CLOSED_PERMANENTLY, BusinessStatus.CLOSED_TEMPORARILY)


@dataclass(frozen=True)
class SearchFilters:
    has_website: bool | None = None
    has_phone: bool | None = None
    min_rating: float | None = None
    open: bool | None = None
    middle: Point | None = None
    radius_km: float | None = None

    @classmethod
    def of(cls, params: Mapping[str, Any], whole: Area | None) -> SearchFilters:
        radius = params.get("radius_km")
        middle = get_centre(whole) if whole is not None and radius is not None else None
        return cls(**(params.get("filters") or {}), middle=middle, radius_km=radius)

    def matches(self, place: Mapping[str, Any]) -> bool:
        return (
            _matches_flag(self.has_website, place["website_url"])
            and _matches_flag(self.has_phone, place["phone"])
            and self._is_rated(place["rating"])
            and self._is_open(place["business_status"])
            and self._is_near(place["latitude"], place["longitude"])
        )

    def _is_rated(self, rating: float | None) -> bool:
        return self.min_rating is None or (rating is not None and rating >= self.min_rating)

    def _is_open(self, status: str | None) -> bool:
        """Return whether the place is open. An unknown status counts as open."""
        return self.open is None or self.open == (status not in CLOSED_STATUSES)

    def _is_near(self, latitude: float | None, longitude: float | None) -> bool:
        """Return whether the place is within the area. Service-area businesses have no location."""
        if self.middle is None or self.radius_km is None or latitude is None or longitude is None:
            return True
        return distance_m(self.middle, (latitude, longitude)) <= self.radius_km * 1000


def _matches_flag(required: bool | None, value: Any) -> bool:
    return required is None or required == bool(value)


TILES_PER_STATEMENT = 500
COUNTER_COLUMNS = ("requests", "paid_requests", "next_token", "asked_again", "note")
UPSERT_COLUMNS = ("south", "west", "north", "east", "state", "probed", *COUNTER_COLUMNS)


async def store_step(session: AsyncSession, job: Job, step: SearchStep) -> None:
    match step:
        case charges.Charge():
            await charges.reserve_charge(session, job.tenant_id, step)
        case ChargeRefusal():
            await store_refusal(session, step)
        case AreaFound():
            await _store_area(session, step)
        case TilesUpdated():
            _update_progress(job, step.sight)
            await _write_tiles(session, job, step.tiles)
        case KnownPlaces():
            await _store_known_places(session, job, step)
        case PlacesFetched():
            await _store_answer(session, job, step)
        case SearchFinished():
            job.progress, job.phase = 1.0, "done"
            job.result_data = await build_result(session, job)
            await emit_job_finished(session, job, JOB_STATUSES.done)


def _update_progress(job: Job, progress: SearchProgress) -> None:
    job.progress, job.phase = max(job.progress, progress.progress), progress.phase


async def _store_area(session: AsyncSession, step: AreaFound) -> None:
    area = step.area
    await session.execute(
        insert(GeocodedArea)
        .values(
            query=step.query,
            name=step.name,
            south=area.south,
            west=area.west,
            north=area.north,
            east=area.east,
            country=step.country,
            osm=step.osm,
        )
        .on_conflict_do_nothing()
    )


async def _store_known_places(session: AsyncSession, job: Job, step: KnownPlaces) -> None:
    _update_progress(job, step.sight)
    await _write_tiles(session, job, [step.tile])
    places = await touch_known_places(session, _get_owner(session, job), step.provider, step.ids)
    await _add_places(session, job, step.tile, places, step.first_position, without_details=False)


async def _store_answer(session: AsyncSession, job: Job, step: PlacesFetched) -> None:
    _update_progress(job, step.sight)
    if step.entry_id is not None:
        await charges.settle_charge(session, step.entry_id, billed=True)
    await _write_tiles(session, job, [step.tile])
    if step.attribution:
        job.result_data = {**(job.result_data or {}), ATTRIBUTION_KEY: step.attribution}
    places = await upsert_places(session, _get_owner(session, job), step.facts, search_id=job.id)
    await _add_places(
        session, job, step.tile, places, step.first_position, without_details=step.without_details
    )


def _get_owner(session: AsyncSession, job: Job) -> PlaceOwner:
    """Return the system user as owner. The linked job records who searched."""
    return PlaceOwner(job.tenant_id, get_system_user_id(session))


async def _add_places(
    session: AsyncSession,
    job: Job,
    tile: Tile,
    places: Sequence[SeenPlace],
    first: int,
    *,
    without_details: bool,
) -> None:
    """Link places to the search. Places beyond the limit are stored but not processed further."""
    filters = SearchFilters.of(job.params, await _get_whole_area(session, job))
    limit = int(job.params.get("max_results") or 0) or None
    links = [
        SearchLink(
            each, position, filters.matches(each.values) and (limit is None or position <= limit)
        )
        for position, each in enumerate(places, max(first, 1))
    ]
    added = await link_places(session, job, tile.path, links)
    await _count_found(session, job, tile, added)
    if job.params.get("go_on", True):
        fitting = [each.seen for each in added if each.fits]
        await queue_deep_scans(session, fitting, without_details=without_details)


async def _get_whole_area(session: AsyncSession, job: Job) -> Area | None:
    if job.params.get("radius_km") is None:
        return None
    row = await session.get(SearchTile, (job.id, ""))
    return None if row is None else Area(row.south, row.west, row.north, row.east)


async def _write_tiles(session: AsyncSession, job: Job, tiles: Sequence[Tile]) -> None:
    """Upsert the tiles. Their found places are counted in the database."""
    for start in range(0, len(tiles), TILES_PER_STATEMENT):
        statement = insert(SearchTile).values(
            [_build_tile_row(job, each) for each in tiles[start : start + TILES_PER_STATEMENT]]
        )
        written = {name: statement.excluded[name] for name in UPSERT_COLUMNS}
        await session.execute(
            statement.on_conflict_do_update(
                index_elements=[SearchTile.search_id, SearchTile.path],
                set_={**written, "updated_at": func.now()},
            ).execution_options(synchronize_session=False)
        )


def _build_tile_row(job: Job, tile: Tile) -> dict[str, Any]:
    return {
        "search_id": job.id,
        "tenant_id": job.tenant_id,
        "path": tile.path,
        **{side: getattr(tile.area, side) for side in ("south", "west", "north", "east")},
        "state": tile.state,
        "probed": None if tile.ids is None else list(tile.ids),
        **{name: getattr(tile, name) for name in COUNTER_COLUMNS},
    }


async def _count_found(
    session: AsyncSession, job: Job, tile: Tile, added: Sequence[SearchLink]
) -> None:
    if not added:
        return
    new = sum(each.seen.sighted is PlaceSightingState.NEW for each in added)
    await session.execute(
        update(SearchTile)
        .where(SearchTile.search_id == job.id, SearchTile.path == tile.path)
        .values(found=SearchTile.found + len(added), new=SearchTile.new + new)
        .execution_options(synchronize_session=False)
    )
