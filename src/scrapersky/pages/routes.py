"""Pages: list and look."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.http.errors import problem_responses
from scrapersky.http.pagination import Cursor, Limit, Page
from scrapersky.pages import service
from scrapersky.pages.schemas import PageOut

router = APIRouter(prefix="/pages", tags=["pages"], responses=problem_responses(401, 403, 422))


@router.get("", summary="Pages, newest first")
async def list_pages(
    actor: Viewer,
    session: Reading,
    domain_id: UUID | None = None,
    sitemap_file_id: UUID | None = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[PageOut]:
    rows, following = await service.pages(
        session,
        actor,
        domain_id=domain_id,
        sitemap_file_id=sitemap_file_id,
        cursor=cursor,
        limit=limit,
    )
    return Page(items=[PageOut.model_validate(each) for each in rows], next_cursor=following)


@router.get("/{page_id}", summary="One page", responses=problem_responses(404))
async def get_page(actor: Viewer, session: Reading, page_id: UUID) -> PageOut:
    return PageOut.model_validate(await service.page(session, actor, page_id))
