"""See how far the sites have come, as anybody who asks the database would."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from scrapersky.db.session import Database
from scrapersky.demo.counting import rows_of_all
from scrapersky.models import JOB_WORDS, WhyEmpty
from scrapersky.models.domains import METADATA_WORDS, SUBMISSION_WORDS

LOOK_EVERY_SECONDS = 0.25
LONGEST_SECONDS = 180.0
"""A demo that takes this long has something wrong, and says what has not ended."""


class Step(StrEnum):
    """Where a site is on its way, in the order of the stages."""

    HOME_PAGE = "home page"
    SITEMAPS = "sitemaps"
    IMPORT = "import"
    PAGES = "pages"
    LEAD = "lead"
    DONE = "done"


@dataclass(frozen=True)
class Sight:
    """One site as it stands."""

    name: str
    step: Step
    waits_for_retry: bool = False
    given_up: bool = False
    attempts: int = 1
    """Of the stage that needed most."""
    sitemaps: int = 0
    urls: int = 0
    pages: int = 0
    """Read so far."""
    contacts: int = 0

    @property
    def has_ended(self) -> bool:
        return self.step is Step.DONE


@dataclass(frozen=True)
class SiteRow:
    """What one look at the database says of a site."""

    name: str
    home_page: str
    home_page_attempts: int
    submission: str
    job: str | None
    job_attempts: int | None
    why_empty: str | None
    has_lead: bool
    sitemaps: int
    importing: int
    urls: int
    pages: int
    pages_waiting: int
    contacts: int

    def sight(self) -> Sight:
        return Sight(
            self.name,
            self._step(),
            waits_for_retry=self._waits_for_retry(),
            given_up=METADATA_WORDS.failed == self.home_page or JOB_WORDS.failed == self.job,
            attempts=max(self.home_page_attempts, self.job_attempts or 0),
            sitemaps=self.sitemaps,
            urls=self.urls,
            pages=self.pages,
            contacts=self.contacts,
        )

    def _step(self) -> Step:
        """The first at which something is under way; each is begun before the one before ends."""
        under_way = {
            Step.HOME_PAGE: self.home_page in (METADATA_WORDS.queued, METADATA_WORDS.processing),
            Step.SITEMAPS: self.submission in (SUBMISSION_WORDS.queued, SUBMISSION_WORDS.processing)
            or self.job in (JOB_WORDS.queued, JOB_WORDS.processing),
            Step.IMPORT: self.importing > 0,
            Step.PAGES: self.pages_waiting > 0,
            Step.LEAD: not self.has_lead or self.why_empty == WhyEmpty.NOT_READ_YET,
        }
        return next((step for step, holds in under_way.items() if holds), Step.DONE)

    def _waits_for_retry(self) -> bool:
        home_page = self.home_page == METADATA_WORDS.queued and self.home_page_attempts > 0
        return home_page or (self.job == JOB_WORDS.queued and bool(self.job_attempts))


async def watch(database: Database, show: Callable[[Sequence[Sight]], None]) -> None:
    """Show every look at the sites until all have ended, or it takes too long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LONGEST_SECONDS):
            while True:
                sights = await look(database)
                show(sights)
                if all(each.has_ended for each in sights):
                    return
                await asyncio.sleep(LOOK_EVERY_SECONDS)


async def look(database: Database) -> list[Sight]:
    async with database.reading() as session:
        return [SiteRow(*row).sight() for row in await session.execute(rows_of_all())]
