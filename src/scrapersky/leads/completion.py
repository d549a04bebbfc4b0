"""Mark leads complete once nothing is pending, and emit `lead.completed`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.session import Database
from scrapersky.leads.build import refresh_leads
from scrapersky.models import (
    EXTRACTION_STATUSES,
    JOB_STATUSES,
    PAGE_STATUSES,
    Domain,
    EmptyReason,
    Job,
    JobType,
    Lead,
    LocalBusiness,
    Page,
    SitemapFile,
    WebhookEvent,
)
from scrapersky.models.domains import METADATA_STATUSES, SUBMISSION_STATUSES
from scrapersky.models.sitemaps import IMPORT_STATUSES
from scrapersky.models.webhook_events import PendingEvent, emit_events
from scrapersky.models.webhook_payloads import build_domain_data, build_lead_data
from scrapersky.pages.selection import get_promising_conditions
from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.queue import StatusNames
from scrapersky.settings import Settings

MAX_LEADS_PER_SCAN = 10_000
"""Leads checked per run. With more, the next run continues after the last one checked."""
BATCH_SIZE = 500
MAX_BATCHES = 20
"""Batches per run, each in its own transaction; the next run continues."""
FIRST_ID = UUID(int=0)


class LeadCompleter:
    """Cycles through incomplete leads over several runs."""

    def __init__(self) -> None:
        self._after = FIRST_ID

    async def run(self, database: Database, settings: Settings) -> int:
        """Complete finished leads and return how many."""
        last = await self._find_scan_end(database)
        count = 0
        for _ in range(MAX_BATCHES):
            done = await self._complete_batch(database, last)
            count += done
            if done < BATCH_SIZE:
                self._after = last or FIRST_ID
                break
        return count

    async def _find_scan_end(self, database: Database) -> UUID | None:
        """Return the last lead of this run, or None when it reaches the end."""
        async with database.reading() as session:
            scan_end: UUID | None = await session.scalar(
                select(Lead.id)
                .where(Lead.completed_at.is_(None), Lead.id > self._after)
                .order_by(Lead.id)
                .offset(MAX_LEADS_PER_SCAN - 1)
                .limit(1)
            )
            return scan_end

    async def _complete_batch(self, database: Database, last: UUID | None) -> int:
        async with database.transaction() as session:
            leads = list(await session.scalars(_select_complete(self._after, last)))
            if leads:
                await _refresh_waiting(session, leads)
                await _mark_complete(session, leads)
                await emit_events(session, await _build_events(session, leads))
            return len(leads)


def _select_complete(after: UUID, last: UUID | None) -> Select[Any]:
    """Select finished leads. A locked lead is being written to: skip it until the next run."""
    looked_at = [Lead.completed_at.is_(None), Lead.id > after]
    if last is not None:
        looked_at.append(Lead.id <= last)
    return (
        select(Lead)
        .outerjoin(Domain, Domain.id == Lead.domain_id)
        .where(*looked_at, ~_has_pending_work())
        .order_by(Lead.id)
        .limit(BATCH_SIZE)
        .with_for_update(of=Lead, skip_locked=True)
    )


def _has_pending_work() -> ColumnElement[bool]:
    """Return whether any stage still has work for the lead.

    Each stage queues the next one in the transaction that completes it, so that there is no gap in
    which nothing is pending.
    """
    site = or_(
        _is_pending(Domain.status, METADATA_STATUSES),
        _is_pending(Domain.sitemap_analysis_status, SUBMISSION_STATUSES),
        exists().where(
            Job.domain_id == Domain.id,
            Job.job_type == JobType.SITEMAP,
            _is_pending(Job.status, JOB_STATUSES),
        ),
        exists().where(
            SitemapFile.domain_id == Domain.id,
            _is_pending(SitemapFile.sitemap_import_status, IMPORT_STATUSES),
        ),
        exists().where(
            Page.domain_id == Domain.id,
            *get_promising_conditions(),
            _is_pending(Page.page_processing_status, PAGE_STATUSES),
        ),
    )
    business = exists().where(
        LocalBusiness.id == Lead.local_business_id,
        _is_pending(LocalBusiness.domain_extraction_status, EXTRACTION_STATUSES),
    )
    return or_(and_(Lead.domain_id.is_not(None), site), and_(Lead.domain_id.is_(None), business))


def _is_pending(status: Any, words: StatusNames) -> ColumnElement[bool]:
    waits: ColumnElement[bool] = status.in_((words.queued, words.processing))
    return waits


async def _refresh_waiting(session: AsyncSession, leads: Sequence[Lead]) -> None:
    """Refresh leads that are stale or still wait for pages that will not be read."""
    waiting = [
        each.domain_id
        for each in leads
        if each.domain_id is not None
        and (each.why_empty == EmptyReason.NOT_READ_YET or each.stale_since is not None)
    ]
    await refresh_leads(session, waiting)


async def _mark_complete(session: AsyncSession, leads: Sequence[Lead]) -> None:
    await session.execute(
        update(Lead)
        .where(Lead.id.in_([each.id for each in leads]))
        .values(completed_at=func.now())
        .execution_options(synchronize_session=False)
    )


async def _build_events(session: AsyncSession, leads: Sequence[Lead]) -> list[PendingEvent]:
    ids = [each.domain_id for each in leads if each.domain_id is not None]
    domains = await session.scalars(select(Domain).where(Domain.id.in_(ids)))
    events: list[PendingEvent] = [
        (each.tenant_id, WebhookEvent.LEAD_COMPLETED, each.id, build_lead_data(each))
        for each in leads
    ]
    events += [
        (each.tenant_id, WebhookEvent.DOMAIN_COMPLETED, each.id, build_domain_data(each))
        for each in domains
    ]
    return events


async def complete_leads(database: Database, settings: Settings) -> int:
    """Complete leads in a single run from the first ID."""
    return await LeadCompleter().run(database, settings)


CHORE = Chore(
    name="complete_leads",
    does="Mark leads complete once nothing is pending.",
    every=timedelta(seconds=5),
    run=LeadCompleter().run,
)
