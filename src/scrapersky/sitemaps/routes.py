"""Routes to request scans, import sitemaps and read sitemap files, URLs and changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from scrapersky.http.application import AppContext, Context
from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.jobs import service as job_service
from scrapersky.jobs.listing import EXAMPLE_ID
from scrapersky.lists import ListPage, ListQuery, curation_routes, export_routes
from scrapersky.lists.cursor import (
    CursorPage,
    CursorParam,
    LimitParam,
    decode_cursor,
    encode_cursor,
)
from scrapersky.lists.imports.routes import ImportBody, import_routes
from scrapersky.lists.imports.schemas import JobImportOut
from scrapersky.sitemaps import service, url_lists
from scrapersky.sitemaps.changes import ChangeCursor, UrlChangeKind, list_changes
from scrapersky.sitemaps.imports import request_import
from scrapersky.sitemaps.listing import CURATION, EXPORT, SITEMAP_FILES
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
from scrapersky.sitemaps.service import SITEMAP_IMPORT
from scrapersky.sitemaps.url_lists import (
    FIRST_CURSOR,
    ListFormat,
    StoredUrl,
    UrlCursor,
    format_csv,
    format_text,
    stream_urls,
)

import_router = APIRouter()


class SitemapImportOut(BaseModel):
    sitemap_file_id: UUID = Field(examples=[EXAMPLE_ID])
    sitemap_import_status: str = Field(examples=["Queued"])
    already_active: bool = Field(description="True if the import was already queued or running.")
    pages_url: str = Field(examples=[f"/api/v3/pages?sitemap_file_id={EXAMPLE_ID}"])


@import_router.post(
    "/sitemap-files/{file_id}/import",
    status_code=202,
    summary="Import a sitemap's URLs as pages",
    tags=["sitemaps"],
    responses=problem_responses(401, 403, 404, 422),
)
async def import_file(actor: Curator, session: Transaction, file_id: UUID) -> SitemapImportOut:
    """Turn a sitemap's stored URLs into pages. Returns immediately once the import is queued.
    Nothing is fetched, and existing pages keep their curation. Idempotent while the import is
    active.
    """
    file, queued = await request_import(session, actor, file_id)
    return SitemapImportOut(
        sitemap_file_id=file.id,
        sitemap_import_status=file.sitemap_import_status,
        already_active=not queued,
        pages_url=f"/api/v3/pages?sitemap_file_id={file.id}",
    )


import_router.include_router(
    import_routes(
        SITEMAP_IMPORT,
        ImportBody("SitemapUrlsIn", "urls", "https://example.com/sitemap.xml"),
        prefix="/sitemap-files",
        tag="sitemaps",
        says="Fetch sitemaps by URL, with their children in case of an index, and import their "
        "URLs as pages. With `queue` false they are only stored. The rest of the site is not "
        "scanned. Invalid rows are reported and the others are stored. A sitemap that already "
        "exists is read again.",
        csv_example="site,sitemap\nExample,https://example.com/sitemap.xml\n",
        model=JobImportOut,
    )
)


router = APIRouter(tags=["sitemaps"], responses=problem_responses(401, 403, 422))
router.include_router(curation_routes(CURATION), prefix="/sitemap-files")
router.include_router(export_routes(EXPORT), prefix="/sitemap-files")

URL_LIST_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "One page as JSON, or the whole list streamed with format=csv or txt.",
        "content": {"text/csv": {}, "text/plain": {}},
    }
}


@router.post(
    "/sitemap/scan",
    status_code=202,
    summary="Start a sitemap scan",
    responses=problem_responses(400, 415),
)
async def scan(
    actor: Curator, context: Context, session: Transaction, body: ScanIn, response: Response
) -> ScanOut:
    """Scan a site's sitemaps. Returns immediately with the job's ID. While the scan is active, the
    same request returns the same job.
    """
    job, created = await service.request_scan(
        session, actor, context.settings, body.base_url, body.max_pages
    )
    answer = scan_out(job, already_active=not created)
    response.headers["Location"] = answer.status_url
    return answer


@router.get(
    "/sitemap/status/{job_id}",
    summary="Get a sitemap scan",
    responses=problem_responses(404),
)
async def status(actor: Viewer, session: Reading, job_id: UUID) -> ScanStatus:
    job = await job_service.get(session, actor, job_id)
    return scan_status(job, list(await service.list_job_files(session, job)))


@router.get("/sitemap-files", summary="List sitemap files")
async def list_files(
    actor: Viewer, session: Reading, query: Annotated[ListQuery, Depends(SITEMAP_FILES.parse_query)]
) -> ListPage[SitemapFileOut]:
    return (await SITEMAP_FILES.show(session, actor, query)).to_page(file_out)


@router.get(
    "/sitemap-files/{file_id}", summary="Get a sitemap file", responses=problem_responses(404)
)
async def get_file(actor: Viewer, session: Reading, file_id: UUID) -> SitemapFileOut:
    return file_out(await service.get_sitemap_file(session, actor, file_id))


@router.get(
    "/sitemap-files/{file_id}/urls",
    summary="List a sitemap file's URLs",
    response_model=CursorPage[UrlOut],
    responses={**URL_LIST_RESPONSES, **problem_responses(404)},
)
async def urls_of_file(
    actor: Viewer,
    context: Context,
    session: Reading,
    file_id: UUID,
    format: ListFormat = ListFormat.JSON,
    cursor: CursorParam = None,
    limit: LimitParam = 1000,
) -> Any:
    file = await service.get_sitemap_file(session, actor, file_id)
    if format is not ListFormat.JSON:
        return _stream_urls(context, format, sitemap_id=file.id)
    rows = await url_lists.list_file_urls(
        session, file.id, after=_decode_position(cursor), limit=limit + 1
    )
    return _build_page(rows, limit)


@router.get(
    "/domains/{domain_id}/urls",
    summary="List a domain's URLs",
    response_model=CursorPage[UrlOut],
    responses={**URL_LIST_RESPONSES, **problem_responses(404)},
)
async def urls_of_domain(
    actor: Viewer,
    context: Context,
    session: Reading,
    domain_id: UUID,
    format: ListFormat = ListFormat.JSON,
    cursor: CursorParam = None,
    limit: LimitParam = 1000,
) -> Any:
    """Return the URLs of all the domain's sitemaps. A URL that several sitemaps list is returned
    once, for the first of them.
    """
    domain = await service.get_domain(session, actor, domain_id)
    if format is not ListFormat.JSON:
        return _stream_urls(context, format, domain_id=domain.id)
    rows = await url_lists.list_domain_urls(
        session, domain.id, after=_decode_position(cursor), limit=limit + 1
    )
    return _build_page(rows, limit)


@router.get(
    "/domains/{domain_id}/changes",
    summary="List a domain's URL changes",
    responses=problem_responses(404),
)
async def changes_of_domain(
    actor: Viewer,
    session: Reading,
    domain_id: UUID,
    since: Annotated[datetime, Query(examples=["2026-11-01T00:00:00Z"])],
    kind: Annotated[list[UrlChangeKind] | None, Query()] = None,
    cursor: CursorParam = None,
    limit: LimitParam = 1000,
) -> CursorPage[ChangeOut]:
    domain = await service.get_domain(session, actor, domain_id)
    changes = await list_changes(
        session,
        domain.id,
        since=since if since.tzinfo else since.replace(tzinfo=UTC),
        kinds=kind or tuple(UrlChangeKind),
        after=ChangeCursor(*decode_cursor(cursor, datetime, int)) if cursor is not None else None,
        limit=limit + 1,
    )
    page = changes[:limit]
    more = encode_cursor(page[-1].at, page[-1].id) if len(changes) > limit else None
    return CursorPage(items=[change_out(each) for each in page], next_cursor=more)


def _decode_position(cursor: str | None) -> UrlCursor:
    return FIRST_CURSOR if cursor is None else UrlCursor(*decode_cursor(cursor, UUID, bytes))


def _build_page(rows: Sequence[StoredUrl], limit: int) -> CursorPage[UrlOut]:
    shown = rows[:limit]
    following = encode_cursor(*shown[-1].place) if len(rows) > limit else None
    return CursorPage(items=[url_out(each) for each in shown], next_cursor=following)


def _stream_urls(context: AppContext, format: ListFormat, **parameters: UUID) -> StreamingResponse:
    batches = stream_urls(context.database, **parameters)
    body = format_csv(batches) if format is ListFormat.CSV else format_text(batches)
    return StreamingResponse(body, media_type=f"{format.media_type}; charset=utf-8")
