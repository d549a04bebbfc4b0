"""The jobs table and the live page of one job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response
from markupsafe import Markup
from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard import cells
from scrapersky.dashboard.cells import Row
from scrapersky.dashboard.details import (
    find_open_dead_letter,
    get_permissions,
    handle_deleted_row,
    is_unchanged,
    list_events,
    parse_subject_id,
)
from scrapersky.dashboard.live import LiveContext, LiveView, Parts
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.dashboard.table import EmptyState, Table, TableAction, TableColumn
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.jobs import service as job_service
from scrapersky.jobs.listing import EXPORT
from scrapersky.jobs.listing import JOBS as LISTING
from scrapersky.models import JOB_STATUSES, Actor, Domain, Job, JobType, SitemapFile, User
from scrapersky.models.jobs import CANCELLED
from scrapersky.models.stage_names import SITEMAP_STAGE
from scrapersky.pipeline.tables import Worker

router = APIRouter(route_class=PageRoute)

PARTS = ("head", "state", "result", "files", "events")
MAX_FILES = 40
ACTIVE_STATUSES = (JOB_STATUSES.queued, JOB_STATUSES.processing)


@router.get("/jobs/{job_id}", response_model=None)
async def job_page(actor: Viewer, session: Reading, show: Renderer, job_id: UUID) -> Response:
    job = await job_service.get(session, actor, job_id)
    if job.job_type == JobType.PLACE_SEARCH:
        return RedirectResponse(f"/searches/{job.id}", 303)
    data = await _load_job(session, actor, job)
    title = f"Scan of {data['job'].subject}"
    return show.page("details/job.html", title=title, parts=PARTS, **data)


async def _load_job(session: AsyncSession, actor: Actor, job: Job) -> dict[str, Any]:
    domain, created_by, host, pid = await _load_context(session, job)
    files = (await session.execute(_build_files_query(job))).all()
    return {
        **get_permissions(actor),
        "job": job,
        "domain": domain,
        "asker": created_by,
        "worker": f"{host}, process {pid}" if host and actor.is_operator else None,
        "files": [each[0] for each in files],
        "file_count": files[0].total if files else 0,
        "url_count": (job.result_data or {}).get("urls", files[0].urls if files else 0),
        "events": await list_events(session, SITEMAP_STAGE, job.id),
        "letter_id": await _find_dead_letter(session, job),
        "result": job.result_data or {},
        "is_active": job.status in ACTIVE_STATUSES,
        "can_retry": job.status in (JOB_STATUSES.failed, CANCELLED),
    }


async def _find_dead_letter(session: AsyncSession, job: Job) -> UUID | None:
    if job.status != JOB_STATUSES.failed:
        return None
    return await find_open_dead_letter(session, SITEMAP_STAGE, job.id)


async def _load_context(session: AsyncSession, job: Job) -> Sequence[Any]:
    """Load the domain of the job, its creator and its worker."""
    result = await session.execute(
        select(Domain, User.name, Worker.hostname, Worker.pid)
        .select_from(Job)
        .outerjoin(Domain, Domain.id == Job.domain_id)
        .outerjoin(User, User.id == Job.created_by)
        .outerjoin(Worker, Worker.id == Job.worker_id)
        .where(Job.id == job.id)
    )
    return result.one_or_none() or (None, None, None, None)


def _build_files_query(job: Job) -> Select[SitemapFile, int, int]:
    lists_pages = SitemapFile.sitemap_type.is_distinct_from("index")
    urls = func.coalesce(func.sum(SitemapFile.url_count).filter(lists_pages).over(), 0)
    return (
        select(SitemapFile, func.count().over().label("total"), urls.label("urls"))
        .where(SitemapFile.job_id == job.id)
        .order_by(SitemapFile.depth, SitemapFile.created_at, SitemapFile.id)
        .limit(MAX_FILES)
    )


async def _render_parts(live: LiveContext) -> Parts:
    session, actor = live.session, live.actor
    job = await job_service.get(session, actor, parse_subject_id(live))
    stamp = (job.status, job.attempts, job.finished_at, job.updated_at, job.error)
    if is_unchanged(live, stamp) and job.status not in ACTIVE_STATUSES:
        return {}
    data = await _load_job(session, actor, job)
    return {f"job-{name}": live.show.part(f"details/job_{name}.html", **data) for name in PARTS}


VIEW = LiveView("job", handle_deleted_row(_render_parts, "job-head"))


RETRY_PATH = "/jobs/retry"
_status = cells.stage("status", "error", failed=JOB_STATUSES.failed, retry=RETRY_PATH)


def _progress(row: Row, _: bool) -> Markup:
    share = round(row.progress * 100)
    bar = Markup('<progress max="100" value="{}" aria-label="Progress">{} %</progress> {} %')
    return bar.format(share, share, share) + cells.subtext(row.phase)


JOBS_TABLE = Table(
    kind="jobs",
    title="Jobs",
    noun="job",
    says="Scans requested by people or the schedule, and their progress.",
    listing=LISTING,
    export=EXPORT,
    segments="status",
    acts=(
        TableAction("Retry", RETRY_PATH, "queued for retry", key="r"),
        TableAction("Cancel", "/jobs/cancel", "cancelled", key="c", danger=True),
    ),
    order="subject job_type status progress",
    cells={"status": _status},
    extra=(
        TableColumn(
            "subject", "Job", cells.row_link("jobs", cells.attribute("subject")), sort="subject"
        ),
        TableColumn("progress", "Progress", _progress, sort="progress"),
    ),
    nothing=EmptyState(
        "Each scan of a site or sitemap is a job. Import domains, and their jobs appear here.",
        "/import?kind=domains",
        "Import domains",
    ),
)
