"""Routes for pages: list, get, curate, export and import."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends

from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.http.problems import problem_responses
from scrapersky.lists import ListPage, ListQuery, curation_routes, export_routes
from scrapersky.lists.imports.routes import ImportBody, import_routes
from scrapersky.pages import service
from scrapersky.pages.listing import CURATION, EXPORT, PAGES
from scrapersky.pages.schemas import PageOut
from scrapersky.pages.service import PAGE_IMPORT

import_router = import_routes(
    PAGE_IMPORT,
    ImportBody("PagesIn", "urls", "https://example.com/contact"),
    prefix="/pages",
    tag="pages",
    says="Store a list of page URLs. Invalid rows are reported and the others are stored. Each "
    "page is read for contacts, unless `queue` is false. Its domain is stored as well, but not "
    "scanned. A page that already exists is left unchanged, unless it was never read.",
    csv_example="name,url\nContact,https://example.com/contact\n",
)

router = APIRouter(prefix="/pages", tags=["pages"], responses=problem_responses(401, 403, 422))
router.include_router(curation_routes(CURATION))
router.include_router(export_routes(EXPORT))


@router.get("", summary="List pages")
async def list_pages(
    actor: Viewer, session: Reading, query: Annotated[ListQuery, Depends(PAGES.parse_query)]
) -> ListPage[PageOut]:
    return (await PAGES.show(session, actor, query)).to_page(PageOut.model_validate)


@router.get("/{page_id}", summary="Get a page", responses=problem_responses(404))
async def get_page(actor: Viewer, session: Reading, page_id: UUID) -> PageOut:
    return PageOut.model_validate(await service.get_page(session, actor, page_id))
