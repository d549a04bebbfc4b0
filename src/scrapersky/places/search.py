"""Find the businesses of a kind in an area, at a place provider."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import and_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import Rejected
from scrapersky.jobs import service as job_service
from scrapersky.jobs.finishing import announce_finished
from scrapersky.models import (
    JOB_WORDS,
    GeocodedArea,
    Job,
    JobType,
    Place,
    Provider,
    SearchPlace,
    SearchTile,
    TileState,
)
from scrapersky.models.stage_names import DEEP_SCAN_STAGE, SEARCH_STAGE
from scrapersky.pipeline.stage import AtOnce, Stage, Tools
from scrapersky.places.coverage import result_of
from scrapersky.places.search_storing import store
from scrapersky.places.searching import GoogleSearch, Wanted
from scrapersky.places.searching_areas import area_of, checked, look_up, named_query, narrowed
from scrapersky.places.searching_osm import OsmSearch
from scrapersky.places.searching_steps import AreaFound, Finished, Moved, Sight, Step
from scrapersky.places.tiles import Tile
from scrapersky.scraper.providers.model import Area, PlaceQuery
from scrapersky.settings import Pace, Settings

TIME_BUDGET = 0.8
"""Of the stage's timeout: a search that is not through by then goes on in the next turn."""
KNOWN_AT_MOST = 50_000
"""Places that are remembered while a search runs; any others are asked for once more."""


def read(job: Job) -> Wanted:
    params = job.params
    business_type, provider = params.get("business_type"), params.get("provider")
    if not isinstance(business_type, str) or not business_type.strip():
        raise Rejected("The search does not say what is looked for.")
    if provider not in (Provider.GOOGLE, Provider.OSM):
        raise Rejected(f"There is no place provider {provider!r}; there are google and osm.")
    return Wanted(
        job.id,
        provider,
        _query(business_type, params),
        int(params["max_results"]),
        area=area_of(params),
        location=params.get("location"),
        radius_km=params.get("radius_km"),
    )


def _query(business_type: str, params: Mapping[str, Any]) -> PlaceQuery:
    """Without the place's name: the area says it, and a name in the text would go before it."""
    return PlaceQuery(
        business_type=business_type,
        language=params.get("language") or "",
        region=_region(params.get("region")),
        min_rating=(params.get("filters") or {}).get("min_rating"),
    )


def _region(written: str | None) -> str | None:
    """As the providers know it: people write UK for what is GB to them."""
    region = written.upper() if written else None
    return {"UK": "GB", "EL": "GR"}.get(region or "", region)


async def prepare(session: AsyncSession, wanted: Wanted) -> Wanted:
    """Where it stands, where the area lies, and what was told of it before."""
    tiles = await session.scalars(
        select(SearchTile).where(SearchTile.search_id == wanted.search_id).order_by(SearchTile.path)
    )
    wanted = replace(wanted, tiles=tuple(_tile(each) for each in tiles))
    if wanted.area is None and wanted.location is not None:
        wanted = await _with_named_area(session, wanted, wanted.location)
    found = await session.scalars(
        select(Place.place_id)
        .join(SearchPlace, SearchPlace.place_id == Place.id)
        .where(SearchPlace.search_id == wanted.search_id)
        .order_by(SearchPlace.position)
    )
    return replace(wanted, found=tuple(found), known=await _known(session, wanted))


def _tile(row: SearchTile) -> Tile:
    return Tile(
        row.path,
        Area(row.south, row.west, row.north, row.east),
        state=TileState(row.state),
        ids=None if row.probed is None else tuple(row.probed),
        found=row.found,
        new=row.new,
        requests=row.requests,
        paid_requests=row.paid_requests,
        next_token=row.next_token,
        asked_again=row.asked_again,
        note=row.note,
    )


async def _with_named_area(session: AsyncSession, wanted: Wanted, location: str) -> Wanted:
    named = await session.get(GeocodedArea, named_query(location, wanted.query.region))
    if named is None:
        return wanted
    area = Area(named.south, named.west, named.north, named.east)
    query = replace(wanted.query, region=wanted.query.region or named.country)
    return replace(wanted, query=query, area=narrowed(area, wanted.radius_km))


async def _known(session: AsyncSession, wanted: Wanted) -> dict[str, datetime]:
    if wanted.provider != Provider.GOOGLE:
        return {}
    tenant = select(Job.tenant_id).where(Job.id == wanted.search_id).scalar_subquery()
    found = await session.execute(
        select(Place.place_id, Place.details_at)
        .where(
            Place.tenant_id == tenant,
            Place.provider == wanted.provider,
            Place.details_at.is_not(None),
            Place.gone_at.is_(None),
            *_inside(wanted.area),
        )
        .order_by(Place.details_at.desc())
        .limit(KNOWN_AT_MOST)
    )
    return {place_id: at for place_id, at in found if at is not None}


def _inside(area: Area | None) -> list[Any]:
    """Those that come to their customers lie nowhere."""
    if area is None:
        return []
    east, west = Place.longitude <= area.east, Place.longitude >= area.west
    beside = and_(west, east) if area.west <= area.east else or_(west, east)
    inside = and_(Place.latitude.between(area.south, area.north), beside)
    return [or_(Place.latitude.is_(None), inside)]


async def work(wanted: Wanted, tools: Tools) -> AsyncIterator[Step]:
    if not wanted.tiles:
        async for begun in _begin(wanted, tools):
            yield begun
            wanted = _after(wanted, begun)
    wanted = replace(wanted, query=_with_defaults(wanted.query, tools.settings))
    async for step in _steps(wanted, tools):
        yield step
    yield Finished()


def _with_defaults(query: PlaceQuery, settings: Settings) -> PlaceQuery:
    return replace(
        query,
        language=query.language or settings.places_language,
        region=query.region or settings.places_region or None,
    )


async def _begin(wanted: Wanted, tools: Tools) -> AsyncIterator[AreaFound | Moved]:
    """The whole area is the first tile."""
    area = wanted.area
    if area is None:
        language = wanted.query.language or tools.settings.places_language
        found = await look_up(wanted.location or "", language, wanted.query.region, tools)
        yield found
        area = narrowed(found.area, wanted.radius_km)
    whole = Tile("", checked(area, wanted.location or "The area"))
    yield Moved((whole,), Sight(0.02, "the area is found"))


def _after(wanted: Wanted, step: AreaFound | Moved) -> Wanted:
    if isinstance(step, Moved):
        return replace(wanted, tiles=step.tiles)
    return replace(wanted, query=replace(wanted.query, region=wanted.query.region or step.country))


def _steps(wanted: Wanted, tools: Tools) -> AsyncIterator[AtOnce]:
    seconds = tools.settings.pace(STAGE.prefix, STAGE.pace).timeout_seconds * TIME_BUDGET
    kind = GoogleSearch if wanted.provider == Provider.GOOGLE else OsmSearch
    return kind(wanted, tools, seconds=seconds).steps()


async def note_failure(session: AsyncSession, job: Job, sentence: str) -> None:
    """What was found by then stays, and is counted."""
    job.result_data = await result_of(session, job)
    await announce_finished(session, job, JOB_WORDS.failed, error=sentence)


STAGE = Stage(
    name=SEARCH_STAGE,
    does="Find the businesses of a kind in an area, at Google or in OpenStreetMap.",
    workflow="WF1",
    model=Job,
    status="status",
    words=JOB_WORDS,
    prefix="PLACE_SEARCH_SCHEDULER",
    pace=Pace(batch_size=10, concurrency=2, timeout_seconds=600),
    only={"job_type": JobType.PLACE_SEARCH},
    priority="priority",
    started="started_at",
    finished="finished_at",
    feeds=(DEEP_SCAN_STAGE,),
    read=read,
    prepare=prepare,
    work=work,
    store=store,
    gave_up=note_failure,
    cancelled=job_service.postpone_domains,
    fresh={"phase": None},
)
