"""The pages table and the page of one crawled page."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from sqlalchemy import Select, and_, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard import cells
from scrapersky.dashboard.cells import Row
from scrapersky.dashboard.details import (
    build_decision_form,
    find_open_dead_letter,
    get_permissions,
    list_events,
)
from scrapersky.dashboard.formats import render_badge
from scrapersky.dashboard.labels import describe_extraction_method, highlight_snippet
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.dashboard.table import EmptyState, Table, TableAction, TableColumn
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.models import (
    PAGE_STATUSES,
    Contact,
    ContactEvidence,
    ContactScrapeStatus,
    Domain,
    Page,
    SitemapFile,
    SitemapUrl,
    User,
)
from scrapersky.models.stage_names import PAGE_STAGE
from scrapersky.pages import service
from scrapersky.pages.listing import CURATION, EXPORT
from scrapersky.pages.listing import PAGES as LISTING
from scrapersky.pages.schemas import PageOut

router = APIRouter(route_class=PageRoute)

MAX_CONTACTS = 25
SCRAPE_LABELS = {
    ContactScrapeStatus.FOUND: "contacts found",
    ContactScrapeStatus.NONE: "no contacts",
    ContactScrapeStatus.ERROR: "not read",
    ContactScrapeStatus.NOT_A_FIT: "not a fit",
}
ENDED_STATUSES = (PAGE_STATUSES.done, PAGE_STATUSES.failed, PAGE_STATUSES.skipped)


@router.get("/pages/{page_id}")
async def page_page(actor: Viewer, session: Reading, show: Renderer, page_id: UUID) -> HTMLResponse:
    page = await service.get_page(session, actor, page_id)
    around = (await session.execute(_build_context_query(page))).one_or_none()
    domain, file, listed, maker = around or (None, None, None, None)
    rows = (await session.execute(_build_contacts_query(page))).all()
    return show.page(
        "details/page.html",
        title=page.title or page.url,
        page=PageOut.model_validate(page),
        scraped=SCRAPE_LABELS.get(ContactScrapeStatus(page.contact_scrape_status)),
        domain=domain,
        file=file,
        listed=listed,
        maker=maker,
        found=rows,
        found_count=rows[0].total if rows else 0,
        attempts=page.page_processing_attempts,
        due_at=page.page_processing_due_at,
        waits=page.page_processing_status == PAGE_STATUSES.queued,
        can_read_again=page.page_processing_status in ENDED_STATUSES,
        stage=PAGE_STAGE,
        events=await list_events(session, PAGE_STAGE, page.id),
        letter_id=await find_open_dead_letter(session, PAGE_STAGE, page.id),
        decision=build_decision_form(CURATION, page),
        how=describe_extraction_method,
        highlighted=highlight_snippet,
        **get_permissions(actor),
    )


def _build_context_query(page: Page) -> Select[Domain, SitemapFile, SitemapUrl, str]:
    """Select its site, its preferred sitemap with the sitemap's entry, and its creator."""
    of_file = and_(
        SitemapUrl.sitemap_id == Page.sitemap_file_id, SitemapUrl.url_digest == Page.url_digest
    )
    return (
        select(Domain, SitemapFile, SitemapUrl, User.name)
        .select_from(Page)
        .join(Domain, Domain.id == Page.domain_id)
        .outerjoin(SitemapFile, SitemapFile.id == Page.sitemap_file_id)
        .outerjoin(SitemapUrl, of_file)
        .outerjoin(User, User.id == Page.created_by)
        .where(Page.id == page.id)
    )


def _build_contacts_query(page: Page) -> Select[Contact, ContactEvidence, int]:
    return (
        select(Contact, ContactEvidence, func.count().over().label("total"))
        .join(ContactEvidence, ContactEvidence.contact_id == Contact.id)
        .where(ContactEvidence.page_id == page.id)
        .order_by(ContactEvidence.confidence.desc(), ContactEvidence.id)
        .limit(MAX_CONTACTS)
    )


RETRY_PATH = f"/stages/{PAGE_STAGE}/rows/requeue"


async def _add_reasons(_: AsyncSession, rows: Sequence[Row]) -> Sequence[Row]:
    """Add the reason why a page was not read."""
    return [PageOut.model_validate(each) for each in rows]


def _reading_cell(row: Row, may_change: bool) -> Markup:
    if row.reason:
        return render_badge(row.page_processing_status) + cells.subtext(row.reason)
    return cells.stage(
        "page_processing_status",
        "page_processing_error",
        failed=PAGE_STATUSES.failed,
        retry=RETRY_PATH,
    )(row, may_change)


def _title(row: Row, _: bool) -> Markup:
    return cells.shorten(row.title or row.h1) + cells.subtext(row.description)


def _contacts_cell(row: Row, _: bool) -> Markup:
    if row.contacts_found is None:
        return cells.shorten(None)
    return Markup('<a href="/contacts?page_id={}">{}</a>').format(row.id, row.contacts_found)


PAGES_TABLE = Table(
    kind="pages",
    title="Pages",
    noun="page",
    says="Pages of your sites and the contacts found on them.",
    listing=LISTING,
    curation=CURATION,
    export=EXPORT,
    hands_in="pages",
    segments="page_curation_status",
    prepare=_add_reasons,
    acts=(TableAction("Retry reading", RETRY_PATH, "queued for retry", key="r", by_filter=False),),
    labels={"has_page_type": "Classified", "text": "Title or heading"},
    order="url title page_curation_status page_type page_processing_status contacts_found "
    "http_status read_at",
    cells={
        "url": cells.row_link("pages", lambda row: row.url.split("://", 1)[-1]),
        "title": _title,
        "page_processing_status": _reading_cell,
        "contacts_found": _contacts_cell,
    },
    extra=(TableColumn("link", "Link", lambda row, _: cells.external_link(row.url), usual=False),),
    nothing=EmptyState(
        "Pages come from the sitemaps and home pages of your sites, or from an import.",
        "/import?kind=pages",
        "Import pages",
    ),
)
