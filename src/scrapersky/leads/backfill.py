"""Chores: refresh stale or stuck leads, and classify pages stored without a type."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Select, Text, Uuid, exists, select, union_all, update

from scrapersky.db.session import Database
from scrapersky.db.statements import inline_text, unnest_rows
from scrapersky.leads.build import refresh_leads
from scrapersky.models import PAGE_STATUSES, Domain, EmptyReason, Lead, Page
from scrapersky.models.domains import METADATA_STATUSES
from scrapersky.pages.classification import CLASSIFICATION_COLUMNS, classify_urls
from scrapersky.pages.selection import UNDECIDED, get_promising_conditions, queue_best_pages
from scrapersky.pipeline.chores import Chore
from scrapersky.settings import Settings

LEAD_BATCH_SIZE = 500
PAGE_BATCH_SIZE = 5_000
MAX_BATCHES = 20
"""Batches per run; the next run continues."""


async def refresh_waiting_leads(database: Database, settings: Settings) -> int:
    """Refresh leads that still wait for pages which will not be read, and leads marked stale by a
    bulk action.
    """
    count = await _refresh_batch(database, _select_stuck())
    for _ in range(MAX_BATCHES):
        done = await _refresh_batch(database, _select_stale())
        count += done
        if done < LEAD_BATCH_SIZE:
            break
    return count


async def _refresh_batch(database: Database, domains: Select[Any]) -> int:
    async with database.transaction() as session:
        ids = list(await session.scalars(domains.limit(LEAD_BATCH_SIZE)))
        await refresh_leads(session, ids)
        return len(ids)


def _select_stale() -> Select[Any]:
    return select(Lead.domain_id).where(Lead.stale_since.is_not(None), Lead.domain_id.is_not(None))


def _select_stuck() -> Select[Any]:
    """Select leads that wait without pending pages, and failed sites without a lead. Both use small
    partial indexes.
    """
    under_way = exists().where(
        Page.domain_id == Domain.id,
        *get_promising_conditions(),
        Page.page_processing_status.in_((PAGE_STATUSES.queued, PAGE_STATUSES.processing)),
    )
    waiting = (
        select(Domain.id)
        .join(Lead, Lead.domain_id == Domain.id)
        .where(
            Lead.why_empty == inline_text(EmptyReason.NOT_READ_YET),
            Domain.status.in_((METADATA_STATUSES.done, METADATA_STATUSES.failed)),
            ~under_way,
        )
    )
    given_up = select(Domain.id).where(
        Domain.status == inline_text(METADATA_STATUSES.failed),
        ~exists().where(Lead.domain_id == Domain.id),
    )
    stuck = union_all(waiting, given_up).subquery()
    return select(stuck.c.id)


async def classify_stored_pages(database: Database, settings: Settings) -> int:
    """Classify pages stored without a type. Each batch commits separately."""
    count = 0
    for _ in range(MAX_BATCHES):
        done = await _classify_batch(database, settings)
        count += done
        if done < PAGE_BATCH_SIZE:
            break
    return count


async def _classify_batch(database: Database, settings: Settings) -> int:
    async with database.transaction() as session:
        result = await session.execute(
            select(Page.id, Page.url, Page.domain_id, Page.page_processing_status)
            .where(Page.page_type.is_(None))
            .order_by(Page.id)
            .limit(PAGE_BATCH_SIZE)
            .with_for_update(skip_locked=True)
        )
        rows = result.all()
        if rows:
            await session.execute(await _build_classification_update(rows, settings))
        if settings.auto_queue_pages:
            for domain_id in sorted({row.domain_id for row in rows}):
                await queue_best_pages(session, domain_id, limit=settings.pages_per_site)
        return len(rows)


async def _build_classification_update(rows: Sequence[Any], settings: Settings) -> Any:
    kinds = await classify_urls([row.url for row in rows], auto_queue=settings.auto_queue_pages)
    statuses = [
        new if row.page_processing_status == UNDECIDED else row.page_processing_status
        for row, new in zip(rows, kinds["page_processing_status"], strict=True)
    ]
    ids: list[UUID] = [row.id for row in rows]
    input_rows = unnest_rows(
        row_id=(Uuid, ids),
        **{
            name: (kind, kinds[name])
            for name, kind in CLASSIFICATION_COLUMNS.items()
            if name != STATUS_COLUMN
        },
        page_processing_status=(Text, statuses),
    )
    values = {name: input_rows.c[name] for name in CLASSIFICATION_COLUMNS}
    return (
        update(Page)
        .where(Page.id == input_rows.c.row_id)
        .values(values)
        .execution_options(synchronize_session=False)
    )


STATUS_COLUMN = "page_processing_status"

REFRESH_LEADS_CHORE = Chore(
    name="refresh_waiting_leads",
    does="Refresh leads that are stale or wait for pages that will not be read.",
    every=timedelta(minutes=1),
    run=refresh_waiting_leads,
)
CLASSIFY_PAGES_CHORE = Chore(
    name="classify_stored_pages",
    does="Classify pages stored without a type and queue the ones worth reading.",
    every=timedelta(minutes=1),
    run=classify_stored_pages,
)
