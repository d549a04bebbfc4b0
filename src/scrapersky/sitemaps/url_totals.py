"""Count the URLs that a domain's sitemaps list: each once, however often it is listed.

`sitemap_files.url_count` is the number of different URLs in one file (of an index: its children).
`domains.sitemap_urls` and `urls` in a job's result are the numbers of different URLs in all files
of the domain and of the scan: a URL that two files list counts once there. Only where there are
more than `MAX_COUNTED_URLS` these are the sums of the files' numbers: upper bounds, which are shown
as such. Whatever is larger than `MAX_COUNTED_URLS` is such a bound, and nothing else is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, case, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from scrapersky.models import Domain, Job, SitemapFile, SitemapUrl
from scrapersky.models import domains as domain_columns
from scrapersky.models.sitemaps import FileStatus
from scrapersky.scraper.events import SitemapType


@dataclass(frozen=True)
class UsableFile:
    id: UUID
    job_id: UUID | None
    urls: int


async def count_urls(
    session: AsyncSession, job: Job, *, listed: int, is_changed: bool
) -> tuple[int, int, int]:
    """Usable sitemaps of the job's domain, the different URLs they list, and those of this scan.

    `listed` is how many entries the scan has read. Nothing is counted when the scan changed nothing
    (`is_changed`) and as many files are usable as before.
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
        in_scan = await _count_different(session, [each.id for each in ours])
    # Counting reads every row of the domain, in the transaction that ends the scan: half a second
    # for a million, and a domain may have fifty of them.
    if in_domain <= domain_columns.MAX_COUNTED_URLS:
        is_all = len(ours) == len(files)
        in_domain = (
            in_scan if is_all else await _count_different(session, [each.id for each in files])
        )
    # A file that was cut short still has rows of a read before, which this scan did not see.
    return len(files), in_domain, min(listed, in_scan)


async def _usable_files(session: AsyncSession, job: Job) -> list[UsableFile]:
    is_index = SitemapFile.sitemap_type == SitemapType.INDEX
    urls = case((is_index, 0), else_=SitemapFile.url_count)
    found = await session.execute(
        select(SitemapFile.id, SitemapFile.job_id, urls).where(
            SitemapFile.domain_id == job.domain_id,
            SitemapFile.gone_at.is_(None),
            SitemapFile.status.in_([FileStatus.OK, FileStatus.PARTIAL]),
        )
    )
    return [UsableFile(*each) for each in found]


def _is_live(files: Sequence[UUID]) -> ColumnElement[bool]:
    return (SitemapUrl.sitemap_id == func.any(list(files))) & SitemapUrl.gone_at.is_(None)


async def _correct_files(session: AsyncSession, files: Sequence[UUID]) -> None:
    """While a file is read, a URL that it lists far apart twice is counted twice."""
    counted = (
        select(SitemapUrl.sitemap_id, func.count().label("urls"))
        .where(_is_live(files))
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


async def _count_different(session: AsyncSession, files: Sequence[UUID]) -> int:
    """Of the rows that list the same URL at most one says that it does not repeat: these are
    counted as they are, and only among the few others the same URL is looked for."""
    once = select(func.count()).where(_is_live(files), SitemapUrl.may_repeat.is_(False))
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
        _is_live(files), SitemapUrl.may_repeat, ~is_counted
    )
    found = await session.execute(select(once.scalar_subquery() + repeated.scalar_subquery()))
    return int(found.scalar_one())
