"""See how far the jobs have come, as anybody who asks the database would."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.models import JOB_WORDS, Job, SitemapFile, SitemapUrl

LOOK_EVERY_SECONDS = 0.15
LONGEST_SECONDS = 60.0
"""A demo that takes this long has something wrong, and says what has not ended."""


@dataclass(frozen=True)
class Sight:
    """One job as it stands."""

    name: str
    status: str
    phase: str | None = None
    progress: float = 0
    attempts: int = 0
    sitemaps: int = 0
    urls: int = 0

    @property
    def has_ended(self) -> bool:
        return self.status not in (JOB_WORDS.queued, JOB_WORDS.processing)

    @property
    def waits_for_retry(self) -> bool:
        return self.status == JOB_WORDS.queued and self.attempts > 0


async def watch(
    database: Database, jobs: Sequence[UUID], show: Callable[[Sequence[Sight]], None]
) -> None:
    """Show every look at the jobs until all have ended, or it takes too long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LONGEST_SECONDS):
            while True:
                sights = await look(database, jobs)
                show(sights)
                if all(each.has_ended for each in sights):
                    return
                await asyncio.sleep(LOOK_EVERY_SECONDS)


async def look(database: Database, jobs: Sequence[UUID]) -> list[Sight]:
    sitemaps = (
        select(func.count()).where(SitemapFile.job_id == Job.id).correlate(Job).scalar_subquery()
    )
    urls = (
        select(func.count())
        .select_from(SitemapUrl)
        .join(SitemapFile, SitemapFile.id == SitemapUrl.sitemap_id)
        .where(SitemapFile.job_id == Job.id)
        .correlate(Job)
        .scalar_subquery()
    )
    facts = (Job.subject, Job.status, Job.phase, Job.progress, Job.attempts)
    asked = select(*facts, sitemaps, urls).where(Job.id.in_(jobs)).order_by(Job.id)
    async with database.reading() as session:
        return [Sight(*row) for row in await session.execute(asked)]
