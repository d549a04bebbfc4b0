"""What each scan came to, and whether that is what the town expects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.session import Database
from scrapersky.demo.display import counted
from scrapersky.demo.site import Ending, TownSite
from scrapersky.models import JOB_WORDS, Job, SitemapFile
from scrapersky.pipeline.closing import is_open
from scrapersky.pipeline.tables import DeadLetter
from scrapersky.sitemaps import service


@dataclass(frozen=True)
class Result:
    """Everything stored about one site."""

    site: TownSite
    job: Job
    files: Sequence[SitemapFile]
    urls: int
    """Stored, each once."""
    letter: DeadLetter | None

    @property
    def ending(self) -> Ending | None:
        """None while the job has not ended, or when it ended as no scan should."""
        if self.job.status == JOB_WORDS.failed and self.letter is not None:
            return Ending.FAILED
        if self.job.status == JOB_WORDS.done:
            return Ending(self.data["outcome"])
        return None

    @property
    def data(self) -> dict[str, Any]:
        return self.job.result_data or {}

    @property
    def difference(self) -> str | None:
        """A sentence where the town expects something else."""
        expected = self.site.expected
        if (self.ending, self.urls) == (expected.ending, expected.urls):
            return None
        came = _described(self.ending or self.job.status, self.urls)
        wanted = _described(expected.ending, expected.urls)
        return f"{self.site.name} is {came}; expected was {wanted}."


def _described(ending: str, urls: int) -> str:
    return f"{ending} with {counted(urls, 'URL')}"


async def read_results(
    database: Database, sites: Sequence[TownSite], jobs: Sequence[UUID]
) -> list[Result]:
    async with database.reading() as session:
        return [
            await _result(session, site, job_id) for site, job_id in zip(sites, jobs, strict=True)
        ]


async def _result(session: AsyncSession, site: TownSite, job_id: UUID) -> Result:
    job = await session.get_one(Job, job_id)
    assert job.domain_id is not None, "a scan's job has its domain"
    return Result(
        site=site,
        job=job,
        files=await service.files_of_job(session, job),
        urls=await service.count_urls(session, job.domain_id),
        letter=await session.scalar(
            select(DeadLetter).where(DeadLetter.row_id == job_id, is_open())
        ),
    )
