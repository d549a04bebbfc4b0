"""Request place searches and load their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import InvalidInput, NotFound
from scrapersky.jobs import service as job_service
from scrapersky.models import Actor, Job, JobType, Place, Provider, SearchPlace, SearchTile, record
from scrapersky.models.stage_names import SEARCH_STAGE
from scrapersky.places.budget.estimates import CostEstimate, estimate_search
from scrapersky.places.search.saved_searches import save_search
from scrapersky.places.search.schemas import SearchIn, SearchProvider
from scrapersky.scraper.providers.geography import check_area, get_bounding_area
from scrapersky.scraper.providers.model import Area
from scrapersky.settings import Settings


def normalize_text(text: str) -> str:
    return " ".join(text.split()).lower()


def build_subject(params: Mapping[str, Any]) -> str:
    """Describe the search in one line: `bakeries in leipzig, 200 at most, with website`."""
    first = f"{normalize_text(params['business_type'])} {_describe_area(params)}"
    return ", ".join(
        [first, *_describe_options(params), *_describe_filters(params.get("filters") or {})]
    )


def _describe_area(params: Mapping[str, Any]) -> str:
    radius = params.get("radius_km")
    if area := params.get("area"):
        edges = (f"{area[side]:.5f}" for side in ("south", "west", "north", "east"))
        return f"between {' '.join(edges)}"
    if at := params.get("center"):
        return f"within {radius:g} km of {at['latitude']:.5f} {at['longitude']:.5f}"
    around = "" if radius is None else f"within {radius:g} km of the middle of "
    return f"in {around}{normalize_text(params.get('location') or '')}"


def _describe_options(params: Mapping[str, Any]) -> Iterator[str]:
    if params.get("provider") != Provider.GOOGLE:
        yield f"at {params['provider']}"
    yield f"{params['max_results']:,} at most"
    if params.get("language"):
        yield f"language {params['language'].lower()}"
    if params.get("region"):
        yield f"region {params['region'].upper()}"
    if not params.get("go_on", True):
        yield "not going on"


def _describe_filters(filters: Mapping[str, Any]) -> Iterator[str]:
    for name in ("website", "phone"):
        required = filters.get(f"has_{name}")
        if required is not None:
            yield f"{'with' if required else 'without'} {name}"
    if filters.get("min_rating") is not None:
        yield f"rated {filters['min_rating']:g} at least"
    if filters.get("open") is not None:
        yield "open" if filters["open"] else "closed"


def build_params(request: SearchIn, settings: Settings) -> dict[str, Any]:
    """Build the job's parameters. Raise `InvalidInput` when the request is not valid."""
    _check_provider(request, settings)
    _check_location(request)
    values = request.model_dump(mode="json", exclude={"dry_run", "repeat_days"})
    most = request.max_results or settings.place_search_max_results
    return {
        **values,
        "business_type": " ".join(request.business_type.split()),
        "max_results": most,
        "filters": {k: v for k, v in values["filters"].items() if v is not None},
    }


def _check_provider(request: SearchIn, settings: Settings) -> None:
    if not request.business_type.strip():
        raise InvalidInput("business_type is empty. Enter what to search for.")
    if request.provider is SearchProvider.GOOGLE and not settings.google_places_api_key.strip():
        raise InvalidInput(
            "No Google API key. Set GOOGLE_PLACES_API_KEY, or use provider osm, which needs none."
        )


def _check_location(request: SearchIn) -> None:
    area, at, radius = request.area, request.center, request.radius_km
    if area is not None and (at is not None or radius is not None):
        raise InvalidInput("Give either an area or a center with a radius, not both.")
    if at is not None and radius is None:
        raise InvalidInput("A center needs a radius. Add radius_km.")
    if area is None and at is None and not (request.location or "").strip():
        raise InvalidInput("No location. Give a location, a center with radius_km, or an area.")
    if area is not None:
        check_area(Area(**area.model_dump()))
    if radius is not None:
        get_bounding_area(*((0.0, 0.0) if at is None else (at.latitude, at.longitude)), radius)


async def estimate(
    session: AsyncSession, actor: Actor, settings: Settings, request: SearchIn
) -> CostEstimate:
    params = build_params(request, settings)
    return await _estimate_params(session, actor, settings, params)


async def _estimate_params(
    session: AsyncSession, actor: Actor, settings: Settings, params: dict[str, Any]
) -> CostEstimate:
    return await estimate_search(
        session,
        actor.tenant_id,
        max_results=params["max_results"],
        provider=params["provider"],
        settings=settings,
    )


async def request_search(
    session: AsyncSession, actor: Actor, settings: Settings, request: SearchIn
) -> tuple[Job, bool, CostEstimate]:
    """Store the search, or return the active one, with its cost estimate."""
    params = build_params(request, settings)
    expected = await _estimate_params(session, actor, settings, params)
    job, created = await job_service.create(session, actor, build_search_job(params))
    record(session, actor, "place_search.ask", job.id, subject=job.subject, already=not created)
    if request.repeat_days is not None:
        await save_search(session, actor, job, request.repeat_days)
    return job, created, expected


def build_search_job(
    params: dict[str, Any], *, priority: int = job_service.USER_PRIORITY
) -> job_service.NewJob:
    return job_service.NewJob(
        job_type=JobType.PLACE_SEARCH,
        stage=SEARCH_STAGE,
        subject=build_subject(params),
        params=params,
        priority=priority,
    )


async def get_search(session: AsyncSession, actor: Actor, search_id: UUID) -> Job:
    search = await session.scalar(
        select(Job).where(
            Job.id == search_id,
            Job.tenant_id == actor.tenant_id,
            Job.job_type == JobType.PLACE_SEARCH,
        )
    )
    if search is None:
        raise NotFound(f"There is no search {search_id}.")
    return search


async def list_places(
    session: AsyncSession,
    job: Job,
    *,
    fits: bool | None,
    after: tuple[int, UUID] | None,
    limit: int,
) -> Sequence[tuple[SearchPlace, Place]]:
    """List a search's places in the provider's order."""
    order = (SearchPlace.position, SearchPlace.place_id)
    statement = (
        select(SearchPlace, Place)
        .join(Place, Place.id == SearchPlace.place_id)
        .where(SearchPlace.search_id == job.id)
        .order_by(*order)
        .limit(limit)
    )
    if fits is not None:
        statement = statement.where(SearchPlace.fits.is_(fits))
    if after is not None:
        statement = statement.where(tuple_(*order) > after)
    return [(link, place) for link, place in await session.execute(statement)]


async def list_tiles(
    session: AsyncSession, job: Job, *, after: str | None, limit: int
) -> Sequence[SearchTile]:
    statement = select(SearchTile).where(SearchTile.search_id == job.id)
    if after is not None:
        statement = statement.where(SearchTile.path > after)
    return (await session.scalars(statement.order_by(SearchTile.path).limit(limit))).all()
