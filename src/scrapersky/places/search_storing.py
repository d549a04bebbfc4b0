"""What a search's steps leave in the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.jobs.finishing import announce_finished
from scrapersky.models import (
    JOB_WORDS,
    GeocodedArea,
    Job,
    SearchTile,
    Sighted,
    get_system_user_id,
)
from scrapersky.places import governor
from scrapersky.places.coverage import ATTRIBUTION, result_of
from scrapersky.places.governor_refusals import Refusal, store_refusal
from scrapersky.places.search_filters import Filters
from scrapersky.places.searching_steps import (
    Answered,
    AreaFound,
    Finished,
    Moved,
    Recognised,
    Sight,
    Step,
)
from scrapersky.places.storing import (
    Link,
    Owner,
    Seen,
    known_places,
    link,
    send_on,
    upsert_places,
)
from scrapersky.places.tiles import Tile
from scrapersky.scraper.providers.model import Area

TILES_OF_A_STATEMENT = 500
COUNTED = ("requests", "paid_requests", "next_token", "asked_again", "note")
WRITTEN = ("south", "west", "north", "east", "state", "probed", *COUNTED)


async def store(session: AsyncSession, job: Job, step: Step) -> None:
    match step:
        case governor.Charge():
            await governor.reserve(session, job.tenant_id, step)
        case Refusal():
            await store_refusal(session, step)
        case AreaFound():
            await _keep_area(session, step)
        case Moved():
            _show(job, step.sight)
            await _write_tiles(session, job, step.tiles)
        case Recognised():
            await _store_recognised(session, job, step)
        case Answered():
            await _store_answer(session, job, step)
        case Finished():
            job.progress, job.phase = 1.0, "done"
            job.result_data = await result_of(session, job)
            await announce_finished(session, job, JOB_WORDS.done)


def _show(job: Job, sight: Sight) -> None:
    job.progress, job.phase = max(job.progress, sight.progress), sight.phase


async def _keep_area(session: AsyncSession, found: AreaFound) -> None:
    area = found.area
    await session.execute(
        insert(GeocodedArea)
        .values(
            query=found.query,
            name=found.name,
            south=area.south,
            west=area.west,
            north=area.north,
            east=area.east,
            country=found.country,
            osm=found.osm,
        )
        .on_conflict_do_nothing()
    )


async def _store_recognised(session: AsyncSession, job: Job, step: Recognised) -> None:
    _show(job, step.sight)
    await _write_tiles(session, job, [step.tile])
    seen = await known_places(session, _owner(session, job), step.provider, step.ids)
    await _add(session, job, step.tile, seen, step.first_position, without_details=False)


async def _store_answer(session: AsyncSession, job: Job, step: Answered) -> None:
    _show(job, step.sight)
    if step.entry_id is not None:
        await governor.settle_charge(session, step.entry_id, billed=True)
    await _write_tiles(session, job, [step.tile])
    if step.attribution:
        job.result_data = {**(job.result_data or {}), ATTRIBUTION: step.attribution}
    seen = await upsert_places(session, _owner(session, job), step.facts, search_id=job.id)
    await _add(
        session, job, step.tile, seen, step.first_position, without_details=step.without_details
    )


def _owner(session: AsyncSession, job: Job) -> Owner:
    """The stage stores these places; who searched stands in the job they link to."""
    return Owner(job.tenant_id, get_system_user_id(session))


async def _add(
    session: AsyncSession,
    job: Job,
    tile: Tile,
    seen: Sequence[Seen],
    first: int,
    *,
    without_details: bool,
) -> None:
    """To what the search has found; what came beyond what was asked for is kept and goes no
    further."""
    filters = Filters.of(job.params, await _whole(session, job))
    limit = int(job.params.get("max_results") or 0) or None
    links = [
        Link(each, position, filters.fit(each.values) and (limit is None or position <= limit))
        for position, each in enumerate(seen, max(first, 1))
    ]
    added = await link(session, job, tile.path, links)
    await _count(session, job, tile, added)
    if job.params.get("go_on", True):
        fitting = [each.seen for each in added if each.fits]
        await send_on(session, fitting, without_details=without_details)


async def _whole(session: AsyncSession, job: Job) -> Area | None:
    if job.params.get("radius_km") is None:
        return None
    row = await session.get(SearchTile, (job.id, ""))
    return None if row is None else Area(row.south, row.west, row.north, row.east)


async def _write_tiles(session: AsyncSession, job: Job, tiles: Sequence[Tile]) -> None:
    """As the work has them; what was found in them is counted here."""
    for start in range(0, len(tiles), TILES_OF_A_STATEMENT):
        adding = insert(SearchTile).values(
            [_row(job, each) for each in tiles[start : start + TILES_OF_A_STATEMENT]]
        )
        written = {name: adding.excluded[name] for name in WRITTEN}
        await session.execute(
            adding.on_conflict_do_update(
                index_elements=[SearchTile.search_id, SearchTile.path],
                set_={**written, "updated_at": func.now()},
            ).execution_options(synchronize_session=False)
        )


def _row(job: Job, tile: Tile) -> dict[str, Any]:
    return {
        "search_id": job.id,
        "tenant_id": job.tenant_id,
        "path": tile.path,
        **{side: getattr(tile.area, side) for side in ("south", "west", "north", "east")},
        "state": tile.state,
        "probed": None if tile.ids is None else list(tile.ids),
        **{name: getattr(tile, name) for name in COUNTED},
    }


async def _count(session: AsyncSession, job: Job, tile: Tile, added: Sequence[Link]) -> None:
    if not added:
        return
    new = sum(each.seen.sighted is Sighted.NEW for each in added)
    await session.execute(
        update(SearchTile)
        .where(SearchTile.search_id == job.id, SearchTile.path == tile.path)
        .values(found=SearchTile.found + len(added), new=SearchTile.new + new)
        .execution_options(synchronize_session=False)
    )
