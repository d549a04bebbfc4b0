"""Say of a lead, once, that everything that was to be read for it has been read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.session import Database
from scrapersky.harvest.leads import refresh_leads
from scrapersky.harvest.picking import is_worth_a_look
from scrapersky.models import (
    EXTRACTION_WORDS,
    JOB_WORDS,
    PAGE_WORDS,
    Domain,
    Job,
    JobType,
    Lead,
    LocalBusiness,
    Page,
    SitemapFile,
    WebhookEvent,
    WhyEmpty,
)
from scrapersky.models.announced import domain_data, lead_data
from scrapersky.models.announcing import Announcement, announce_many
from scrapersky.models.domains import METADATA_WORDS, SUBMISSION_WORDS
from scrapersky.models.sitemaps import IMPORT_WORDS
from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.queue import Words
from scrapersky.settings import Settings

LOOKED_AT = 10_000
"""Leads that one look goes through; where there are more, the next one goes on behind them."""
AT_ONCE = 500
ROUNDS = 20
"""Batches of one look, each a transaction; the next look goes on."""
FIRST = UUID(int=0)


class Completing:
    """Goes round among the leads that are not complete."""

    def __init__(self) -> None:
        self._after = FIRST

    async def run(self, database: Database, settings: Settings) -> int:
        """How many are complete now."""
        last = await self._end_of_look(database)
        count = 0
        for _ in range(ROUNDS):
            done = await self._complete(database, last)
            count += done
            if done < AT_ONCE:
                self._after = last or FIRST
                break
        return count

    async def _end_of_look(self, database: Database) -> UUID | None:
        """Nothing where the last of all is within reach."""
        async with database.reading() as session:
            found: UUID | None = await session.scalar(
                select(Lead.id)
                .where(Lead.completed_at.is_(None), Lead.id > self._after)
                .order_by(Lead.id)
                .offset(LOOKED_AT - 1)
                .limit(1)
            )
            return found

    async def _complete(self, database: Database, last: UUID | None) -> int:
        async with database.transaction() as session:
            leads = list(await session.scalars(_complete_ones(self._after, last)))
            if leads:
                await _say_why_empty(session, leads)
                await _mark(session, leads)
                await announce_many(session, await _announcements(session, leads))
            return len(leads)


def _complete_ones(after: UUID, last: UUID | None) -> Select[Any]:
    """One that somebody holds gets something stored right now: it is looked at next time."""
    looked_at = [Lead.completed_at.is_(None), Lead.id > after]
    if last is not None:
        looked_at.append(Lead.id <= last)
    return (
        select(Lead)
        .outerjoin(Domain, Domain.id == Lead.domain_id)
        .where(*looked_at, ~_is_under_way())
        .order_by(Lead.id)
        .limit(AT_ONCE)
        .with_for_update(of=Lead, skip_locked=True)
    )


def _is_under_way() -> ColumnElement[bool]:
    """Each step queues the next in the transaction in which it ends, so there is no moment between
    two of them in which nothing is."""
    site = or_(
        _waits(Domain.status, METADATA_WORDS),
        _waits(Domain.sitemap_analysis_status, SUBMISSION_WORDS),
        exists().where(
            Job.domain_id == Domain.id,
            Job.job_type == JobType.SITEMAP,
            _waits(Job.status, JOB_WORDS),
        ),
        exists().where(
            SitemapFile.domain_id == Domain.id,
            _waits(SitemapFile.sitemap_import_status, IMPORT_WORDS),
        ),
        exists().where(
            Page.domain_id == Domain.id,
            *is_worth_a_look(),
            _waits(Page.page_processing_status, PAGE_WORDS),
        ),
    )
    business = exists().where(
        LocalBusiness.id == Lead.local_business_id,
        _waits(LocalBusiness.domain_extraction_status, EXTRACTION_WORDS),
    )
    return or_(and_(Lead.domain_id.is_not(None), site), and_(Lead.domain_id.is_(None), business))


def _waits(status: Any, words: Words) -> ColumnElement[bool]:
    waits: ColumnElement[bool] = status.in_((words.queued, words.processing))
    return waits


async def _say_why_empty(session: AsyncSession, leads: Sequence[Lead]) -> None:
    """Of those that wait for pages which nobody is going to read any more."""
    waiting = [
        each.domain_id
        for each in leads
        if each.domain_id is not None
        and (each.why_empty == WhyEmpty.NOT_READ_YET or each.stale_since is not None)
    ]
    await refresh_leads(session, waiting)


async def _mark(session: AsyncSession, leads: Sequence[Lead]) -> None:
    await session.execute(
        update(Lead)
        .where(Lead.id.in_([each.id for each in leads]))
        .values(completed_at=func.now())
        .execution_options(synchronize_session=False)
    )


async def _announcements(session: AsyncSession, leads: Sequence[Lead]) -> list[Announcement]:
    ids = [each.domain_id for each in leads if each.domain_id is not None]
    domains = await session.scalars(select(Domain).where(Domain.id.in_(ids)))
    told: list[Announcement] = [
        (each.tenant_id, WebhookEvent.LEAD_COMPLETED, each.id, lead_data(each)) for each in leads
    ]
    told += [
        (each.tenant_id, WebhookEvent.DOMAIN_COMPLETED, each.id, domain_data(each))
        for each in domains
    ]
    return told


async def complete_leads(database: Database, settings: Settings) -> int:
    """One look from the beginning."""
    return await Completing().run(database, settings)


CHORE = Chore(
    name="complete_leads",
    does="Say of leads for which nothing is left to read that they are complete.",
    every=timedelta(seconds=5),
    run=Completing().run,
)
