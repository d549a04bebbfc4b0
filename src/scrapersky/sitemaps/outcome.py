"""What a scan came to, written on the job and on the domain in the same transaction."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.bulk import refresh_statistics
from scrapersky.jobs.finishing import announce_finished
from scrapersky.models import JOB_WORDS, Domain, Job, SitemapFile, SitemapUrl, WebhookEvent
from scrapersky.models.announced import sitemap_data
from scrapersky.models.announcing import announce
from scrapersky.models.jobs import SITEMAPS_COUNT
from scrapersky.models.sitemaps import FileStatus
from scrapersky.scraper.events import Analysis, Outcome
from scrapersky.sitemaps.names import ONLY_SITEMAP
from scrapersky.sitemaps.pacing import Changes, Rhythm, after_failure
from scrapersky.sitemaps.url_totals import count_urls

BIG_LOAD_URLS = 50_000
"""After this many new ones the planner's statistics are made anew."""
REFUSED_KEPT = 50
MAX_SITEMAPS_LISTED = 50
"""In a job's result, which every list of jobs shows; `/sitemap/status/{job_id}` has all of them."""
CHANGES = "changes"


async def write_result(
    session: AsyncSession, job: Job, analysis: Analysis, *, rhythm: Rhythm
) -> None:
    """The scan was done: what it found, what had changed, and when to look again."""
    await _close_unfinished(session, job)
    if _looked_everywhere(job, analysis):
        note_changes(job, await _mark_files_gone(session, job))
    changes = noted_changes(job)
    if changes.added >= BIG_LOAD_URLS:
        await refresh_statistics(session, SitemapUrl)
    job.result_data = {
        **_result(analysis),
        **await _list_sitemaps(session, job),
        CHANGES: asdict(changes),
    }
    if job.domain_id is None:
        await announce_finished(session, job, JOB_WORDS.done)
        return
    sitemaps, urls, scanned = await count_urls(
        session, job, listed=analysis.urls, is_changed=bool(changes)
    )
    job.result_data = {**job.result_data, "urls": scanned}
    await announce_finished(session, job, JOB_WORDS.done)
    domain = await session.get_one(Domain, job.domain_id, with_for_update={"key_share": True})
    was_looked_at = domain.last_scan is not None
    if not job.params.get(ONLY_SITEMAP):  # otherwise the site itself was not looked at
        _write_look(job, domain, analysis, rhythm)
    domain.total_sitemaps, domain.sitemap_urls = sitemaps, urls
    if was_looked_at and changes:
        told = sitemap_data(domain, job, asdict(changes))
        await announce(session, job.tenant_id, WebhookEvent.SITEMAP_CHANGED, domain.id, told)


def _write_look(job: Job, domain: Domain, analysis: Analysis, rhythm: Rhythm) -> None:
    """What the look at the site came to, and when it is due again."""
    changes = noted_changes(job)
    domain.scan_warning = _warning(domain, analysis)
    wait, why = (
        rhythm.after_first_look()
        if domain.last_scan is None
        else rhythm.after_look(domain.scan_interval, changes)
    )
    domain.scan_interval, domain.next_scan_why = wait, why
    domain.last_scan, domain.next_scan_at = func.now(), func.now() + wait
    domain.base_url = analysis.base_url
    domain.scan_failures = 0
    domain.last_scan_error = _nothing_found(analysis)
    domain.last_sitemap_job_id = job.id


async def write_failure(session: AsyncSession, job: Job, sentence: str) -> None:
    """The scan was given up: the domain learns it, and waits twice as long each time."""
    await announce_finished(session, job, JOB_WORDS.failed, error=sentence)
    if job.domain_id is None or job.params.get(ONLY_SITEMAP):
        return
    domain = await session.get(Domain, job.domain_id, with_for_update={"key_share": True})
    if domain is None:
        return
    domain.scan_failures += 1
    domain.last_scan_error = sentence
    domain.last_sitemap_job_id = job.id
    wait, domain.next_scan_why = after_failure(domain.scan_interval, domain.scan_failures)
    domain.next_scan_at = func.now() + wait


def noted_changes(job: Job) -> Changes:
    """What the handfuls stored so far have changed; kept with the job, so a retry adds to it."""
    return Changes(**((job.result_data or {}).get(CHANGES) or {}))


def note_changes(job: Job, more: Changes) -> None:
    if more:
        total = noted_changes(job).plus(more)
        job.result_data = {**(job.result_data or {}), CHANGES: asdict(total)}


def _looked_everywhere(job: Job, analysis: Analysis) -> bool:
    """Only then does a sitemap that did not turn up mean that it is gone."""
    from_the_top = (job.params.get("path") or "/") == "/"
    whole = not (analysis.truncated or analysis.errors)
    return analysis.outcome is Outcome.FOUND and from_the_top and whole


async def _mark_files_gone(session: AsyncSession, job: Job) -> Changes:
    """Files of the domain that this scan did not come across, and the URLs they listed."""
    trouble = await session.scalar(
        select(func.count()).where(
            SitemapFile.job_id == job.id, SitemapFile.status != FileStatus.OK
        )
    )
    if trouble:
        return Changes()
    gone = (await session.scalars(_leave_behind(job))).all()
    if not gone:
        return Changes()
    marked = await session.execute(
        update(SitemapUrl)
        .where(SitemapUrl.sitemap_id == func.any(gone), SitemapUrl.gone_at.is_(None))
        .values(gone_at=func.now())
        .execution_options(synchronize_session=False)
    )
    return Changes(gone=int(marked.rowcount))  # type: ignore[attr-defined]


def _leave_behind(job: Job) -> Any:
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


def _warning(domain: Domain, analysis: Analysis) -> str | None:
    """Nothing where there was something is a signal, not a silent zero."""
    if analysis.urls or not domain.sitemap_urls:
        return None
    return (
        f"The scan before found {domain.sitemap_urls:,} URLs and this one none; "
        "what was stored is kept until a scan reads the sitemaps again."
    )


def _result(analysis: Analysis) -> dict[str, Any]:
    return {
        "outcome": analysis.outcome,
        "base_url": analysis.base_url,
        "urls": analysis.urls,
        "truncated": analysis.truncated,
        "truncated_why": analysis.truncated_why,
        "refused": [
            {"url": each.url, "method": each.method, "reason": each.reason}
            for each in analysis.refused[:REFUSED_KEPT]
        ],
        "refused_count": len(analysis.refused),
        "errors": list(analysis.errors[:REFUSED_KEPT]),
        "warnings": list(analysis.warnings[:REFUSED_KEPT]),
    }


async def _list_sitemaps(session: AsyncSession, job: Job) -> dict[str, Any]:
    """The sitemap files of the job, an index before its children, and how many there are."""
    found = await session.execute(
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
    rows = found.all()
    return {
        "sitemaps": [
            {"id": str(file_id), "url": url, "type": sitemap_type, "url_count": url_count}
            for file_id, url, sitemap_type, url_count, _ in rows
        ],
        SITEMAPS_COUNT: rows[0][-1] if rows else 0,
    }


def _nothing_found(analysis: Analysis) -> str | None:
    if analysis.outcome is not Outcome.NONE:
        return None
    return "The site has no sitemap where sitemaps usually are."


async def _close_unfinished(session: AsyncSession, job: Job) -> None:
    """A file whose verdict never came was left behind when the scan was cut short."""
    await session.execute(
        update(SitemapFile)
        .where(SitemapFile.job_id == job.id, SitemapFile.status == FileStatus.READING)
        .values(status=FileStatus.PARTIAL, reason="The scan ended before this file was read.")
    )
