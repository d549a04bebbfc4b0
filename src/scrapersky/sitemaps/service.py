"""Request scans, import sitemaps by URL, and load what scans stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urldefrag
from uuid import UUID

from sqlalchemy import ARRAY, Interval, LargeBinary, Text, Uuid, cast, func, literal, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.statements import unnest_rows
from scrapersky.errors import InvalidInput, NotFound
from scrapersky.jobs import service as job_service
from scrapersky.jobs.service import NewJob, create_many
from scrapersky.lists.imports import Importer, ImportSubject, StoredEntry
from scrapersky.lists.imports.rows import ImportContext
from scrapersky.lists.imports.sites import SiteParser, parse_site, store_sites
from scrapersky.models import Actor, Domain, Job, JobType, SitemapFile, SitemapUrl, record
from scrapersky.models.domains import SUBMISSION_STATUSES
from scrapersky.models.sitemaps import FileStatus
from scrapersky.models.stage_names import METADATA_STAGE, SITEMAP_STAGE
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.scraper.http.urls import Site, clean_url, url_digest
from scrapersky.scraper.sitemaps.events import DiscoveryMethod
from scrapersky.settings import Settings

ONLY_SITEMAP_PARAM = "sitemap_url"
"""Job parameter: the only sitemap to read, if a user imported one."""


MAX_PAGES_LIMIT = 50_000_000


async def request_scan(
    session: AsyncSession, actor: Actor, settings: Settings, text: str, max_pages: int | None
) -> tuple[Job, bool]:
    """Store the domain and a scan job, or return the active job; and whether it was active."""
    site = parse_site(text, settings)
    limit = settings.sitemap_max_urls_per_domain if max_pages is None else max_pages
    if not 1 <= limit <= MAX_PAGES_LIMIT:
        raise InvalidInput(f"max_pages must be between 1 and {MAX_PAGES_LIMIT:,}.")
    domain_id = await upsert_domain(session, actor, settings, site.key)
    job, created = await job_service.create(
        session, actor, build_scan_job(site, domain_id=domain_id, max_pages=limit)
    )
    if created:
        await _link(session, domain_id, job.id)
    record(session, actor, "sitemap.scan", job.id, domain=site.key, already_active=not created)
    return job, created


def build_scan_job(
    site: Site,
    *,
    domain_id: UUID,
    max_pages: int,
    priority: int = job_service.USER_PRIORITY,
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
    """Upsert domains by name, in name order, so that concurrent lists cannot deadlock.

    A domain created by a scan counts as submitted, because its job exists. Its home page is still
    to be read, so the metadata stage is woken.
    """
    names = sorted(set(domains))
    input_rows = unnest_rows(id=(Uuid, [uuid7() for _ in names]), domain=(Text, names))
    values: dict[str, Any] = {
        "id": input_rows.c.id,
        "domain": input_rows.c.domain,
        "tenant_id": literal(actor.tenant_id, Uuid),
        "created_by": literal(actor.user_id, Uuid),
        "scan_interval": literal(settings.rescan_interval, Interval),
        "sitemap_analysis_status": literal(SUBMISSION_STATUSES.done, Text),
    }
    inserted = await session.scalars(
        insert(Domain)
        .from_select(list(values), select(*values.values()), include_defaults=False)
        .on_conflict_do_nothing(index_elements=[Domain.tenant_id, Domain.domain])
        .returning(Domain.id)
    )
    if inserted.all():
        wake_after_commit(session, METADATA_STAGE)
    result = await session.execute(
        select(Domain.domain, Domain.id).where(
            Domain.tenant_id == actor.tenant_id,
            Domain.domain == func.any(cast(list(names), ARRAY(Text))),
        )
    )
    return dict(result.all())


async def _link(session: AsyncSession, domain_id: UUID, job_id: UUID) -> None:
    """Mark the domain as submitted by this job, unless the submission stage holds the row."""
    await session.execute(
        update(Domain).where(Domain.id == domain_id).values(last_sitemap_job_id=job_id)
    )
    await session.execute(
        update(Domain)
        .where(
            Domain.id == domain_id,
            Domain.sitemap_analysis_status != SUBMISSION_STATUSES.processing,
        )
        .values(sitemap_analysis_status=SUBMISSION_STATUSES.done, sitemap_analysis_error=None)
    )


async def get_domain_by_name(session: AsyncSession, actor: Actor, name: str) -> Domain:
    domain = await session.scalar(
        select(Domain).where(Domain.tenant_id == actor.tenant_id, Domain.domain == name)
    )
    if domain is None:
        raise NotFound(f"There is no domain {name}. Scan it first.")
    return domain


async def get_domain(session: AsyncSession, actor: Actor, domain_id: UUID) -> Domain:
    domain = await session.scalar(
        select(Domain).where(Domain.id == domain_id, Domain.tenant_id == actor.tenant_id)
    )
    if domain is None:
        raise NotFound(f"There is no domain {domain_id}.")
    return domain


async def list_job_files(session: AsyncSession, job: Job) -> Sequence[SitemapFile]:
    rows = await session.scalars(
        select(SitemapFile)
        .where(SitemapFile.job_id == job.id)
        .order_by(SitemapFile.depth, SitemapFile.created_at, SitemapFile.id)
    )
    return rows.all()


async def list_domain_files(session: AsyncSession, domain_id: UUID) -> Sequence[SitemapFile]:
    rows = await session.scalars(
        select(SitemapFile)
        .where(SitemapFile.domain_id == domain_id)
        .order_by(SitemapFile.depth, SitemapFile.created_at, SitemapFile.id)
    )
    return rows.all()


async def get_sitemap_file(session: AsyncSession, actor: Actor, file_id: UUID) -> SitemapFile:
    sitemap_file = await session.scalar(
        select(SitemapFile).where(
            SitemapFile.id == file_id, SitemapFile.tenant_id == actor.tenant_id
        )
    )
    if sitemap_file is None:
        raise NotFound(f"There is no sitemap file {file_id}.")
    return sitemap_file


async def count_urls(session: AsyncSession, domain_id: UUID) -> int:
    counted = (
        select(func.count(SitemapUrl.url_digest.distinct()))
        .join(SitemapFile, SitemapFile.id == SitemapUrl.sitemap_id)
        .where(SitemapFile.domain_id == domain_id, SitemapUrl.gone_at.is_(None))
    )
    return int(await session.scalar(counted) or 0)


SITEMAP_IMPORT_KIND = ImportSubject(
    "sitemap",
    (
        "sitemap", "sitemaps", "sitemap url", "sitemap urls", "xml sitemap", "sitemap file",
        "sitemap location", "loc", "plan du site", "mapa del sitio", "url", "urls", "link",
        "links", "address", "adresse",
    ),
)  # fmt: skip

FileKey = tuple[str, bytes]
"""Domain name and URL digest."""


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    key: FileKey
    site: Site
    address: str
    """As typed, because `www.` may matter. Only the site is normalised."""


def parse_sitemap_entry(text: str, reader: SiteParser) -> SitemapEntry:
    site = reader.parse(text)
    if site.path == "/":
        raise InvalidInput("This is a site, not a sitemap. Enter the full URL of the sitemap.")
    typed = text.strip() if site.scheme else f"https://{text.strip().removeprefix('//')}"
    address = clean_url(urldefrag(typed).url)
    if address is None:
        raise InvalidInput(f"{text[:200]!r} is not a sitemap URL.")
    return SitemapEntry((site.key, url_digest(address)), site, address)


async def store_sitemap_entries(
    import_context: ImportContext, entries: Sequence[SitemapEntry]
) -> dict[FileKey, StoredEntry]:
    """Upsert the files, and create a job per file that reads it when queueing is requested.
    Existing files are read again. The rest of the site is not scanned.
    """
    names = {each.site.key for each in entries}
    sites = await store_sites(
        import_context.session, import_context.actor, import_context.settings, names
    )
    domains = {name: domain_id for name, (domain_id, _) in sites.items()}
    files = await _upsert_files(import_context, entries, domains)
    if not import_context.queue:
        return {key: StoredEntry(file_id, is_new) for key, (file_id, is_new) in files.items()}
    by_subject = {
        each.key: _build_job(each, domains[each.site.key], import_context.settings)
        for each in entries
    }
    jobs = list(by_subject.values())
    jobs_by_subject = await create_many(
        import_context.session, import_context.actor, JobType.SITEMAP, jobs
    )
    return {
        each.key: _build_stored(*files[each.key], *jobs_by_subject[by_subject[each.key].subject])
        for each in entries
    }


def _build_stored(file_id: UUID, is_new: bool, job_id: UUID, job_is_new: bool) -> StoredEntry:
    return StoredEntry(
        file_id, is_new, queued=job_is_new, job_id=job_id, already_active=not job_is_new
    )


def _build_job(entry: SitemapEntry, domain_id: UUID, settings: Settings) -> NewJob:
    limit = settings.sitemap_max_urls_per_domain
    scan = build_scan_job(entry.site, domain_id=domain_id, max_pages=limit)
    return replace(
        scan,
        subject=f"sitemap {entry.address}",
        params={**scan.params, ONLY_SITEMAP_PARAM: entry.address},
    )


async def _upsert_files(
    import_context: ImportContext, entries: Sequence[SitemapEntry], domains: dict[str, UUID]
) -> dict[FileKey, tuple[UUID, bool]]:
    """Upsert the files and return for each whether it is new."""
    files: dict[FileKey, tuple[UUID, bool]] = {}
    while missing := [each for each in entries if each.key not in files]:
        inserted = await _insert_files(import_context, missing, domains)
        files |= {key: (file_id, True) for key, file_id in inserted.items()}
        # A file deleted between the two statements is inserted in the next round.
        others = [each for each in missing if each.key not in inserted]
        there = await _find_existing(import_context, others, domains)
        files |= {key: (file_id, False) for key, file_id in there.items()}
    return files


async def _insert_files(
    import_context: ImportContext, entries: Sequence[SitemapEntry], domains: dict[str, UUID]
) -> dict[FileKey, UUID]:
    keys = {uuid7(): each.key for each in entries}
    input_rows = unnest_rows(
        id=(Uuid, list(keys)),
        domain_id=(Uuid, [domains[each.site.key] for each in entries]),
        url=(Text, [each.address for each in entries]),
        url_digest=(LargeBinary, [each.key[1] for each in entries]),
    )
    values: dict[str, Any] = {
        **{each.name: each for each in input_rows.c},
        "tenant_id": literal(import_context.actor.tenant_id, Uuid),
        "created_by": literal(import_context.actor.user_id, Uuid),
        "discovery_method": literal(DiscoveryMethod.MANUAL.value, Text),
        "status": literal(FileStatus.UNREAD.value, Text),
    }
    inserted = await import_context.session.scalars(
        insert(SitemapFile)
        .from_select(list(values), select(*values.values()), include_defaults=False)
        .on_conflict_do_nothing(index_elements=[SitemapFile.domain_id, SitemapFile.url_digest])
        .returning(SitemapFile.id)
    )
    return {keys[each]: each for each in inserted}


async def _find_existing(
    import_context: ImportContext, entries: Sequence[SitemapEntry], domains: dict[str, UUID]
) -> dict[FileKey, UUID]:
    if not entries:
        return {}
    keys = {(domains[each.site.key], each.key[1]): each.key for each in entries}
    ids, digests = zip(*keys, strict=True)
    input_rows = unnest_rows(domain_id=(Uuid, ids), digest=(LargeBinary, digests))
    same = (SitemapFile.domain_id == input_rows.c.domain_id) & (
        SitemapFile.url_digest == input_rows.c.digest
    )
    result = await import_context.session.execute(
        select(SitemapFile.id, SitemapFile.domain_id, SitemapFile.url_digest).join(input_rows, same)
    )
    return {keys[domain_id, bytes(digest)]: file_id for file_id, domain_id, digest in result}


SITEMAP_IMPORT = Importer(
    SITEMAP_IMPORT_KIND, parse_sitemap_entry, store_sitemap_entries, "sitemap_file.hand_in"
)
