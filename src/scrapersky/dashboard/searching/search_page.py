"""The page of one search: how it is doing, what it costs, what it covered, what it brought."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy import and_, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.details.deciding import rights
from scrapersky.dashboard.details.looking import (
    is_as_before,
    open_letter,
    subject_of,
    unless_gone,
)
from scrapersky.dashboard.live import LiveView, Looked, Parts
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.dashboard.searching import asked
from scrapersky.dashboard.searching.changes import changes_of
from scrapersky.dashboard.searching.coverage import coverage_of
from scrapersky.dashboard.searching.results import (
    counts_of,
    covered_in_words,
    leads_link,
    newest_of,
)
from scrapersky.dashboard.searching.wording import dollars, provider_in_words
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.models import JOB_WORDS, Actor, Job, Provider, SavedSearch, User
from scrapersky.models.jobs import CANCELLED
from scrapersky.models.stage_names import SEARCH_STAGE
from scrapersky.pipeline.tables import Worker
from scrapersky.places.governor import BUDGET_IS_USED_UP
from scrapersky.places.search_service import search_of

router = APIRouter(route_class=PageRoute)

PARTS = ("head", "state", "results", "coverage", "changes", "asked")
ACTIVE = (JOB_WORDS.queued, JOB_WORDS.processing)
LOOK_AFTER_SECONDS = 5
"""A search that has ended is looked at that often: what it brought goes on to contacts."""


@router.get("/searches/{search_id}")
async def search_page(
    actor: Viewer, session: Reading, show: Showing, search_id: UUID
) -> HTMLResponse:
    seen = await _seen(session, actor, await search_of(session, actor, search_id))
    title = f"Search: {seen['what']}"
    return show.page("searching/search.html", title=title, parts=PARTS, **seen)


async def _seen(session: AsyncSession, actor: Actor, job: Job) -> dict[str, Any]:
    saved, asker, host, pid = await _around(session, job)
    counts = await counts_of(session, job.id)
    coverage = await coverage_of(session, job.id)
    return {
        **rights(actor),
        "job": job,
        "what": asked.what_of(job.params),
        "where": asked.where_of(job.params),
        "facts": asked.facts_of(job.params),
        "provider": provider_in_words(job.params.get("provider")),
        "is_osm": job.params.get("provider") == Provider.OSM,
        "saved": saved,
        "asker": asker,
        "worker": f"{host}, process {pid}" if host and actor.is_operator else None,
        "counts": counts,
        "coverage": coverage,
        "covered": covered_in_words(counts, coverage),
        "located_by_name": asked.is_named(job.params),
        "newest": await newest_of(session, job.id),
        "changes": await changes_of(session, job),
        "letter_id": await _letter(session, job),
        "is_active": job.status in ACTIVE,
        "waits": job.status == JOB_WORDS.queued and bool(job.error),
        "about_money": (job.error or "").startswith(BUDGET_IS_USED_UP),
        "leads_link": leads_link(job.id),
        "can_retry": job.status in (JOB_WORDS.failed, CANCELLED),
        "dollars": dollars,
    }


async def _letter(session: AsyncSession, job: Job) -> UUID | None:
    if job.status != JOB_WORDS.failed:
        return None
    return await open_letter(session, SEARCH_STAGE, job.id)


async def _around(session: AsyncSession, job: Job) -> Sequence[Any]:
    """Whether it is asked again, who asked, and who works it."""
    repeats = and_(
        SavedSearch.tenant_id == Job.tenant_id,
        SavedSearch.subject == Job.subject,
        SavedSearch.is_active,
    )
    found = await session.execute(
        select(SavedSearch, User.name, Worker.hostname, Worker.pid)
        .select_from(Job)
        .outerjoin(SavedSearch, repeats)
        .outerjoin(User, User.id == Job.created_by)
        .outerjoin(Worker, Worker.id == Job.worker_id)
        .where(Job.id == job.id)
    )
    return found.one_or_none() or (None, None, None, None)


async def _parts(looked: Looked) -> Parts:
    session, actor = looked.session, looked.actor
    job = await search_of(session, actor, subject_of(looked))
    stamp = (job.status, job.updated_at, int(monotonic() / LOOK_AFTER_SECONDS))
    if is_as_before(looked, stamp) and job.status not in ACTIVE:
        return {}
    seen = await _seen(session, actor, job)
    return {
        f"search-{name}": looked.show.part(f"searching/search_{name}.html", **seen)
        for name in PARTS
    }


VIEW = LiveView("search", unless_gone(_parts, "search-head"))
