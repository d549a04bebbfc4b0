"""Stage: run a place search at Google or OpenStreetMap."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import and_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import InvalidInput, Rejected
from scrapersky.jobs import service as job_service
from scrapersky.jobs.service import emit_job_finished
from scrapersky.models import (
    JOB_STATUSES,
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
from scrapersky.pipeline.stage import Stage, StoreImmediately, Tools
from scrapersky.places.budget.charges import classify_failure
from scrapersky.places.search.coverage import build_result
from scrapersky.places.search.google import GoogleSearch, SearchRequest
from scrapersky.places.search.osm import OsmSearch
from scrapersky.places.search.steps import (
    AreaFound,
    SearchFinished,
    SearchProgress,
    SearchStep,
    TilesUpdated,
)
from scrapersky.places.search.store import store_step
from scrapersky.places.search.tiles import Tile
from scrapersky.scraper.providers.errors import ProviderFailed
from scrapersky.scraper.providers.geography import check_area, get_bounding_area, get_centre
from scrapersky.scraper.providers.model import Area, PlaceQuery
from scrapersky.scraper.providers.osm import Nominatim
from scrapersky.settings import Pace, Settings


def build_area_key(location: str, region: str | None) -> str:
    """Build the cache key of a named area. It includes the region: there is a Paris in Texas."""
    plain = " ".join(location.split()).lower()
    return f"{plain} [{region.lower()}]" if region else plain


def parse_area(params: Mapping[str, Any]) -> Area | None:
    """Return the given area, or None when only a name was given."""
    if params.get("area"):
        return Area(**params["area"])
    if params.get("center"):
        at = params["center"]
        return get_bounding_area(at["latitude"], at["longitude"], params["radius_km"])
    return None


def narrow_area(area: Area, radius_km: float | None) -> Area:
    """Apply the radius around the centre of a named area."""
    return area if radius_km is None else get_bounding_area(*get_centre(area), radius_km)


def validate_area(area: Area, name: str) -> Area:
    try:
        return check_area(area)
    except InvalidInput as error:
        raise Rejected(f"{name}: {error}") from error


async def geocode(location: str, language: str, region: str | None, tools: Tools) -> AreaFound:
    nominatim = Nominatim(tools.fetch, tools.settings.nominatim_base_url)
    try:
        area = await nominatim.area(location, language, country=region)
    except ProviderFailed as error:
        raise classify_failure(error) from error
    if area is None:
        raise Rejected(
            f"OpenStreetMap has no area called {location!r}{_format_region(region)}. "
            "Use the spelling on the map, add the country if the name is ambiguous, "
            "or give a center with a radius."
        )
    query = build_area_key(location, region)
    return AreaFound(query, area.name, area.area, area.country, area.osm)


def _format_region(region: str | None) -> str:
    return f" in the region {region.upper()}" if region else ""


TIME_BUDGET_SHARE = 0.8
"""Share of the stage's timeout. A search that is not finished by then continues in the next run."""
MAX_KNOWN_PLACES = 50_000
"""Known places kept in memory during a search. Others are fetched again."""


def read(job: Job) -> SearchRequest:
    params = job.params
    business_type, provider = params.get("business_type"), params.get("provider")
    if not isinstance(business_type, str) or not business_type.strip():
        raise Rejected("The search has no business type.")
    if provider not in (Provider.GOOGLE, Provider.OSM):
        raise Rejected(f"Unknown place provider {provider!r}. Use google or osm.")
    return SearchRequest(
        job.id,
        provider,
        _build_query(business_type, params),
        int(params["max_results"]),
        area=parse_area(params),
        location=params.get("location"),
        radius_km=params.get("radius_km"),
    )


def _build_query(business_type: str, params: Mapping[str, Any]) -> PlaceQuery:
    """Build the query without the location's name: the area restricts it, and a name in the text
    would take precedence.
    """
    return PlaceQuery(
        business_type=business_type,
        language=params.get("language") or "",
        region=_normalize_region(params.get("region")),
        min_rating=(params.get("filters") or {}).get("min_rating"),
    )


def _normalize_region(written: str | None) -> str | None:
    """Return the region code that providers use, for example GB for UK."""
    region = written.upper() if written else None
    return {"UK": "GB", "EL": "GR"}.get(region or "", region)


async def prepare(session: AsyncSession, request: SearchRequest) -> SearchRequest:
    """Load the search's tiles, area and known places."""
    tiles = await session.scalars(
        select(SearchTile)
        .where(SearchTile.search_id == request.search_id)
        .order_by(SearchTile.path)
    )
    request = replace(request, tiles=tuple(_build_tile(each) for each in tiles))
    if request.area is None and request.location is not None:
        request = await _resolve_named_area(session, request, request.location)
    rows = await session.scalars(
        select(Place.place_id)
        .join(SearchPlace, SearchPlace.place_id == Place.id)
        .where(SearchPlace.search_id == request.search_id)
        .order_by(SearchPlace.position)
    )
    return replace(request, found=tuple(rows), known=await _load_known_places(session, request))


def _build_tile(row: SearchTile) -> Tile:
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


async def _resolve_named_area(
    session: AsyncSession, request: SearchRequest, location: str
) -> SearchRequest:
    named = await session.get(GeocodedArea, build_area_key(location, request.query.region))
    if named is None:
        return request
    area = Area(named.south, named.west, named.north, named.east)
    query = replace(request.query, region=request.query.region or named.country)
    return replace(request, query=query, area=narrow_area(area, request.radius_km))


async def _load_known_places(session: AsyncSession, request: SearchRequest) -> dict[str, datetime]:
    if request.provider != Provider.GOOGLE:
        return {}
    tenant = select(Job.tenant_id).where(Job.id == request.search_id).scalar_subquery()
    result = await session.execute(
        select(Place.place_id, Place.details_at)
        .where(
            Place.tenant_id == tenant,
            Place.provider == request.provider,
            Place.details_at.is_not(None),
            Place.gone_at.is_(None),
            *_match_area(request.area),
        )
        .order_by(Place.details_at.desc())
        .limit(MAX_KNOWN_PLACES)
    )
    return {place_id: at for place_id, at in result if at is not None}


def _match_area(area: Area | None) -> list[Any]:
    """Match places within the area. Service-area businesses have no location."""
    if area is None:
        return []
    east, west = Place.longitude <= area.east, Place.longitude >= area.west
    beside = and_(west, east) if area.west <= area.east else or_(west, east)
    inside = and_(Place.latitude.between(area.south, area.north), beside)
    return [or_(Place.latitude.is_(None), inside)]


async def work(request: SearchRequest, tools: Tools) -> AsyncIterator[SearchStep]:
    if not request.tiles:
        async for first_step in _start_search(request, tools):
            yield first_step
            request = _apply_step(request, first_step)
    request = replace(request, query=_apply_defaults(request.query, tools.settings))
    async for step in _build_steps(request, tools):
        yield step
    yield SearchFinished()


def _apply_defaults(query: PlaceQuery, settings: Settings) -> PlaceQuery:
    return replace(
        query,
        language=query.language or settings.places_language,
        region=query.region or settings.places_region or None,
    )


async def _start_search(
    request: SearchRequest, tools: Tools
) -> AsyncIterator[AreaFound | TilesUpdated]:
    """Create the first tile: the whole area."""
    area = request.area
    if area is None:
        language = request.query.language or tools.settings.places_language
        step = await geocode(request.location or "", language, request.query.region, tools)
        yield step
        area = narrow_area(step.area, request.radius_km)
    whole = Tile("", validate_area(area, request.location or "The area"))
    yield TilesUpdated((whole,), SearchProgress(0.02, "Area found"))


def _apply_step(request: SearchRequest, step: AreaFound | TilesUpdated) -> SearchRequest:
    if isinstance(step, TilesUpdated):
        return replace(request, tiles=step.tiles)
    return replace(
        request, query=replace(request.query, region=request.query.region or step.country)
    )


def _build_steps(request: SearchRequest, tools: Tools) -> AsyncIterator[StoreImmediately]:
    seconds = tools.settings.pace(STAGE.prefix, STAGE.pace).timeout_seconds * TIME_BUDGET_SHARE
    kind = GoogleSearch if request.provider == Provider.GOOGLE else OsmSearch
    return kind(request, tools, seconds=seconds).steps()


async def store_failure(session: AsyncSession, job: Job, sentence: str) -> None:
    """Store the coverage. Places found before the failure are kept."""
    job.result_data = await build_result(session, job)
    await emit_job_finished(session, job, JOB_STATUSES.failed, error=sentence)


STAGE = Stage(
    name=SEARCH_STAGE,
    does="Find businesses of a type in an area at Google or in OpenStreetMap.",
    workflow="WF1",
    model=Job,
    status="status",
    words=JOB_STATUSES,
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
    store=store_step,
    gave_up=store_failure,
    cancelled=job_service.handle_cancelled_jobs,
    fresh={"phase": None},
)
