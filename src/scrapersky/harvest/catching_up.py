"""Housekeeping: leads whose last page was given up, and pages stored before they had a kind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Select, Text, Uuid, exists, select, union_all, update

from scrapersky.db.arrays import table_of
from scrapersky.db.direct import written_out
from scrapersky.db.session import Database
from scrapersky.harvest.kinds import KINDS, kinds_of
from scrapersky.harvest.leads import refresh_leads
from scrapersky.harvest.picking import UNDECIDED, is_worth_a_look, queue_right_pages
from scrapersky.models import PAGE_WORDS, Domain, Lead, Page, WhyEmpty
from scrapersky.models.domains import METADATA_WORDS
from scrapersky.pipeline.chores import Chore
from scrapersky.settings import Settings

LEADS_AT_ONCE = 500
PAGES_AT_ONCE = 5_000
ROUNDS = 20
"""Batches of pages in one go; the next minute goes on."""


async def refresh_waiting_leads(database: Database, settings: Settings) -> int:
    """Those that still wait for pages which nobody is going to read any more, and those of which
    something was changed for many at once."""
    count = await _refresh_all(database, _waiting_for_nobody())
    for _ in range(ROUNDS):
        done = await _refresh_all(database, _stale())
        count += done
        if done < LEADS_AT_ONCE:
            break
    return count


async def _refresh_all(database: Database, domains: Select[Any]) -> int:
    async with database.transaction() as session:
        ids = list(await session.scalars(domains.limit(LEADS_AT_ONCE)))
        await refresh_leads(session, ids)
        return len(ids)


def _stale() -> Select[Any]:
    return select(Lead.domain_id).where(Lead.stale_since.is_not(None), Lead.domain_id.is_not(None))


def _waiting_for_nobody() -> Select[Any]:
    """Found by two small indexes: leads that wait, and sites that were given up without one."""
    under_way = exists().where(
        Page.domain_id == Domain.id,
        *is_worth_a_look(),
        Page.page_processing_status.in_((PAGE_WORDS.queued, PAGE_WORDS.processing)),
    )
    waiting = (
        select(Domain.id)
        .join(Lead, Lead.domain_id == Domain.id)
        .where(
            Lead.why_empty == written_out(WhyEmpty.NOT_READ_YET),
            Domain.status.in_((METADATA_WORDS.done, METADATA_WORDS.failed)),
            ~under_way,
        )
    )
    given_up = select(Domain.id).where(
        Domain.status == written_out(METADATA_WORDS.failed),
        ~exists().where(Lead.domain_id == Domain.id),
    )
    found = union_all(waiting, given_up).subquery()
    return select(found.c.id)


async def classify_stored_pages(database: Database, settings: Settings) -> int:
    """A batch is a transaction; what is done stays done."""
    count = 0
    for _ in range(ROUNDS):
        done = await _classify_batch(database, settings)
        count += done
        if done < PAGES_AT_ONCE:
            break
    return count


async def _classify_batch(database: Database, settings: Settings) -> int:
    async with database.transaction() as session:
        found = await session.execute(
            select(Page.id, Page.url, Page.domain_id, Page.page_processing_status)
            .where(Page.page_type.is_(None))
            .order_by(Page.id)
            .limit(PAGES_AT_ONCE)
            .with_for_update(skip_locked=True)
        )
        rows = found.all()
        if rows:
            await session.execute(await _setting_kinds(rows, settings))
        if settings.auto_queue_pages:
            for domain_id in sorted({row.domain_id for row in rows}):
                await queue_right_pages(session, domain_id, limit=settings.pages_per_site)
        return len(rows)


async def _setting_kinds(rows: Sequence[Any], settings: Settings) -> Any:
    kinds = await kinds_of([row.url for row in rows], auto_queue=settings.auto_queue_pages)
    statuses = [
        new if row.page_processing_status == UNDECIDED else row.page_processing_status
        for row, new in zip(rows, kinds["page_processing_status"], strict=True)
    ]
    ids: list[UUID] = [row.id for row in rows]
    given = table_of(
        row_id=(Uuid, ids),
        **{name: (kind, kinds[name]) for name, kind in KINDS.items() if name != STATUS},
        page_processing_status=(Text, statuses),
    )
    values = {name: given.c[name] for name in KINDS}
    return (
        update(Page)
        .where(Page.id == given.c.row_id)
        .values(values)
        .execution_options(synchronize_session=False)
    )


STATUS = "page_processing_status"

LEADS = Chore(
    name="refresh_waiting_leads",
    does="Say of leads that waited for their pages why they stay empty.",
    every=timedelta(minutes=1),
    run=refresh_waiting_leads,
)
PAGES = Chore(
    name="classify_stored_pages",
    does="Say of pages stored without a kind what kind they are, and queue those worth reading.",
    every=timedelta(minutes=1),
    run=classify_stored_pages,
)
