"""What a scan came to, written on the job and on the domain in the same transaction."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.bulk import refresh_statistics
from scrapersky.models import Domain, Job, SitemapFile, SitemapUrl
from scrapersky.models.sitemaps import FileStatus
from scrapersky.scraper.events import Analysis, Outcome

LONGEST_WAIT = timedelta(days=30)
BIG_LOAD_URLS = 50_000
"""After this many the planner's statistics are made anew."""
REFUSED_KEPT = 50


async def write_result(
    session: AsyncSession, job: Job, analysis: Analysis, *, rescan_interval: timedelta
) -> None:
    """The scan was done: what it found, and when to look again."""
    job.result_data = _result(analysis)
    await _close_unfinished(session, job)
    if analysis.urls >= BIG_LOAD_URLS:
        await refresh_statistics(session, SitemapUrl)
    sitemaps, urls = await _totals(session, job)
    await session.execute(
        update(Domain)
        .where(Domain.id == job.domain_id)
        .values(
            base_url=analysis.base_url,
            last_scan=func.now(),
            scan_interval=rescan_interval,
            next_scan_at=func.now() + rescan_interval,
            scan_failures=0,
            last_scan_error=_nothing_found(analysis),
            total_sitemaps=sitemaps,
            sitemap_urls=urls,
            last_sitemap_job_id=job.id,
        )
    )


async def write_failure(session: AsyncSession, job: Job, sentence: str) -> None:
    """The scan was given up: the domain learns it, and waits twice as long each time."""
    if job.domain_id is None:
        return
    domain = await session.get(Domain, job.domain_id, with_for_update=True)
    if domain is None:
        return
    domain.scan_failures += 1
    domain.last_scan_error = sentence
    domain.last_sitemap_job_id = job.id
    wait = min(domain.scan_interval * 2.0 ** min(domain.scan_failures, 20), LONGEST_WAIT)
    domain.next_scan_at = func.now() + wait


def _result(analysis: Analysis) -> dict[str, Any]:
    return {
        "outcome": analysis.outcome,
        "base_url": analysis.base_url,
        "sitemaps": analysis.sitemaps,
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


async def _totals(session: AsyncSession, job: Job) -> tuple[int, int]:
    """Usable sitemaps of the domain, and the URLs they list."""
    usable = SitemapFile.status.in_([FileStatus.OK, FileStatus.PARTIAL])
    found = await session.execute(
        select(
            func.count(),
            func.coalesce(
                func.sum(SitemapFile.url_count).filter(SitemapFile.sitemap_type != "index"), 0
            ),
        ).where(SitemapFile.domain_id == job.domain_id, usable)
    )
    sitemaps, urls = found.one()
    return int(sitemaps), int(urls)
