"""The page of one domain: what it is, how far it has come, what it lists, whom one can write to."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.details import domain_parts
from scrapersky.dashboard.details.charts import change_chart
from scrapersky.dashboard.details.deciding import deciding, rights
from scrapersky.dashboard.details.evidence import method_in_words
from scrapersky.dashboard.details.looking import is_as_before, subject_of, unless_gone
from scrapersky.dashboard.details.origin import BUSINESSES_SHOWN, origins_of
from scrapersky.dashboard.details.steps import Progress, steps_of
from scrapersky.dashboard.details.tree import sitemap_tree
from scrapersky.dashboard.live import LiveView, Looked, Parts
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.dashboard.searching.asked import what_of
from scrapersky.dashboard.searching.wording import provider_in_words
from scrapersky.domains.listing import CURATION
from scrapersky.errors import NotFound
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.models import JOB_WORDS, PAGE_WORDS, Actor, Domain, Job, Lead, User
from scrapersky.models.domains import METADATA_WORDS, SUBMISSION_WORDS

router = APIRouter(route_class=PageRoute)

PARTS = ("head", "steps", "facts", "sitemaps", "pages", "contacts", "jobs")
"""Of the page, each in a template of its own and renewed while something is going on."""
ACTIVE = (JOB_WORDS.queued, JOB_WORDS.processing)


@router.get("/domains/{domain_id}")
async def domain_page(
    actor: Viewer, session: Reading, show: Showing, domain_id: UUID
) -> HTMLResponse:
    seen = await _seen(session, actor, domain_id)
    title = seen["domain"].domain
    return show.page("details/domain.html", title=title, parts=PARTS, **seen)


async def _seen(session: AsyncSession, actor: Actor, domain_id: UUID) -> dict[str, Any]:
    domain, lead, maker = await _head(session, actor, domain_id)
    tree = await sitemap_tree(session, domain_id)
    counts = await domain_parts.page_counts(session, domain_id)
    broken = counts.statuses[PAGE_WORDS.failed]
    failed = await domain_parts.failed_pages(session, domain_id) if broken else ()
    jobs, job_count = await domain_parts.last_jobs(session, domain_id)
    contacts, contact_count = await domain_parts.first_contacts(session, domain_id)
    progress = Progress(domain, jobs[0] if jobs else None, tree, counts, failed)
    return {
        **rights(actor),
        "domain": domain,
        "lead": lead,
        "maker": maker,
        "tree": tree,
        "counts": counts,
        "pages": await domain_parts.first_pages(session, domain_id),
        "jobs": jobs,
        "job_count": job_count,
        "contacts": contacts,
        "contact_count": contact_count,
        "steps": steps_of(progress),
        "chart": change_chart(jobs),
        "decision": deciding(CURATION, domain),
        "how": method_in_words,
        "origins": await origins_of(session, domain_id),
        "origins_shown": BUSINESSES_SHOWN,
        "what_of": what_of,
        "provider": provider_in_words,
    }


async def _head(
    session: AsyncSession, actor: Actor, domain_id: UUID
) -> tuple[Domain, Lead | None, str | None]:
    found = await session.execute(
        select(Domain, Lead, User.name)
        .outerjoin(Lead, Lead.domain_id == Domain.id)
        .outerjoin(User, User.id == Domain.created_by)
        .where(Domain.id == domain_id, Domain.tenant_id == actor.tenant_id)
    )
    row = found.one_or_none()
    if row is None:
        raise NotFound(f"There is no domain {domain_id}.")
    return row[0], row[1], row[2]


async def _parts(looked: Looked) -> Parts:
    domain_id = subject_of(looked)
    if await _is_quiet(looked, domain_id):
        return {}
    seen = await _seen(looked.session, looked.actor, domain_id)
    return {
        f"domain-{name}": looked.show.part(f"details/domain_{name}.html", **seen) for name in PARTS
    }


async def _is_quiet(looked: Looked, domain_id: UUID) -> bool:
    """Nothing is going on, and nothing has changed since the last look."""
    session = looked.session
    domain, lead, _ = await _head(session, looked.actor, domain_id)
    job = await session.scalar(
        select(Job)
        .where(Job.domain_id == domain_id)
        .order_by(Job.created_at.desc(), Job.id.desc())
        .limit(1)
    )
    going_on = _is_going_on(domain, job) or await session.scalar(
        domain_parts.rows_under_way(domain_id)
    )
    changed = lead.updated_at if lead else None
    same = is_as_before(looked, (going_on, changed, *domain_parts.stamps(domain, job)))
    return same and not going_on


def _is_going_on(domain: Domain, job: Job | None) -> bool:
    return (
        (job is not None and job.status in ACTIVE)
        or domain.status in (METADATA_WORDS.queued, METADATA_WORDS.processing)
        or domain.sitemap_analysis_status in (SUBMISSION_WORDS.queued, SUBMISSION_WORDS.processing)
    )


VIEW = LiveView("domain", unless_gone(_parts, "domain-head"))
