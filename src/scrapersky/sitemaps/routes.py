"""Routes to request scans, import sitemaps and read sitemap files, URLs and changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from scrapersky.http.application import AppContext, Context
from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.body_limits import LargeBodyRoute
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.jobs import service as job_service
from scrapersky.jobs.schemas import EXAMPLE_ID
from scrapersky.lists import ListPage, ListQuery, curation_routes, export_routes
from scrapersky.lists.cursor import CursorPage, CursorParam, LimitParam
from scrapersky.lists.imports import import_rows
from scrapersky.lists.imports.rows import ImportContext, parse_list
from scrapersky.lists.imports.schemas import (
    ColumnParam,
    CsvFile,
    ImportList,
    JobImportOut,
    QueueField,
    QueueParam,
    build_response,
    describe_csv_body,
    read_body_rows,
)
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
from scrapersky.sitemaps.service import SITEMAP_IMPORT, SITEMAP_IMPORT_KIND
from scrapersky.sitemaps.url_lists import (
    FIRST_CURSOR,
    ListFormat,
    StoredUrl,
    UrlCursor,
    format_csv,
    format_text,
    stream_urls,
)

import_router = APIRouter(
    route_class=LargeBodyRoute,
    tags=["sitemaps"],
    responses=problem_responses(401, 403, 422),
)


class SitemapImportOut(BaseModel):
    sitemap_file_id: UUID = Field(examples=[EXAMPLE_ID])
    sitemap_import_status: str = Field(examples=["Queued"])
    already_active: bool = Field(description="True if the import was already queued or running.")
    pages_url: str = Field(examples=[f"/api/v3/pages?sitemap_file_id={EXAMPLE_ID}"])


@import_router.post(
    "/sitemap-files/{file_id}/import",
    status_code=202,
    summary="Import a sitemap's URLs as pages",
    responses=problem_responses(404),
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


class SitemapUrlsIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"urls": ["https://example.com/sitemap.xml"], "queue": True}]
        },
    )

    urls: ImportList
    queue: QueueField = True


@import_router.post(
    "/sitemap-files/direct-submit",
    status_code=202,
    summary="Import sitemaps",
    responses=problem_responses(400, 415),
    response_model=JobImportOut,
)
async def direct_submit(
    actor: Curator, context: Context, session: Transaction, wanted: SitemapUrlsIn
) -> StreamingResponse:
    """Fetch sitemaps by URL, with their children in case of an index, and import their URLs as
    pages. With `queue` false they are only stored. The rest of the site is not scanned. Invalid
    rows are reported and the others are stored. A sitemap that already exists is read again.
    """
    asker = ImportContext(session, actor, context.settings, wanted.queue)
    return build_response(
        await import_rows(asker, SITEMAP_IMPORT, parse_list(wanted.urls)), JobImportOut
    )


@import_router.post(
    "/sitemap-files/import-csv",
    status_code=202,
    summary="Import sitemaps from CSV",
    responses=problem_responses(400, 415),
    response_model=JobImportOut,
    openapi_extra=describe_csv_body("site,sitemap\nExample,https://example.com/sitemap.xml\n"),
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
        await import_rows(asker, SITEMAP_IMPORT, read_body_rows(file, SITEMAP_IMPORT_KIND, column)),
        JobImportOut,
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
    actor: Curator, context: Context, session: Transaction, wanted: ScanIn, response: Response
) -> ScanOut:
    """Scan a site's sitemaps. Returns immediately with the job's ID. While the scan is active, the
    same request returns the same job.
    """
    job, created = await service.request_scan(
        session, actor, context.settings, wanted.base_url, wanted.max_pages
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
    actor: Viewer, session: Reading, asked: Annotated[ListQuery, Depends(SITEMAP_FILES.parse_query)]
) -> ListPage[SitemapFileOut]:
    return (await SITEMAP_FILES.show(session, actor, asked)).to_page(file_out)


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
        session, file.id, after=_decode_cursor(cursor), limit=limit + 1
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
        session, domain.id, after=_decode_cursor(cursor), limit=limit + 1
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
    found = await list_changes(
        session,
        domain.id,
        since=since if since.tzinfo else since.replace(tzinfo=UTC),
        kinds=kind or tuple(UrlChangeKind),
        after=ChangeCursor.decode(cursor) if cursor is not None else None,
        limit=limit + 1,
    )
    shown = found[:limit]
    more = ChangeCursor(shown[-1].at, shown[-1].id).encode() if len(found) > limit else None
    return CursorPage(items=[change_out(each) for each in shown], next_cursor=more)


def _decode_cursor(cursor: str | None) -> UrlCursor:
    return FIRST_CURSOR if cursor is None else UrlCursor.decode(cursor)


def _build_page(rows: Sequence[StoredUrl], limit: int) -> CursorPage[UrlOut]:
    shown = rows[:limit]
    following = shown[-1].place.encode() if len(rows) > limit else None
    return CursorPage(items=[url_out(each) for each in shown], next_cursor=following)


def _stream_urls(context: AppContext, format: ListFormat, **wanted: UUID) -> StreamingResponse:
    handfuls = stream_urls(context.database, **wanted)
    body = format_csv(handfuls) if format is ListFormat.CSV else format_text(handfuls)
    return StreamingResponse(body, media_type=f"{format.media_type}; charset=utf-8")
