"""The page of one job: how it is doing, what was asked, what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.details.deciding import rights
from scrapersky.dashboard.details.looking import (
    events_of,
    is_as_before,
    open_letter,
    subject_of,
    unless_gone,
)
from scrapersky.dashboard.live import LiveView, Looked, Parts
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.jobs import service as job_service
from scrapersky.models import JOB_WORDS, Actor, Domain, Job, JobType, SitemapFile, User
from scrapersky.models.jobs import CANCELLED
from scrapersky.models.stage_names import SITEMAP_STAGE
from scrapersky.pipeline.tables import Worker

router = APIRouter(route_class=PageRoute)

PARTS = ("head", "state", "result", "files", "events")
FILES_SHOWN = 40
ACTIVE = (JOB_WORDS.queued, JOB_WORDS.processing)


@router.get("/jobs/{job_id}", response_model=None)
async def job_page(actor: Viewer, session: Reading, show: Showing, job_id: UUID) -> Response:
    job = await job_service.get(session, actor, job_id)
    if job.job_type == JobType.PLACE_SEARCH:
        return RedirectResponse(f"/searches/{job.id}", 303)
    seen = await _seen(session, actor, job)
    title = f"Scan of {seen['job'].subject}"
    return show.page("details/job.html", title=title, parts=PARTS, **seen)


async def _seen(session: AsyncSession, actor: Actor, job: Job) -> dict[str, Any]:
    domain, asker, host, pid = await _around(session, job)
    files = (await session.execute(_files(job))).all()
    return {
        **rights(actor),
        "job": job,
        "domain": domain,
        "asker": asker,
        "worker": f"{host}, process {pid}" if host and actor.is_operator else None,
        "files": [each[0] for each in files],
        "file_count": files[0].total if files else 0,
        "url_count": (job.result_data or {}).get("urls", files[0].urls if files else 0),
        "events": await events_of(session, SITEMAP_STAGE, job.id),
        "letter_id": await _letter(session, job),
        "result": job.result_data or {},
        "is_active": job.status in ACTIVE,
        "can_retry": job.status in (JOB_WORDS.failed, CANCELLED),
    }


async def _letter(session: AsyncSession, job: Job) -> UUID | None:
    if job.status != JOB_WORDS.failed:
        return None
    return await open_letter(session, SITEMAP_STAGE, job.id)


async def _around(session: AsyncSession, job: Job) -> Sequence[Any]:
    """The domain it is about, who asked, and who works it."""
    found = await session.execute(
        select(Domain, User.name, Worker.hostname, Worker.pid)
        .select_from(Job)
        .outerjoin(Domain, Domain.id == Job.domain_id)
        .outerjoin(User, User.id == Job.created_by)
        .outerjoin(Worker, Worker.id == Job.worker_id)
        .where(Job.id == job.id)
    )
    return found.one_or_none() or (None, None, None, None)


def _files(job: Job) -> Select[SitemapFile, int, int]:
    lists_pages = SitemapFile.sitemap_type.is_distinct_from("index")
    urls = func.coalesce(func.sum(SitemapFile.url_count).filter(lists_pages).over(), 0)
    return (
        select(SitemapFile, func.count().over().label("total"), urls.label("urls"))
        .where(SitemapFile.job_id == job.id)
        .order_by(SitemapFile.depth, SitemapFile.created_at, SitemapFile.id)
        .limit(FILES_SHOWN)
    )


async def _parts(looked: Looked) -> Parts:
    session, actor = looked.session, looked.actor
    job = await job_service.get(session, actor, subject_of(looked))
    stamp = (job.status, job.attempts, job.finished_at, job.updated_at, job.error)
    if is_as_before(looked, stamp) and job.status not in ACTIVE:
        return {}
    seen = await _seen(session, actor, job)
    return {f"job-{name}": looked.show.part(f"details/job_{name}.html", **seen) for name in PARTS}


VIEW = LiveView("job", unless_gone(_parts, "job-head"))
