"""The form by which a search begins, with what it would cost beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.http.auth import Curator
from scrapersky.http.context import Reading
from scrapersky.jobs import service as job_service
from scrapersky.models import Actor, JobType, Provider
from scrapersky.settings import Settings

router = APIRouter(route_class=PageRoute)

NAMED, AROUND, RECTANGLE = "named", "around", "rectangle"
"""The ways to say where."""
ASKED = ("business_type", "location", "radius_km", "center", "area", "language", "region", "go_on")
FILTERS = ("has_website", "has_phone", "min_rating", "open")


@router.get("/searches/new")
async def new_search(
    actor: Curator,
    session: Reading,
    show: Showing,
    like: UUID | None = Query(None, alias="from"),
) -> HTMLResponse:
    settings = show.context.settings
    params: dict[str, Any] = await _params_of(session, actor, like) if like else {}
    return show.page(
        "searching/new.html",
        title="Search for businesses",
        given=dict.fromkeys(ASKED) | params,
        filters=dict.fromkeys(FILTERS) | (params.get("filters") or {}),
        has_further=any(params.get(each) for each in ("filters", "language", "region")),
        where=_way_of(params),
        provider=_provider(params, settings),
        has_key=bool(settings.google_places_api_key),
        most=params.get("max_results") or settings.place_search_max_results,
        language=settings.places_language,
        region=settings.places_region,
    )


async def _params_of(session: AsyncSession, actor: Actor, search_id: UUID) -> dict[str, Any]:
    """As another search was asked; nothing where it was none."""
    job = await job_service.get(session, actor, search_id)
    return job.params if job.job_type == JobType.PLACE_SEARCH else {}


def _way_of(params: Mapping[str, Any]) -> str:
    if params.get("area"):
        return RECTANGLE
    return AROUND if params.get("center") else NAMED


def _provider(params: Mapping[str, Any], settings: Settings) -> str:
    """Google knows most, but cannot be asked without a key."""
    if not settings.google_places_api_key:
        return Provider.OSM
    return str(params.get("provider") or Provider.GOOGLE)
