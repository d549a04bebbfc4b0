"""Stage: create a sitemap job for each domain queued for analysis."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import InvalidInput, Rejected, Skipped
from scrapersky.jobs import service as job_service
from scrapersky.lists.imports.sites import parse_site
from scrapersky.models import Actor, Domain, Job, JobType, get_system_user_id
from scrapersky.models.domains import FORCE_SCAN_HINT, SUBMISSION_STATUSES
from scrapersky.models.stage_names import SITEMAP_STAGE, SUBMISSION_STAGE
from scrapersky.pipeline.stage import Stage, Tools
from scrapersky.scraper.http.urls import Site
from scrapersky.settings import Pace
from scrapersky.sitemaps.service import build_scan_job


@dataclass(frozen=True)
class Submission:
    """The domain and its scan settings."""

    site: Site
    max_pages: int


def read(domain: Domain) -> str:
    return domain.domain


async def work(name: str, tools: Tools) -> Submission:
    """Pass the settings on. The job that does the slow work is created in `store`."""
    settings = tools.settings
    try:
        site = parse_site(name, settings)
    except InvalidInput as error:
        raise Rejected(str(error)) from error
    return Submission(site, settings.sitemap_max_urls_per_domain)


async def store(session: AsyncSession, domain: Domain, submission: Submission) -> None:
    """Create the scan job in the transaction that completes the row, unless none is needed."""
    await _skip_if_active(session, domain)
    _skip_if_fresh(domain)
    actor = Actor(user_id=get_system_user_id(session), tenant_id=domain.tenant_id)
    new = build_scan_job(
        submission.site,
        domain_id=domain.id,
        max_pages=submission.max_pages,
        priority=job_service.SCHEDULER_PRIORITY,
    )
    job, _ = await job_service.create(session, actor, new)
    domain.last_sitemap_job_id = job.id


async def _skip_if_active(session: AsyncSession, domain: Domain) -> None:
    active = await session.scalar(
        select(Job.id).where(
            Job.domain_id == domain.id,
            Job.job_type == JobType.SITEMAP,
            job_service.is_active(),
        )
    )
    if active is not None:
        raise Skipped(f"The domain is already being scanned by job {active}.")


def _skip_if_fresh(domain: Domain) -> None:
    """Skip a domain within its scan interval, unless a rescan was requested."""
    now = datetime.now(UTC)
    is_due = domain.next_scan_at is not None and domain.next_scan_at <= now
    if is_due or domain.last_scan is None or domain.last_scan + domain.scan_interval <= now:
        return
    raise Skipped(
        f"No new scan: the domain was scanned at {domain.last_scan:%Y-%m-%d %H:%M} UTC. "
        f"The next scan is due {domain.last_scan + domain.scan_interval:%Y-%m-%d %H:%M} UTC. "
        f"{FORCE_SCAN_HINT}"
    )


STAGE = Stage(
    name=SUBMISSION_STAGE,
    does="Create a sitemap job for each domain queued for analysis.",
    workflow="WF4",
    model=Domain,
    status="sitemap_analysis_status",
    words=SUBMISSION_STATUSES,
    prefix="DOMAIN_SITEMAP_SCHEDULER",
    pace=Pace(batch_size=10, max_instances=1, concurrency=8, timeout_seconds=60),
    read=read,
    work=work,
    store=store,
    feeds=(SITEMAP_STAGE,),
)
