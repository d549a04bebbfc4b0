"""Ask for a search; read what searches have found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import InvalidInput, NotFound
from scrapersky.jobs import service as job_service
from scrapersky.models import Actor, Job, JobType, Place, SearchPlace, SearchTile, record
from scrapersky.models.stage_names import SEARCH_STAGE
from scrapersky.places.estimating import Estimate, estimate_search
from scrapersky.places.repeating import save_search
from scrapersky.places.search_schemas import SearchIn, SearchProvider
from scrapersky.places.search_subjects import subject_of
from scrapersky.scraper.providers.geography import around, check_area
from scrapersky.scraper.providers.model import Area
from scrapersky.settings import Settings


def params_of(wanted: SearchIn, settings: Settings) -> dict[str, Any]:
    """What the job is asked; `InvalidInput` says what cannot be."""
    _refuse_no_key(wanted, settings)
    _refuse_unclear_place(wanted)
    given = wanted.model_dump(mode="json", exclude={"dry_run", "repeat_days"})
    most = wanted.max_results or settings.place_search_max_results
    return {
        **given,
        "business_type": " ".join(wanted.business_type.split()),
        "max_results": most,
        "filters": {k: v for k, v in given["filters"].items() if v is not None},
    }


def _refuse_no_key(wanted: SearchIn, settings: Settings) -> None:
    if not wanted.business_type.strip():
        raise InvalidInput("Say what is looked for: business_type is empty.")
    if wanted.provider is SearchProvider.GOOGLE and not settings.google_places_api_key.strip():
        raise InvalidInput(
            "There is no key for Google: set GOOGLE_PLACES_API_KEY, or search with provider osm, "
            "which needs none."
        )


def _refuse_unclear_place(wanted: SearchIn) -> None:
    area, at, radius = wanted.area, wanted.center, wanted.radius_km
    if area is not None and (at is not None or radius is not None):
        raise InvalidInput("Give an area, or a center with a radius; not both.")
    if at is not None and radius is None:
        raise InvalidInput("How far around the center? Give radius_km.")
    if area is None and at is None and not (wanted.location or "").strip():
        raise InvalidInput("Where? Give a location, a center with radius_km, or an area.")
    if area is not None:
        check_area(Area(**area.model_dump()))
    if radius is not None:
        around(*((0.0, 0.0) if at is None else (at.latitude, at.longitude)), radius)


async def estimate(
    session: AsyncSession, actor: Actor, settings: Settings, wanted: SearchIn
) -> Estimate:
    params = params_of(wanted, settings)
    return await _estimate(session, actor, settings, params)


async def _estimate(
    session: AsyncSession, actor: Actor, settings: Settings, params: dict[str, Any]
) -> Estimate:
    return await estimate_search(
        session,
        actor.tenant_id,
        max_results=params["max_results"],
        provider=params["provider"],
        settings=settings,
    )


async def request_search(
    session: AsyncSession, actor: Actor, settings: Settings, wanted: SearchIn
) -> tuple[Job, bool, Estimate]:
    """Store the search, or find the one that is active already; says which, and what it costs."""
    params = params_of(wanted, settings)
    expected = await _estimate(session, actor, settings, params)
    job, created = await job_service.create(session, actor, search_job(params))
    record(session, actor, "place_search.ask", job.id, subject=job.subject, already=not created)
    if wanted.repeat_days is not None:
        await save_search(session, actor, job, wanted.repeat_days)
    return job, created, expected


def search_job(
    params: dict[str, Any], *, priority: int = job_service.ASKED_BY_PEOPLE
) -> job_service.NewJob:
    return job_service.NewJob(
        job_type=JobType.PLACE_SEARCH,
        stage=SEARCH_STAGE,
        subject=subject_of(params),
        params=params,
        priority=priority,
    )


async def search_of(session: AsyncSession, actor: Actor, search_id: UUID) -> Job:
    found = await session.scalar(
        select(Job).where(
            Job.id == search_id,
            Job.tenant_id == actor.tenant_id,
            Job.job_type == JobType.PLACE_SEARCH,
        )
    )
    if found is None:
        raise NotFound(f"There is no search {search_id}.")
    return found


async def places_of(
    session: AsyncSession,
    job: Job,
    *,
    fits: bool | None,
    after: tuple[int, UUID] | None,
    limit: int,
) -> Sequence[tuple[SearchPlace, Place]]:
    """In the provider's order."""
    order = (SearchPlace.position, SearchPlace.place_id)
    found = (
        select(SearchPlace, Place)
        .join(Place, Place.id == SearchPlace.place_id)
        .where(SearchPlace.search_id == job.id)
        .order_by(*order)
        .limit(limit)
    )
    if fits is not None:
        found = found.where(SearchPlace.fits.is_(fits))
    if after is not None:
        found = found.where(tuple_(*order) > after)
    return [(link, place) for link, place in await session.execute(found)]


async def tiles_of(
    session: AsyncSession, job: Job, *, after: str | None, limit: int
) -> Sequence[SearchTile]:
    found = select(SearchTile).where(SearchTile.search_id == job.id)
    if after is not None:
        found = found.where(SearchTile.path > after)
    return (await session.scalars(found.order_by(SearchTile.path).limit(limit))).all()
