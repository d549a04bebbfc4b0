"""The sitemaps table and the page of one sitemap file."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy import Select, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard import cells
from scrapersky.dashboard.cells import Row
from scrapersky.dashboard.details import (
    build_decision_form,
    find_open_dead_letter,
    get_permissions,
    list_events,
)
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.dashboard.table import EmptyState, Table, TableAction, TableColumn
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.models import Domain, Job, SitemapFile, User
from scrapersky.models.sitemaps import IMPORT_STATUSES
from scrapersky.models.stage_names import IMPORT_STAGE
from scrapersky.scraper.http.urls import url_digest
from scrapersky.sitemaps import service
from scrapersky.sitemaps.listing import CURATION, EXPORT
from scrapersky.sitemaps.listing import SITEMAP_FILES as LISTING
from scrapersky.sitemaps.url_lists import list_file_urls

router = APIRouter(route_class=PageRoute)

MAX_URLS = 25
MAX_CHILDREN = 40
DISCOVERY_LABELS = {
    "robots_txt": "robots.txt",
    "common_path": "common location",
    "html_link": "home page link",
    "sitemap_index": "sitemap index",
    "manual": "import",
}
DROP_REASONS = {
    "foreign_host": "on another host",
    "empty_loc": "without a URL",
    "undefined_entity": "with an undefined XML entity",
    "too_long": "with a URL that is too long",
    "not_http": "not HTTP",
    "bad_url": "with an invalid URL",
    "not_a_url": "lines without a URL",
    "broken_tag": "with broken markup",
    "oversized_record": "too large",
    "cut": "truncated",
    "bad_lastmod": "invalid dates",
    "bad_changefreq": "invalid change frequencies",
    "bad_priority": "invalid priorities",
}


@router.get("/sitemap-files/{file_id}")
async def sitemap_file_page(
    actor: Viewer, session: Reading, show: Renderer, file_id: UUID
) -> HTMLResponse:
    file = await service.get_sitemap_file(session, actor, file_id)
    domain, job, maker = (await session.execute(_build_context_query(file))).one_or_none() or (
        None,
        None,
        None,
    )
    children = (await session.execute(_build_children_query(file))).all()
    return show.page(
        "details/sitemap_file.html",
        title=file.url,
        file=file,
        domain=domain,
        job=job,
        maker=maker,
        parent=await _find_parent(session, file),
        children=[each[0] for each in children],
        child_count=children[0].total if children else 0,
        urls=await list_file_urls(session, file.id, limit=MAX_URLS),
        events=await list_events(session, IMPORT_STAGE, file.id),
        letter_id=await find_open_dead_letter(session, IMPORT_STAGE, file.id),
        found_by=DISCOVERY_LABELS.get(file.discovery_method, file.discovery_method),
        dropped=[(DROP_REASONS.get(name, name), count) for name, count in file.dropped.items()],
        import_active=file.sitemap_import_status
        in (IMPORT_STATUSES.queued, IMPORT_STATUSES.processing),
        decision=build_decision_form(CURATION, file),
        **get_permissions(actor),
    )


def _build_context_query(file: SitemapFile) -> Select[Domain, Job, str]:
    return (
        select(Domain, Job, User.name)
        .select_from(SitemapFile)
        .join(Domain, Domain.id == SitemapFile.domain_id)
        .outerjoin(Job, Job.id == SitemapFile.job_id)
        .outerjoin(User, User.id == SitemapFile.created_by)
        .where(SitemapFile.id == file.id)
    )


async def _find_parent(session: AsyncSession, file: SitemapFile) -> SitemapFile | None:
    if file.parent_url is None:
        return None
    sitemap_file: SitemapFile | None = await session.scalar(
        select(SitemapFile).where(
            SitemapFile.domain_id == file.domain_id,
            SitemapFile.url_digest == url_digest(file.parent_url),
        )
    )
    return sitemap_file


def _build_children_query(file: SitemapFile) -> Select[SitemapFile, int]:
    named = [SitemapFile.parent_url == each for each in {file.url, file.final_url} if each]
    return (
        select(SitemapFile, func.count().over().label("total"))
        .where(SitemapFile.domain_id == file.domain_id, or_(*named), SitemapFile.id != file.id)
        .order_by(SitemapFile.created_at, SitemapFile.id)
        .limit(MAX_CHILDREN)
    )


RETRY_PATH = f"/stages/{IMPORT_STAGE}/rows/requeue"
_import_cell = cells.stage(
    "sitemap_import_status", "sitemap_import_error", failed=IMPORT_STATUSES.failed, retry=RETRY_PATH
)


def _strip_scheme(row: Row) -> str:
    return str(row.url.split("://", 1)[-1])


SITEMAP_FILES_TABLE = Table(
    kind="sitemap-files",
    title="Sitemaps",
    noun="sitemap",
    says="Every sitemap that was found or imported. Selected ones become pages.",
    listing=LISTING,
    curation=CURATION,
    export=EXPORT,
    hands_in="sitemap-files",
    segments="curation_status",
    acts=(TableAction("Retry import", RETRY_PATH, "queued for retry", key="r", by_filter=False),),
    order="url status url_count sitemap_import_status curation_status type discovery_method "
    "last_processed_at",
    cells={
        "url": cells.row_link("sitemap-files", _strip_scheme),
        "status": cells.status_reason("status", cells.attribute("reason")),
        "sitemap_import_status": _import_cell,
    },
    extra=(TableColumn("link", "Link", lambda row, _: cells.external_link(row.url), usual=False),),
    nothing=EmptyState(
        "Sitemaps are found on your sites automatically. You can also import sitemap URLs.",
        "/import?kind=sitemap-files",
        "Import sitemaps",
    ),
)
