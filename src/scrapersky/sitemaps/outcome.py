"""Write a scan's result to its job and domain in one transaction, and count URLs.

`sitemap_files.url_count` is the number of distinct URLs of one file (of an index: its children).
`domains.sitemap_urls` and `urls` in a job's result count distinct URLs over all files of the domain
and of the scan. Above `MAX_COUNTED_URLS` they are sums of the files' counts instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, case, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from scrapersky.db.copy import refresh_statistics
from scrapersky.jobs.service import emit_job_finished
from scrapersky.models import JOB_STATUSES, Domain, Job, SitemapFile, SitemapUrl, WebhookEvent
from scrapersky.models import domains as domain_columns
from scrapersky.models.jobs import SITEMAPS_COUNT
from scrapersky.models.sitemaps import FileStatus
from scrapersky.models.webhook_events import emit_event
from scrapersky.models.webhook_payloads import build_sitemap_data
from scrapersky.scraper.sitemaps.events import Analysis, ScanOutcome, SitemapType
from scrapersky.sitemaps.rescans import RescanPolicy, ScanChanges, get_failure_interval
from scrapersky.sitemaps.service import ONLY_SITEMAP_PARAM


@dataclass(frozen=True)
class UsableFile:
    id: UUID
    job_id: UUID | None
    urls: int


async def count_urls(
    session: AsyncSession, job: Job, *, listed: int, is_changed: bool
) -> tuple[int, int, int]:
    """Return the domain's usable sitemaps, their distinct URLs, and the distinct URLs of this scan.

    `listed` is the number of entries that the scan read. Nothing is counted when the scan changed
    nothing (`is_changed`) and the number of usable files is the same as before.
    """
    files = await _usable_files(session, job)
    known = await session.execute(
        select(Domain.total_sitemaps, Domain.sitemap_urls).where(Domain.id == job.domain_id)
    )
    sitemaps_before, urls_before = known.one()
    if not is_changed and len(files) == sitemaps_before:
        return len(files), urls_before, min(listed, urls_before)
    ours = [each for each in files if each.job_id == job.id]
    in_domain = in_scan = sum(each.urls for each in files)
    if sum(each.urls for each in ours) <= domain_columns.MAX_COUNTED_URLS:
        await _correct_files(session, [each.id for each in ours])
        in_scan = await _count_distinct(session, [each.id for each in ours])
    # Counting reads every row of the domain in the transaction that settles the scan: half a second
    # for a million rows. A domain may have fifty million.
    if in_domain <= domain_columns.MAX_COUNTED_URLS:
        is_all = len(ours) == len(files)
        in_domain = (
            in_scan if is_all else await _count_distinct(session, [each.id for each in files])
        )
    # A truncated file still has rows of an earlier read, which this scan did not see.
    return len(files), in_domain, min(listed, in_scan)


async def _usable_files(session: AsyncSession, job: Job) -> list[UsableFile]:
    is_index = SitemapFile.sitemap_type == SitemapType.INDEX
    urls = case((is_index, 0), else_=SitemapFile.url_count)
    result = await session.execute(
        select(SitemapFile.id, SitemapFile.job_id, urls).where(
            SitemapFile.domain_id == job.domain_id,
            SitemapFile.gone_at.is_(None),
            SitemapFile.status.in_([FileStatus.OK, FileStatus.PARTIAL]),
        )
    )
    return [UsableFile(*each) for each in result]


def _match_live(files: Sequence[UUID]) -> ColumnElement[bool]:
    return (SitemapUrl.sitemap_id == func.any(list(files))) & SitemapUrl.gone_at.is_(None)


async def _correct_files(session: AsyncSession, files: Sequence[UUID]) -> None:
    """Correct the files' counts: a URL that a file lists twice, far apart, was counted twice."""
    counted = (
        select(SitemapUrl.sitemap_id, func.count().label("urls"))
        .where(_match_live(files))
        .group_by(SitemapUrl.sitemap_id)
        .subquery()
    )
    await session.execute(
        update(SitemapFile)
        .where(
            SitemapFile.id == counted.c.sitemap_id,
            SitemapFile.url_count > counted.c.urls,
            SitemapFile.sitemap_type.is_distinct_from(SitemapType.INDEX),
        )
        .values(url_count=counted.c.urls)
        .execution_options(synchronize_session=False)
    )


async def _count_distinct(session: AsyncSession, files: Sequence[UUID]) -> int:
    """Count distinct URLs. At most one row per URL has `may_repeat` false; these are counted
    directly, and only the few others are deduplicated.
    """
    once = select(func.count()).where(_match_live(files), SitemapUrl.may_repeat.is_(False))
    other = aliased(SitemapUrl)
    is_counted = (
        select(other.id)
        .where(
            other.sitemap_id == func.any(list(files)),
            other.gone_at.is_(None),
            other.may_repeat.is_(False),
            other.url_digest == SitemapUrl.url_digest,
        )
        .exists()
    )
    repeated = select(func.count(SitemapUrl.url_digest.distinct())).where(
        _match_live(files), SitemapUrl.may_repeat, ~is_counted
    )
    result = await session.execute(select(once.scalar_subquery() + repeated.scalar_subquery()))
    return int(result.scalar_one())


ANALYZE_THRESHOLD_URLS = 50_000
"""After this many new URLs the planner's statistics are refreshed."""
MAX_REFUSED_LISTED = 50
MAX_SITEMAPS_LISTED = 50
"""Sitemaps in a job's result, which job lists show too. `/sitemap/status/{job_id}` has all."""
CHANGES_KEY = "changes"


async def write_result(
    session: AsyncSession, job: Job, analysis: Analysis, *, rhythm: RescanPolicy
) -> None:
    """Write the scan's findings, changes and next due time."""
    await _close_unfinished_files(session, job)
    if _is_full_scan(job, analysis):
        add_changes(job, await _mark_files_gone(session, job))
    changes = get_changes(job)
    if changes.added >= ANALYZE_THRESHOLD_URLS:
        await refresh_statistics(session, SitemapUrl)
    job.result_data = {
        **_build_result(analysis),
        **await _list_sitemaps(session, job),
        CHANGES_KEY: asdict(changes),
    }
    if job.domain_id is None:
        await emit_job_finished(session, job, JOB_STATUSES.done)
        return
    sitemaps, urls, scanned = await count_urls(
        session, job, listed=analysis.urls, is_changed=bool(changes)
    )
    job.result_data = {**job.result_data, "urls": scanned}
    await emit_job_finished(session, job, JOB_STATUSES.done)
    domain = await session.get_one(Domain, job.domain_id, with_for_update={"key_share": True})
    was_looked_at = domain.last_scan is not None
    if not job.params.get(ONLY_SITEMAP_PARAM):  # otherwise only one sitemap was read, not the site
        _write_domain_result(job, domain, analysis, rhythm)
    domain.total_sitemaps, domain.sitemap_urls = sitemaps, urls
    if was_looked_at and changes:
        data = build_sitemap_data(domain, job, asdict(changes))
        await emit_event(session, job.tenant_id, WebhookEvent.SITEMAP_CHANGED, domain.id, data)


def _write_domain_result(
    job: Job, domain: Domain, analysis: Analysis, rhythm: RescanPolicy
) -> None:
    """Write the result to the domain and schedule its next scan."""
    changes = get_changes(job)
    domain.scan_warning = _build_warning(domain, analysis)
    wait, why = (
        rhythm.get_first_interval()
        if domain.last_scan is None
        else rhythm.get_next_interval(domain.scan_interval, changes)
    )
    domain.scan_interval, domain.next_scan_why = wait, why
    domain.last_scan, domain.next_scan_at = func.now(), func.now() + wait
    domain.base_url = analysis.base_url
    domain.scan_failures = 0
    domain.last_scan_error = _describe_nothing_found(analysis)
    domain.last_sitemap_job_id = job.id


async def write_failure(session: AsyncSession, job: Job, sentence: str) -> None:
    """Write the failure to the domain. The wait doubles with each failure in a row."""
    await emit_job_finished(session, job, JOB_STATUSES.failed, error=sentence)
    if job.domain_id is None or job.params.get(ONLY_SITEMAP_PARAM):
        return
    domain = await session.get(Domain, job.domain_id, with_for_update={"key_share": True})
    if domain is None:
        return
    domain.scan_failures += 1
    domain.last_scan_error = sentence
    domain.last_sitemap_job_id = job.id
    wait, domain.next_scan_why = get_failure_interval(domain.scan_interval, domain.scan_failures)
    domain.next_scan_at = func.now() + wait


def get_changes(job: Job) -> ScanChanges:
    """Return the changes of the batches stored so far. They are kept on the job, so that a retry
    adds to them.
    """
    return ScanChanges(**((job.result_data or {}).get(CHANGES_KEY) or {}))


def add_changes(job: Job, more: ScanChanges) -> None:
    if more:
        total = get_changes(job).plus(more)
        job.result_data = {**(job.result_data or {}), CHANGES_KEY: asdict(total)}


def _is_full_scan(job: Job, analysis: Analysis) -> bool:
    """Return whether the scan was complete. Only then is a sitemap that was not found gone."""
    from_the_top = (job.params.get("path") or "/") == "/"
    whole = not (analysis.truncated or analysis.errors)
    return analysis.outcome is ScanOutcome.FOUND and from_the_top and whole


async def _mark_files_gone(session: AsyncSession, job: Job) -> ScanChanges:
    """Mark the domain's files that this scan did not find, and their URLs, as gone."""
    trouble = await session.scalar(
        select(func.count()).where(
            SitemapFile.job_id == job.id, SitemapFile.status != FileStatus.OK
        )
    )
    if trouble:
        return ScanChanges()
    gone = (await session.scalars(_build_gone_update(job))).all()
    if not gone:
        return ScanChanges()
    marked = await session.execute(
        update(SitemapUrl)
        .where(SitemapUrl.sitemap_id == func.any(gone), SitemapUrl.gone_at.is_(None))
        .values(gone_at=func.now())
        .execution_options(synchronize_session=False)
    )
    return ScanChanges(gone=int(marked.rowcount))  # type: ignore[attr-defined]


def _build_gone_update(job: Job) -> Any:
    return (
        update(SitemapFile)
        .where(
            SitemapFile.domain_id == job.domain_id,
            SitemapFile.job_id.is_distinct_from(job.id),
            SitemapFile.gone_at.is_(None),
        )
        .values(gone_at=func.now())
        .returning(SitemapFile.id)
        .execution_options(synchronize_session=False)
    )


def _build_warning(domain: Domain, analysis: Analysis) -> str | None:
    """Warn when a scan finds no URLs on a domain that had some."""
    if analysis.urls or not domain.sitemap_urls:
        return None
    return (
        f"The previous scan found {domain.sitemap_urls:,} URLs, this one none. "
        "The stored URLs are kept until a scan reads the sitemaps again."
    )


def _build_result(analysis: Analysis) -> dict[str, Any]:
    return {
        "outcome": analysis.outcome,
        "base_url": analysis.base_url,
        "urls": analysis.urls,
        "truncated": analysis.truncated,
        "truncated_why": analysis.truncated_why,
        "refused": [
            {"url": each.url, "method": each.method, "reason": each.reason}
            for each in analysis.refused[:MAX_REFUSED_LISTED]
        ],
        "refused_count": len(analysis.refused),
        "errors": list(analysis.errors[:MAX_REFUSED_LISTED]),
        "warnings": list(analysis.warnings[:MAX_REFUSED_LISTED]),
    }


async def _list_sitemaps(session: AsyncSession, job: Job) -> dict[str, Any]:
    """List the job's sitemap files, an index before its children, and their total."""
    result = await session.execute(
        select(
            SitemapFile.id,
            SitemapFile.url,
            SitemapFile.sitemap_type,
            SitemapFile.url_count,
            func.count().over(),
        )
        .where(SitemapFile.job_id == job.id)
        .order_by(SitemapFile.depth, SitemapFile.url)
        .limit(MAX_SITEMAPS_LISTED)
    )
    rows = result.all()
    return {
        "sitemaps": [
            {"id": str(file_id), "url": url, "type": sitemap_type, "url_count": url_count}
            for file_id, url, sitemap_type, url_count, _ in rows
        ],
        SITEMAPS_COUNT: rows[0][-1] if rows else 0,
    }


def _describe_nothing_found(analysis: Analysis) -> str | None:
    if analysis.outcome is not ScanOutcome.NONE:
        return None
    return "No sitemap was found in the usual places."


async def _close_unfinished_files(session: AsyncSession, job: Job) -> None:
    """Mark files without a result as partial: the scan was truncated before they were read."""
    await session.execute(
        update(SitemapFile)
        .where(SitemapFile.job_id == job.id, SitemapFile.status == FileStatus.READING)
        .values(status=FileStatus.PARTIAL, reason="The scan ended before this file was read.")
    )
