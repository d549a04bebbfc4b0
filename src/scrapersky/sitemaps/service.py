"""Ask for a scan; read what scans have stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Interval, Text, Uuid, cast, func, literal, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.arrays import table_of
from scrapersky.db.base import uuid7
from scrapersky.errors import InvalidInput, NotFound
from scrapersky.http.intake.sites import site_of as site_of
from scrapersky.jobs import service as job_service
from scrapersky.models import Actor, Domain, Job, JobType, SitemapFile, SitemapUrl, record
from scrapersky.models.domains import SUBMISSION_WORDS
from scrapersky.models.stage_names import METADATA_STAGE, SITEMAP_STAGE
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.scraper.urls import Site
from scrapersky.settings import Settings

MAX_PAGES_LIMIT = 50_000_000


async def request_scan(
    session: AsyncSession, actor: Actor, settings: Settings, text: str, max_pages: int | None
) -> tuple[Job, bool]:
    """Store the domain and a job for it, or find the job that is active already; says which."""
    site = site_of(text, settings)
    limit = settings.sitemap_max_urls_per_domain if max_pages is None else max_pages
    if not 1 <= limit <= MAX_PAGES_LIMIT:
        raise InvalidInput(f"max_pages must be from 1 to {MAX_PAGES_LIMIT:,}.")
    domain_id = await upsert_domain(session, actor, settings, site.key)
    job, created = await job_service.create(
        session, actor, scan_job(site, domain_id=domain_id, max_pages=limit)
    )
    if created:
        await _link(session, domain_id, job.id)
    record(session, actor, "sitemap.scan", job.id, domain=site.key, already_active=not created)
    return job, created


def scan_job(
    site: Site,
    *,
    domain_id: UUID,
    max_pages: int,
    priority: int = job_service.ASKED_BY_PEOPLE,
) -> job_service.NewJob:
    return job_service.NewJob(
        job_type=JobType.SITEMAP,
        stage=SITEMAP_STAGE,
        subject=site.key if site.path == "/" else site.key + site.path,
        params={
            "domain": site.key,
            "path": site.path,
            "scheme": site.scheme,
            "max_pages": max_pages,
        },
        domain_id=domain_id,
        priority=priority,
    )


async def upsert_domain(session: AsyncSession, actor: Actor, settings: Settings, name: str) -> UUID:
    return (await upsert_domains(session, actor, settings, [name]))[name]


async def upsert_domains(
    session: AsyncSession, actor: Actor, settings: Settings, domains: Iterable[str]
) -> dict[str, UUID]:
    """By their names, in one order for everybody, so that two lists wait for each other and not in
    a circle. A domain made by a scan counts as submitted: its job is there. Its home page is still
    to be read, so that stage is woken."""
    names = sorted(set(domains))
    given = table_of(id=(Uuid, [uuid7() for _ in names]), domain=(Text, names))
    values: dict[str, Any] = {
        "id": given.c.id,
        "domain": given.c.domain,
        "tenant_id": literal(actor.tenant_id, Uuid),
        "created_by": literal(actor.user_id, Uuid),
        "scan_interval": literal(settings.rescan_interval, Interval),
        "sitemap_analysis_status": literal(SUBMISSION_WORDS.done, Text),
    }
    inserted = await session.scalars(
        insert(Domain)
        .from_select(list(values), select(*values.values()), include_defaults=False)
        .on_conflict_do_nothing(index_elements=[Domain.tenant_id, Domain.domain])
        .returning(Domain.id)
    )
    if inserted.all():
        wake_after_commit(session, METADATA_STAGE)
    found = await session.execute(
        select(Domain.domain, Domain.id).where(
            Domain.tenant_id == actor.tenant_id,
            Domain.domain == func.any(cast(list(names), ARRAY(Text))),
        )
    )
    return dict(found.all())


async def _link(session: AsyncSession, domain_id: UUID, job_id: UUID) -> None:
    """Unless submission has the row in hand at this moment, it is submitted by this job now."""
    await session.execute(
        update(Domain).where(Domain.id == domain_id).values(last_sitemap_job_id=job_id)
    )
    await session.execute(
        update(Domain)
        .where(
            Domain.id == domain_id,
            Domain.sitemap_analysis_status != SUBMISSION_WORDS.processing,
        )
        .values(sitemap_analysis_status=SUBMISSION_WORDS.done, sitemap_analysis_error=None)
    )


async def domain_named(session: AsyncSession, actor: Actor, name: str) -> Domain:
    domain = await session.scalar(
        select(Domain).where(Domain.tenant_id == actor.tenant_id, Domain.domain == name)
    )
    if domain is None:
        raise NotFound(f"There is no domain {name}; scan it first.")
    return domain


async def domain(session: AsyncSession, actor: Actor, domain_id: UUID) -> Domain:
    found = await session.scalar(
        select(Domain).where(Domain.id == domain_id, Domain.tenant_id == actor.tenant_id)
    )
    if found is None:
        raise NotFound(f"There is no domain {domain_id}.")
    return found


async def files_of_job(session: AsyncSession, job: Job) -> Sequence[SitemapFile]:
    found = await session.scalars(
        select(SitemapFile)
        .where(SitemapFile.job_id == job.id)
        .order_by(SitemapFile.depth, SitemapFile.created_at, SitemapFile.id)
    )
    return found.all()


async def files_of_domain(session: AsyncSession, domain_id: UUID) -> Sequence[SitemapFile]:
    found = await session.scalars(
        select(SitemapFile)
        .where(SitemapFile.domain_id == domain_id)
        .order_by(SitemapFile.depth, SitemapFile.created_at, SitemapFile.id)
    )
    return found.all()


async def sitemap_file(session: AsyncSession, actor: Actor, file_id: UUID) -> SitemapFile:
    found = await session.scalar(
        select(SitemapFile).where(
            SitemapFile.id == file_id, SitemapFile.tenant_id == actor.tenant_id
        )
    )
    if found is None:
        raise NotFound(f"There is no sitemap file {file_id}.")
    return found


async def count_urls(session: AsyncSession, domain_id: UUID) -> int:
    counted = (
        select(func.count(SitemapUrl.url_digest.distinct()))
        .join(SitemapFile, SitemapFile.id == SitemapUrl.sitemap_id)
        .where(SitemapFile.domain_id == domain_id, SitemapUrl.gone_at.is_(None))
    )
    return int(await session.scalar(counted) or 0)
