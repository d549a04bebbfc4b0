"""Ask for scans; read sitemap files and URLs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import StreamingResponse

from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import AppContext, Context, Reading, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.lists import Asked, Listed, curation_routes, export_routes
from scrapersky.http.pagination import Cursor, Limit, Page
from scrapersky.jobs import service as job_service
from scrapersky.sitemaps import service, url_lists
from scrapersky.sitemaps.changes import ChangeKind, Place, changes_of
from scrapersky.sitemaps.exporting import EXPORT
from scrapersky.sitemaps.listing import CURATION, SITEMAP_FILES
from scrapersky.sitemaps.schemas import (
    ChangeOut,
    ScanIn,
    ScanOut,
    ScanStatus,
    SitemapFileOut,
    UrlOut,
    change_out,
    file_out,
    scan_out,
    scan_status,
    url_out,
)
from scrapersky.sitemaps.url_lists import (
    START,
    ListFormat,
    StoredUrl,
    UrlPlace,
    all_urls,
    as_csv,
    as_text,
)

router = APIRouter(tags=["sitemaps"], responses=problem_responses(401, 403, 422))
router.include_router(curation_routes(CURATION), prefix="/sitemap-files")
router.include_router(export_routes(EXPORT), prefix="/sitemap-files")

STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A page as JSON; with format=csv or txt all of it, streamed.",
        "content": {"text/csv": {}, "text/plain": {}},
    }
}


@router.post(
    "/sitemap/scan",
    status_code=202,
    summary="Scan a site's sitemaps",
    responses=problem_responses(400, 415),
)
async def scan(
    actor: Curator, context: Context, session: Transaction, wanted: ScanIn, response: Response
) -> ScanOut:
    """Answers at once with the job's id; the job is stored by then. Asking again while the scan is
    active answers the same job."""
    job, created = await service.request_scan(
        session, actor, context.settings, wanted.base_url, wanted.max_pages
    )
    answer = scan_out(job, already_active=not created)
    response.headers["Location"] = answer.status_url
    return answer


@router.get(
    "/sitemap/status/{job_id}",
    summary="How a scan is doing and what it has found",
    responses=problem_responses(404),
)
async def status(actor: Viewer, session: Reading, job_id: UUID) -> ScanStatus:
    job = await job_service.get(session, actor, job_id)
    return scan_status(job, list(await service.files_of_job(session, job)))


@router.get("/sitemap-files", summary="Sitemap files, newest first")
async def list_files(
    actor: Viewer, session: Reading, asked: Annotated[Asked, Depends(SITEMAP_FILES.asked)]
) -> Listed[SitemapFileOut]:
    return (await SITEMAP_FILES.show(session, actor, asked)).listed(file_out)


@router.get(
    "/sitemap-files/{file_id}", summary="One sitemap file", responses=problem_responses(404)
)
async def get_file(actor: Viewer, session: Reading, file_id: UUID) -> SitemapFileOut:
    return file_out(await service.sitemap_file(session, actor, file_id))


@router.get(
    "/sitemap-files/{file_id}/urls",
    summary="The URLs a sitemap file lists",
    response_model=Page[UrlOut],
    responses={**STREAMED, **problem_responses(404)},
)
async def urls_of_file(
    actor: Viewer,
    context: Context,
    session: Reading,
    file_id: UUID,
    format: ListFormat = ListFormat.JSON,
    cursor: Cursor = None,
    limit: Limit = 1000,
) -> Any:
    file = await service.sitemap_file(session, actor, file_id)
    if format is not ListFormat.JSON:
        return _streamed(context, format, sitemap_id=file.id)
    rows = await url_lists.urls_of_file(session, file.id, after=_after(cursor), limit=limit + 1)
    return _page(rows, limit)


@router.get(
    "/domains/{domain_id}/urls",
    summary="All URLs a domain's sitemaps list",
    response_model=Page[UrlOut],
    responses={**STREAMED, **problem_responses(404)},
)
async def urls_of_domain(
    actor: Viewer,
    context: Context,
    session: Reading,
    domain_id: UUID,
    format: ListFormat = ListFormat.JSON,
    cursor: Cursor = None,
    limit: Limit = 1000,
) -> Any:
    """Each URL once, however many of the domain's sitemaps list it: the first of them stands for
    it."""
    domain = await service.domain(session, actor, domain_id)
    if format is not ListFormat.JSON:
        return _streamed(context, format, domain_id=domain.id)
    rows = await url_lists.urls_of_domain(session, domain.id, after=_after(cursor), limit=limit + 1)
    return _page(rows, limit)


@router.get(
    "/domains/{domain_id}/changes",
    summary="URLs that are new, changed or gone since a moment, oldest first",
    responses=problem_responses(404),
)
async def changes_of_domain(
    actor: Viewer,
    session: Reading,
    domain_id: UUID,
    since: Annotated[datetime, Query(examples=["2026-11-01T00:00:00Z"])],
    kind: Annotated[list[ChangeKind] | None, Query()] = None,
    cursor: Cursor = None,
    limit: Limit = 1000,
) -> Page[ChangeOut]:
    domain = await service.domain(session, actor, domain_id)
    found = await changes_of(
        session,
        domain.id,
        since=since if since.tzinfo else since.replace(tzinfo=UTC),
        kinds=kind or tuple(ChangeKind),
        after=Place.decode(cursor) if cursor is not None else None,
        limit=limit + 1,
    )
    shown = found[:limit]
    more = Place(shown[-1].at, shown[-1].id).encode() if len(found) > limit else None
    return Page(items=[change_out(each) for each in shown], next_cursor=more)


def _after(cursor: str | None) -> UrlPlace:
    return START if cursor is None else UrlPlace.decode(cursor)


def _page(rows: Sequence[StoredUrl], limit: int) -> Page[UrlOut]:
    shown = rows[:limit]
    following = shown[-1].place.encode() if len(rows) > limit else None
    return Page(items=[url_out(each) for each in shown], next_cursor=following)


def _streamed(context: AppContext, format: ListFormat, **wanted: UUID) -> StreamingResponse:
    handfuls = all_urls(context.database, **wanted)
    body = as_csv(handfuls) if format is ListFormat.CSV else as_text(handfuls)
    return StreamingResponse(body, media_type=f"{format.media_type}; charset=utf-8")
