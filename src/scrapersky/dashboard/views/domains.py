"""The domains table and the live page of one domain."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard import cells
from scrapersky.dashboard.cells import Row
from scrapersky.dashboard.charts import build_change_chart
from scrapersky.dashboard.details import (
    MAX_ORIGINS,
    build_decision_form,
    get_permissions,
    handle_deleted_row,
    is_unchanged,
    load_origins,
    parse_subject_id,
)
from scrapersky.dashboard.formats import render_badge, url_total
from scrapersky.dashboard.labels import (
    describe_extraction_method,
    describe_search,
    get_provider_label,
)
from scrapersky.dashboard.live import LiveContext, LiveView, Parts
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.dashboard.table import EmptyState, Table, TableAction
from scrapersky.dashboard.views import domain_progress
from scrapersky.dashboard.views.domain_progress import (
    DomainProgress,
    build_steps,
    load_sitemap_tree,
)
from scrapersky.domains.listing import CURATION, EXPORT
from scrapersky.domains.listing import DOMAINS as LISTING
from scrapersky.errors import NotFound
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.models import JOB_STATUSES, PAGE_STATUSES, Actor, Domain, Job, Lead, User
from scrapersky.models.domains import METADATA_STATUSES, SUBMISSION_STATUSES
from scrapersky.models.stage_names import METADATA_STAGE, SUBMISSION_STAGE
from scrapersky.scraper.site.model import SiteState

router = APIRouter(route_class=PageRoute)

PARTS = ("head", "steps", "facts", "sitemaps", "pages", "contacts", "jobs")
"""Parts of the page, one template each, re-rendered while the domain is active."""
ACTIVE_STATUSES = (JOB_STATUSES.queued, JOB_STATUSES.processing)


@router.get("/domains/{domain_id}")
async def domain_page(
    actor: Viewer, session: Reading, show: Renderer, domain_id: UUID
) -> HTMLResponse:
    data = await _load_domain(session, actor, domain_id)
    title = data["domain"].domain
    return show.page("details/domain.html", title=title, parts=PARTS, **data)


async def _load_domain(session: AsyncSession, actor: Actor, domain_id: UUID) -> dict[str, Any]:
    domain, lead, maker = await _load_head(session, actor, domain_id)
    tree = await load_sitemap_tree(session, domain_id)
    counts = await domain_progress.count_pages(session, domain_id)
    broken = counts.statuses[PAGE_STATUSES.failed]
    failed = await domain_progress.list_failed_pages(session, domain_id) if broken else ()
    jobs, job_count = await domain_progress.list_last_jobs(session, domain_id)
    contacts, contact_count = await domain_progress.list_first_contacts(session, domain_id)
    progress = DomainProgress(domain, jobs[0] if jobs else None, tree, counts, failed)
    return {
        **get_permissions(actor),
        "domain": domain,
        "lead": lead,
        "maker": maker,
        "tree": tree,
        "counts": counts,
        "pages": await domain_progress.list_first_pages(session, domain_id),
        "jobs": jobs,
        "job_count": job_count,
        "contacts": contacts,
        "contact_count": contact_count,
        "steps": build_steps(progress),
        "chart": build_change_chart(jobs),
        "decision": build_decision_form(CURATION, domain),
        "how": describe_extraction_method,
        "origins": await load_origins(session, domain_id),
        "origins_shown": MAX_ORIGINS,
        "what_of": describe_search,
        "provider": get_provider_label,
    }


async def _load_head(
    session: AsyncSession, actor: Actor, domain_id: UUID
) -> tuple[Domain, Lead | None, str | None]:
    result = await session.execute(
        select(Domain, Lead, User.name)
        .outerjoin(Lead, Lead.domain_id == Domain.id)
        .outerjoin(User, User.id == Domain.created_by)
        .where(Domain.id == domain_id, Domain.tenant_id == actor.tenant_id)
    )
    row = result.one_or_none()
    if row is None:
        raise NotFound(f"There is no domain {domain_id}.")
    return row[0], row[1], row[2]


async def _render_parts(live: LiveContext) -> Parts:
    domain_id = parse_subject_id(live)
    if await _is_quiet(live, domain_id):
        return {}
    data = await _load_domain(live.session, live.actor, domain_id)
    return {
        f"domain-{name}": live.show.part(f"details/domain_{name}.html", **data) for name in PARTS
    }


async def _is_quiet(live: LiveContext, domain_id: UUID) -> bool:
    """Return whether nothing is active and nothing changed since the last poll."""
    session = live.session
    domain, lead, _ = await _load_head(session, live.actor, domain_id)
    job = await session.scalar(
        select(Job)
        .where(Job.domain_id == domain_id)
        .order_by(Job.created_at.desc(), Job.id.desc())
        .limit(1)
    )
    going_on = _is_active(domain, job) or await session.scalar(
        domain_progress.build_activity_query(domain_id)
    )
    changed = lead.updated_at if lead else None
    same = is_unchanged(live, (going_on, changed, *domain_progress.get_change_stamps(domain, job)))
    return same and not going_on


def _is_active(domain: Domain, job: Job | None) -> bool:
    return (
        (job is not None and job.status in ACTIVE_STATUSES)
        or domain.status in (METADATA_STATUSES.queued, METADATA_STATUSES.processing)
        or domain.sitemap_analysis_status
        in (SUBMISSION_STATUSES.queued, SUBMISSION_STATUSES.processing)
    )


VIEW = LiveView("domain", handle_deleted_row(_render_parts, "domain-head"))


RETRY_HOME_PAGE_PATH = f"/stages/{METADATA_STAGE}/rows/requeue"
RETRY_SITEMAPS_PATH = f"/stages/{SUBMISSION_STAGE}/rows/requeue"
_home_page = cells.stage(
    "status", "error", failed=METADATA_STATUSES.failed, retry=RETRY_HOME_PAGE_PATH
)
_submission = cells.stage(
    "sitemap_analysis_status",
    "sitemap_analysis_error",
    failed=SUBMISSION_STATUSES.failed,
    retry=RETRY_SITEMAPS_PATH,
)


def _home_page_cell(row: Row, may_change: bool) -> Markup:
    """Render the home page status. A missing home page does not count as success."""
    if row.site_state == SiteState.DEAD and row.status == METADATA_STATUSES.done:
        return render_badge(row.status, "plain")
    return _home_page(row, may_change)


def _sitemaps(row: Row, may_change: bool) -> Markup:
    """Render the sitemap status with the error or warning of the last scan."""
    return _submission(row, may_change) + cells.subtext(row.last_scan_error or row.scan_warning)


def _state(row: Row, _: bool) -> Markup:
    return render_badge(row.site_state) + cells.subtext(row.site_state_reason)


def _title(row: Row, _: bool) -> Markup:
    return cells.shorten(row.title) + cells.subtext(row.description)


def _url_total(row: Row, _: bool) -> Markup:
    return Markup("{}").format(url_total(row.sitemap_urls))


DOMAINS_TABLE = Table(
    kind="domains",
    title="Domains",
    noun="domain",
    says="Your sites and what was found on them.",
    listing=LISTING,
    curation=CURATION,
    export=EXPORT,
    hands_in="domains",
    segments="sitemap_curation_status",
    acts=(
        TableAction(
            "Retry home page", RETRY_HOME_PAGE_PATH, "queued for retry", key="r", by_filter=False
        ),
        TableAction("Retry sitemaps", RETRY_SITEMAPS_PATH, "queued for retry", by_filter=False),
    ),
    labels={"site_state": "Site state", "text": "Title or description"},
    order="domain title sitemap_curation_status site_state status sitemap_analysis_status "
    "sitemap_urls next_scan_at",
    cells={
        "domain": cells.row_link("domains", cells.attribute("domain")),
        "title": _title,
        "site_state": _state,
        "status": _home_page_cell,
        "sitemap_analysis_status": _sitemaps,
        "sitemap_urls": _url_total,
    },
    nothing=EmptyState(
        "Import a list of domains to start. Their home pages are read, their sitemaps are found, "
        "and their contacts become leads.",
        "/import?kind=domains",
        "Import domains",
    ),
)
