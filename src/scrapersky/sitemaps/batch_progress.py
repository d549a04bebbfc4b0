"""How a batch is doing: as a whole, and each of its domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Uuid, case, cast, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import NotFound
from scrapersky.jobs.service import is_active
from scrapersky.models import JOB_WORDS, Actor, Batch, BatchJob, Job, SitemapFile
from scrapersky.models.jobs import SITEMAPS_COUNT
from scrapersky.models.sitemaps import FileStatus

DELETED = "deleted"
"""The status of a job that is no longer kept."""
ACTIVE_WORDS = (JOB_WORDS.queued, JOB_WORDS.processing)


@dataclass(frozen=True)
class Progress:
    """How a batch is doing as a whole."""

    batch: Batch
    counts: Mapping[str, int] = field(default_factory=dict)
    progress: float = 1.0
    finished: bool = True


class Member(NamedTuple):
    """One domain of a batch as it stands now."""

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


async def batch_progress(session: AsyncSession, actor: Actor, batch_id: UUID) -> Progress:
    batch = await session.scalar(
        select(Batch).where(Batch.id == batch_id, Batch.tenant_id == actor.tenant_id)
    )
    if batch is None:
        raise NotFound(f"There is no batch {batch_id}.")
    status = func.coalesce(Job.status, DELETED)
    found = await session.execute(
        select(status, func.count(), func.sum(_progress_of_job()))
        .select_from(BatchJob)
        .outerjoin(Job, Job.id == BatchJob.job_id)
        .where(BatchJob.batch_id == batch_id)
        .group_by(status)
    )
    rows = [(str(word), int(count), float(done)) for word, count, done in found]
    total = sum(count for _, count, _ in rows)
    return Progress(
        batch,
        counts={word: count for word, count, _ in rows},
        progress=sum(done for _, _, done in rows) / total if total else 1.0,
        finished=not any(word in ACTIVE_WORDS for word, _, _ in rows),
    )


def _progress_of_job() -> ColumnElement[float]:
    """A job that has ended is done, however far it came."""
    return case((is_active(), Job.progress), else_=1.0)


async def batch_members(
    session: AsyncSession, batch_id: UUID, *, after: int, limit: int
) -> list[Member]:
    """The next domains of a batch after a position, in the order they were given."""
    found = await session.execute(
        select(BatchJob, Job)
        .outerjoin(Job, Job.id == BatchJob.job_id)
        .where(BatchJob.batch_id == batch_id, BatchJob.position > after)
        .order_by(BatchJob.position)
        .limit(limit)
    )
    pairs: list[tuple[BatchJob, Job | None]] = [(row[0], row[1]) for row in found]
    live = await _found_so_far(session, [job.id for _, job in pairs if job is not None])
    return [_member(row, job, live) for row, job in pairs]


async def _found_so_far(
    session: AsyncSession, job_ids: Sequence[UUID]
) -> dict[UUID, tuple[int, int]]:
    """Sitemaps that could be read, and the URLs in them, of jobs that have no result yet."""
    listed = SitemapFile.url_count
    found = await session.execute(
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
    return {job_id: (int(files), int(urls)) for job_id, files, urls in found if job_id}


def _member(row: BatchJob, job: Job | None, live: Mapping[UUID, tuple[int, int]]) -> Member:
    if job is None:
        gone = (DELETED, 1.0, None, None, 0, 0)
        return Member(row.position, row.domain, None, row.already_active, *gone)
    result = job.result_data or {}
    files, urls = live.get(job.id, (0, 0))
    return Member(
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
