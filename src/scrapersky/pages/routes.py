"""Pages: list, look and decide."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends

from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.http.errors import problem_responses
from scrapersky.http.lists import Asked, Listed, curation_routes, export_routes
from scrapersky.pages import service
from scrapersky.pages.exporting import EXPORT
from scrapersky.pages.listing import CURATION, PAGES
from scrapersky.pages.schemas import PageOut

router = APIRouter(prefix="/pages", tags=["pages"], responses=problem_responses(401, 403, 422))
router.include_router(curation_routes(CURATION))
router.include_router(export_routes(EXPORT))


@router.get("", summary="Pages, newest first")
async def list_pages(
    actor: Viewer, session: Reading, asked: Annotated[Asked, Depends(PAGES.asked)]
) -> Listed[PageOut]:
    return (await PAGES.show(session, actor, asked)).listed(PageOut.model_validate)


@router.get("/{page_id}", summary="One page", responses=problem_responses(404))
async def get_page(actor: Viewer, session: Reading, page_id: UUID) -> PageOut:
    return PageOut.model_validate(await service.page(session, actor, page_id))
