"""Routes for pages: list, get, curate, export and import."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict

from scrapersky.http.application import Context
from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.body_limits import LargeBodyRoute
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.lists import ListPage, ListQuery, curation_routes, export_routes
from scrapersky.lists.imports import import_rows
from scrapersky.lists.imports.rows import ImportContext, parse_list
from scrapersky.lists.imports.schemas import (
    ColumnParam,
    CsvFile,
    ImportList,
    ImportOut,
    QueueField,
    QueueParam,
    build_response,
    describe_csv_body,
    read_body_rows,
)
from scrapersky.pages import service
from scrapersky.pages.listing import CURATION, EXPORT, PAGES
from scrapersky.pages.schemas import PageOut
from scrapersky.pages.service import PAGE_IMPORT, PAGE_IMPORT_KIND

import_router = APIRouter(
    route_class=LargeBodyRoute,
    prefix="/pages",
    tags=["pages"],
    responses=problem_responses(400, 401, 403, 415, 422),
)


class PagesIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"urls": ["https://example.com/contact"], "queue": True}]},
    )

    urls: ImportList
    queue: QueueField = True


@import_router.post(
    "/direct-submit", status_code=202, summary="Import pages", response_model=ImportOut
)
async def direct_submit(
    actor: Curator, context: Context, session: Transaction, wanted: PagesIn
) -> StreamingResponse:
    """Store a list of page URLs. Invalid rows are reported and the others are stored. Each page is
    read for contacts, unless `queue` is false. Its domain is stored as well, but not scanned. A
    page that already exists is left unchanged, unless it was never read.
    """
    asker = ImportContext(session, actor, context.settings, wanted.queue)
    return build_response(await import_rows(asker, PAGE_IMPORT, parse_list(wanted.urls)))


@import_router.post(
    "/import-csv",
    status_code=202,
    summary="Import pages from CSV",
    response_model=ImportOut,
    openapi_extra=describe_csv_body("name,url\nContact,https://example.com/contact\n"),
)
async def import_csv(
    actor: Curator,
    context: Context,
    file: CsvFile,
    session: Transaction,
    queue: QueueParam = True,
    column: ColumnParam = None,
) -> StreamingResponse:
    """Send the file as the request body. Common delimiters and encodings are detected; a header row
    is optional. Rows are handled like those of `direct-submit`.
    """
    asker = ImportContext(session, actor, context.settings, queue)
    return build_response(
        await import_rows(asker, PAGE_IMPORT, read_body_rows(file, PAGE_IMPORT_KIND, column))
    )


router = APIRouter(prefix="/pages", tags=["pages"], responses=problem_responses(401, 403, 422))
router.include_router(curation_routes(CURATION))
router.include_router(export_routes(EXPORT))


@router.get("", summary="List pages")
async def list_pages(
    actor: Viewer, session: Reading, asked: Annotated[ListQuery, Depends(PAGES.parse_query)]
) -> ListPage[PageOut]:
    return (await PAGES.show(session, actor, asked)).to_page(PageOut.model_validate)


@router.get("/{page_id}", summary="Get a page", responses=problem_responses(404))
async def get_page(actor: Viewer, session: Reading, page_id: UUID) -> PageOut:
    return PageOut.model_validate(await service.get_page(session, actor, page_id))
