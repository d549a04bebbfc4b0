"""Routes to list, curate, refresh and import places."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse

from scrapersky.http.application import Context
from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.body_limits import LargeBodyRoute
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.lists import (
    BulkOut,
    BulkRequest,
    ListPage,
    ListQuery,
    build_bulk_dependency,
    curation_routes,
    export_routes,
)
from scrapersky.lists.imports.rows import ImportContext
from scrapersky.lists.imports.schemas import (
    CsvFile,
    JobImportOut,
    QueueParam,
    build_response,
    describe_csv_body,
)
from scrapersky.places import service
from scrapersky.places.imports import import_places
from scrapersky.places.listing import CURATION, EXPORT, PLACES
from scrapersky.places.schemas import PlaceDetail, PlaceOut

import_router = APIRouter(
    route_class=LargeBodyRoute,
    prefix="/places",
    tags=["places"],
    responses=problem_responses(400, 401, 403, 415, 422),
)


@import_router.post(
    "/import-csv",
    status_code=202,
    summary="Import businesses from CSV",
    response_model=JobImportOut,
    openapi_extra=describe_csv_body(
        "name,website,phone,city\nBakery Berger,https://berger.example,+49 341 123456,Leipzig\n"
    ),
)
async def import_csv(
    actor: Curator,
    context: Context,
    file: CsvFile,
    session: Transaction,
    queue: QueueParam = True,
    region: Annotated[
        str | None,
        Query(
            pattern="^[A-Za-z]{2}$", description="Country of phone numbers without a country code."
        ),
    ] = None,
) -> StreamingResponse:
    """Send the file as the request body. Common delimiters and encodings are detected. The first
    line names the columns: name, website, phone, email, address, street, city and similar.
    Invalid rows are reported and the others are stored. The import is stored as a search; every
    row's `job_id` refers to it.
    """
    asker = ImportContext(session, actor, context.settings, queue)
    where = region or context.settings.places_region or None
    return build_response(await import_places(asker, file, region=where), JobImportOut)


router = APIRouter(prefix="/places", tags=["places"], responses=problem_responses(401, 403, 422))
router.include_router(curation_routes(CURATION))
router.include_router(export_routes(EXPORT))

REFRESH_REQUEST = build_bulk_dependency(PLACES, "Refresh")
PlaceQueryParams = Annotated[ListQuery, Depends(PLACES.parse_query)]


@router.get("", summary="List places")
async def list_places(
    actor: Viewer, session: Reading, asked: PlaceQueryParams
) -> ListPage[PlaceOut]:
    """Return places as their providers report them, newest first. Places with the same
    `local_business_id` are the same business.
    """
    return (await PLACES.show(session, actor, asked)).to_page(PlaceOut.model_validate)


@router.get("/staging", summary="List places (alias)")
async def list_staged_places(
    actor: Viewer, session: Reading, asked: PlaceQueryParams
) -> ListPage[PlaceOut]:
    return (await PLACES.show(session, actor, asked)).to_page(PlaceOut.model_validate)


@router.post(
    "/refresh",
    summary="Refresh places",
    responses=problem_responses(400, 409, 415),
)
async def refresh_places(
    actor: Curator, session: Transaction, asked: Annotated[BulkRequest, Depends(REFRESH_REQUEST)]
) -> BulkOut:
    """Fetch the details of many places, by IDs or by the list's filters, regardless of their age.
    Each place is a paid request within the month's budget. Only for Google places.
    """
    return await service.refresh_many(session, actor, asked)


@router.get("/{place_id}", summary="Get a place", responses=problem_responses(404))
async def get_place(actor: Viewer, session: Reading, place_id: UUID) -> PlaceDetail:
    """Return a place with its searches and its business."""
    return await service.build_detail(session, await service.get_place(session, actor, place_id))


@router.post(
    "/{place_id}/refresh",
    summary="Refresh a place",
    responses=problem_responses(404, 409),
)
async def refresh_place(actor: Curator, session: Transaction, place_id: UUID) -> PlaceOut:
    """Fetch a place's details, regardless of their age. It is a paid request within the month's
    budget.
    """
    return PlaceOut.model_validate(await service.refresh(session, actor, place_id))
