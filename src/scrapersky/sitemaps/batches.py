"""Request scans of many domains as one batch, and report its progress."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    Boolean,
    ColumnElement,
    Integer,
    Text,
    Uuid,
    case,
    cast,
    func,
    literal,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.statements import unnest_rows
from scrapersky.errors import InvalidInput, NotFound
from scrapersky.jobs.service import create_many, is_active
from scrapersky.lists.imports.sites import parse_site
from scrapersky.models import (
    JOB_STATUSES,
    Actor,
    Batch,
    BatchJob,
    Domain,
    Job,
    JobType,
    SitemapFile,
    record,
)
from scrapersky.models.domains import SUBMISSION_STATUSES
from scrapersky.models.jobs import SITEMAPS_COUNT
from scrapersky.models.sitemaps import FileStatus
from scrapersky.scraper.http.urls import Site
from scrapersky.settings import Settings
from scrapersky.sitemaps.service import build_scan_job, upsert_domains

DELETED_STATUS = "deleted"
"""Status of a job that was deleted by retention."""
ACTIVE_STATUSES = (JOB_STATUSES.queued, JOB_STATUSES.processing)


@dataclass(frozen=True)
class BatchProgress:
    """Total progress of a batch."""

    batch: Batch
    counts: Mapping[str, int] = field(default_factory=dict)
    progress: float = 1.0
    finished: bool = True


class BatchMember(NamedTuple):
    """One domain of a batch and the state of its job."""

    position: int
    domain: str
    job_id: UUID | None
    already_active: bool
    status: str
    progress: float
    phase: str | None
    error: str | None
    sitemaps: int
    urls: int


async def load_batch_progress(session: AsyncSession, actor: Actor, batch_id: UUID) -> BatchProgress:
    batch = await session.scalar(
        select(Batch).where(Batch.id == batch_id, Batch.tenant_id == actor.tenant_id)
    )
    if batch is None:
        raise NotFound(f"There is no batch {batch_id}.")
    status = func.coalesce(Job.status, DELETED_STATUS)
    result = await session.execute(
        select(status, func.count(), func.sum(_build_job_progress()))
        .select_from(BatchJob)
        .outerjoin(Job, Job.id == BatchJob.job_id)
        .where(BatchJob.batch_id == batch_id)
        .group_by(status)
    )
    rows = [(str(word), int(count), float(done)) for word, count, done in result]
    total = sum(count for _, count, _ in rows)
    return BatchProgress(
        batch,
        counts={word: count for word, count, _ in rows},
        progress=sum(done for _, _, done in rows) / total if total else 1.0,
        finished=not any(word in ACTIVE_STATUSES for word, _, _ in rows),
    )


def _build_job_progress() -> ColumnElement[float]:
    """Return the progress of a job. A finished job counts as 1, whatever its outcome."""
    return case((is_active(), Job.progress), else_=1.0)


async def list_batch_members(
    session: AsyncSession, batch_id: UUID, *, after: int, limit: int
) -> list[BatchMember]:
    """List the domains of a batch after a position, in the order of the request."""
    result = await session.execute(
        select(BatchJob, Job)
        .outerjoin(Job, Job.id == BatchJob.job_id)
        .where(BatchJob.batch_id == batch_id, BatchJob.position > after)
        .order_by(BatchJob.position)
        .limit(limit)
    )
    pairs: list[tuple[BatchJob, Job | None]] = [(row[0], row[1]) for row in result]
    live = await _count_found(session, [job.id for _, job in pairs if job is not None])
    return [_build_member(row, job, live) for row, job in pairs]


async def _count_found(
    session: AsyncSession, job_ids: Sequence[UUID]
) -> dict[UUID, tuple[int, int]]:
    """Count the usable sitemaps and their URLs for jobs that have no result yet."""
    listed = SitemapFile.url_count
    result = await session.execute(
        select(
            SitemapFile.job_id,
            func.count(),
            func.coalesce(func.sum(listed).filter(SitemapFile.sitemap_type != "index"), 0),
        )
        .where(
            SitemapFile.job_id == func.any(cast(list(job_ids), ARRAY(Uuid))),
            SitemapFile.status.in_([FileStatus.READING, FileStatus.OK, FileStatus.PARTIAL]),
        )
        .group_by(SitemapFile.job_id)
    )
    return {job_id: (int(files), int(urls)) for job_id, files, urls in result if job_id}


def _build_member(
    row: BatchJob, job: Job | None, live: Mapping[UUID, tuple[int, int]]
) -> BatchMember:
    if job is None:
        gone = (DELETED_STATUS, 1.0, None, None, 0, 0)
        return BatchMember(row.position, row.domain, None, row.already_active, *gone)
    result = job.result_data or {}
    files, urls = live.get(job.id, (0, 0))
    return BatchMember(
        row.position,
        row.domain,
        job.id,
        row.already_active,
        job.status,
        job.progress,
        job.phase,
        job.error,
        int(result.get(SITEMAPS_COUNT, files)),
        int(result.get("urls", urls)),
    )


PARSE_BATCH_SIZE = 250
"""Names parsed before control returns to the event loop."""
MAX_SHOWN_CHARACTERS = 300
"""Characters of an invalid line that are echoed back."""
DEADLOCK_SQLSTATE = "40P01"
MAX_TRIES = 3


@dataclass
class BatchLine:
    """One line of the list and its result."""

    text: str
    site: Site | None = None
    error: str | None = None
    subject: str | None = None
    job_id: UUID | None = None
    already_active: bool = False

    @property
    def name(self) -> str:
        """Domain name. Only set for a valid line."""
        assert self.site is not None
        return self.site.key

    @property
    def dedupe_key(self) -> tuple[str, str | None]:
        """Lines with the same key request the same scan."""
        return (self.site.key, self.site.path) if self.site else (self.text, None)


@dataclass(frozen=True)
class StoredBatch:
    """A stored batch."""

    batch: Batch
    lines: Sequence[BatchLine]
    """Distinct lines, in the order of the request."""
    duplicates: int


async def request_batch(
    session: AsyncSession,
    actor: Actor,
    settings: Settings,
    values: Sequence[Any],
    max_pages: int | None,
) -> StoredBatch:
    """Store the domains and a job for each. Domains with an active job keep it."""
    _check_length(len(values), settings)
    limit = settings.sitemap_max_urls_per_domain if max_pages is None else max_pages
    lines = await _parse_lines(values, settings)
    good = [each for each in lines if each.site is not None]
    batch = Batch(
        id=uuid7(),
        tenant_id=actor.tenant_id,
        created_by=actor.user_id,
        max_pages=limit,
        accepted=len(good),
        rejected=len(lines) - len(good),
    )
    session.add(batch)
    await session.flush()
    await _store_with_retry(session, actor, settings, batch, good)
    await session.refresh(batch)
    facts = {"accepted": batch.accepted, "rejected": batch.rejected}
    record(session, actor, "batch.create", batch.id, **facts)
    return StoredBatch(batch, lines, duplicates=len(values) - len(lines))


def _check_length(count: int, settings: Settings) -> None:
    if count == 0:
        raise InvalidInput("The list of domains is empty. Add at least one.")
    if count > settings.batch_max_domains:
        raise InvalidInput(
            f"The list has {count:,} domains; a batch may have at most "
            f"{settings.batch_max_domains:,}. Split the list, or raise BATCH_MAX_DOMAINS."
        )


async def _parse_lines(values: Sequence[Any], settings: Settings) -> list[BatchLine]:
    """Parse the lines. Invalid ones are kept with their error, duplicates are dropped."""
    lines: dict[tuple[str, str | None], BatchLine] = {}
    for number, text in enumerate(values, 1):
        line = _parse_line(text, settings)
        lines.setdefault(line.dedupe_key, line)
        if number % PARSE_BATCH_SIZE == 0:
            await asyncio.sleep(0)
    return list(lines.values())


def _parse_line(text: Any, settings: Settings) -> BatchLine:
    shown_text = text if isinstance(text, str) else json.dumps(text)
    shown_text = shown_text[:MAX_SHOWN_CHARACTERS].encode("utf-8", "replace").decode()
    try:
        return BatchLine(shown_text, site=parse_site(text, settings))
    except InvalidInput as error:
        return BatchLine(shown_text, error=str(error))


async def _store_with_retry(
    session: AsyncSession,
    actor: Actor,
    settings: Settings,
    batch: Batch,
    lines: Sequence[BatchLine],
) -> None:
    """Store the batch and retry on a deadlock: scans that settle at the same time may lock the same
    rows in another order.
    """
    for attempt in range(1, MAX_TRIES + 1):
        try:
            async with session.begin_nested():
                await _store_lines(session, actor, settings, batch, lines)
            return
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) != DEADLOCK_SQLSTATE or attempt == MAX_TRIES:
                raise


async def _store_lines(
    session: AsyncSession,
    actor: Actor,
    settings: Settings,
    batch: Batch,
    lines: Sequence[BatchLine],
) -> None:
    if not lines:
        return
    domains = await upsert_domains(session, actor, settings, {each.name for each in lines})
    new_jobs = [
        build_scan_job(each.site, domain_id=domains[each.name], max_pages=batch.max_pages)
        for each in lines
        if each.site is not None
    ]
    jobs = await create_many(session, actor, JobType.SITEMAP, new_jobs, batch_id=batch.id)
    for line, new in zip(lines, new_jobs, strict=True):
        line.subject, (line.job_id, is_new) = new.subject, jobs[new.subject]
        line.already_active = not is_new
    made_for = {domains[each.name]: each.job_id for each in lines if not each.already_active}
    await _link_jobs(session, made_for)
    await _insert_members(session, batch, lines)


async def _link_jobs(session: AsyncSession, made_for: Mapping[UUID, UUID | None]) -> None:
    """Link the jobs to their domains. A locked domain has a scan that is settling: skip it without
    waiting, because the new job links itself when it ends.
    """
    free = (
        select(Domain.id)
        .where(Domain.id == func.any(cast(list(made_for), ARRAY(Uuid))))
        .order_by(Domain.id)
        .with_for_update(skip_locked=True, key_share=True)
        .cte("free")
    )
    input_rows = unnest_rows(
        domain_id=(Uuid, list(made_for)), job_id=(Uuid, list(made_for.values()))
    )
    in_hand = Domain.sitemap_analysis_status == SUBMISSION_STATUSES.processing
    await session.execute(
        update(Domain)
        .where(Domain.id == input_rows.c.domain_id, Domain.id == free.c.id)
        .values(
            last_sitemap_job_id=input_rows.c.job_id,
            sitemap_analysis_status=case(
                (in_hand, Domain.sitemap_analysis_status), else_=SUBMISSION_STATUSES.done
            ),
            sitemap_analysis_error=case((in_hand, Domain.sitemap_analysis_error), else_=None),
        )
        .execution_options(synchronize_session=False)
    )


async def _insert_members(session: AsyncSession, batch: Batch, lines: Sequence[BatchLine]) -> None:
    input_rows = unnest_rows(
        position=(Integer, range(1, len(lines) + 1)),
        domain=(Text, [each.subject for each in lines]),
        job_id=(Uuid, [each.job_id for each in lines]),
        already_active=(Boolean, [each.already_active for each in lines]),
    )
    rows = select(literal(batch.id, Uuid), *input_rows.c)
    columns = ["batch_id", "position", "domain", "job_id", "already_active"]
    await session.execute(insert(BatchJob).from_select(columns, rows, include_defaults=False))
