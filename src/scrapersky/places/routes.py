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
    summary="Hand in a CSV file of businesses",
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
        Query(pattern="^[A-Za-z]{2}$", description="Where phone numbers without a code are from."),
    ] = None,
) -> StreamingResponse:
    """The file is the body, with any of the usual delimiters and encodings; its first line names
    the columns: name, website, phone, email, address, street, city and the like. Bad rows are
    reported and the others are kept. The list is a search of its own, that every row's `job_id`
    names."""
    asker = ImportContext(session, actor, context.settings, queue)
    where = region or context.settings.places_region or None
    return build_response(await import_places(asker, file, region=where), JobImportOut)


router = APIRouter(prefix="/places", tags=["places"], responses=problem_responses(401, 403, 422))
router.include_router(curation_routes(CURATION))
router.include_router(export_routes(EXPORT))

REFRESH_REQUEST = build_bulk_dependency(PLACES, "Refresh")
PlaceQueryParams = Annotated[ListQuery, Depends(PLACES.parse_query)]


@router.get("", summary="Places, newest first")
async def list_places(
    actor: Viewer, session: Reading, asked: PlaceQueryParams
) -> ListPage[PlaceOut]:
    """Each as one provider knows it; `local_business_id` tells which are the same business."""
    return (await PLACES.show(session, actor, asked)).to_page(PlaceOut.model_validate)


@router.get("/staging", summary="Places, newest first, by their older name")
async def list_staged_places(
    actor: Viewer, session: Reading, asked: PlaceQueryParams
) -> ListPage[PlaceOut]:
    return (await PLACES.show(session, actor, asked)).to_page(PlaceOut.model_validate)


@router.post(
    "/refresh",
    summary="Ask the provider for many places anew",
    responses=problem_responses(400, 409, 415),
)
async def refresh_places(
    actor: Curator, session: Transaction, asked: Annotated[BulkRequest, Depends(REFRESH_REQUEST)]
) -> BulkOut:
    """By ids or by the filters of the list, however young their details are. Each is a request
    that costs, within the month's budget; only Google's places can be asked for so."""
    return await service.refresh_many(session, actor, asked)


@router.get("/{place_id}", summary="One place", responses=problem_responses(404))
async def get_place(actor: Viewer, session: Reading, place_id: UUID) -> PlaceDetail:
    """With the searches that found it and the business that it is."""
    return await service.build_detail(session, await service.get_place(session, actor, place_id))


@router.post(
    "/{place_id}/refresh",
    summary="Ask the provider for a place anew",
    responses=problem_responses(404, 409),
)
async def refresh_place(actor: Curator, session: Transaction, place_id: UUID) -> PlaceOut:
    """However young its details are. It is a request that costs, within the month's budget."""
    return PlaceOut.model_validate(await service.refresh(session, actor, place_id))
