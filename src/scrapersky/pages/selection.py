"""Select and queue the few pages of a site that are worth reading."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.statements import inline_integer
from scrapersky.models import PAGE_STATUSES, Domain, Page
from scrapersky.models.pages import MAX_CONTACT_PRIORITY_LEVEL
from scrapersky.models.stage_names import PAGE_STAGE
from scrapersky.pipeline.queue import follow_status
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.scraper.pages.classification import (
    PRIORITIES,
    PageClassification,
    classify,
    pick_pages,
)
from scrapersky.scraper.pages.slugs import PageClass

MAX_CANDIDATE_PAGES = 2_000
"""Maximum number of pages of a site that are loaded to pick from."""
UNDECIDED = "New"
MAX_READABLE_PRIORITY = PRIORITIES[PageClass.legal, "privacy"]
_FOLLOW_QUEUED = {
    "page_curation_status": follow_status(
        Page.page_curation_status, PAGE_STATUSES, PAGE_STATUSES.queued
    )
}
"""Curation status of a queued page. A page that is only filtered was not processed and keeps its
own.
"""
PAGE_LIMIT_REASON = "The page limit of this site is reached. Select the page to have it read."


def classify_page(
    url: str, *, title: str | None = None, link_text: str | None = None
) -> PageClassification:
    return classify(url, title=title, link_text=link_text)


def get_promising_conditions() -> tuple[ColumnElement[bool], ...]:
    """Return conditions that match the partial index: a site may have a million other pages."""
    last = inline_integer(MAX_CONTACT_PRIORITY_LEVEL)
    return Page.priority_level <= last, Page.page_type.is_not(None)


async def queue_best_pages(session: AsyncSession, domain_id: UUID, *, limit: int) -> int:
    """Queue the best undecided pages of a site up to `limit`, and filter the rest.

    Pages that were read and have changed since are queued as well, beyond the limit. Return how
    many pages were queued.
    """
    await session.execute(
        select(Domain.id).where(Domain.id == domain_id).with_for_update(key_share=True)
    )
    changed = await _queue_changed(session, domain_id)
    undecided = await _load_undecided(session, domain_id)
    if not undecided:
        return changed
    room = max(limit - await _count_decided(session, domain_id), 0)
    classified = [(url, classify_page(url, link_text=link)) for url, link in undecided.values()]
    right = {url for url, _ in pick_pages(classified, limit=room)}
    chosen = [page_id for page_id, (url, _) in undecided.items() if url in right]
    others = [page_id for page_id, (url, _) in undecided.items() if url not in right]
    await _set_status(session, chosen, PAGE_STATUSES.queued, None)
    await _set_status(
        session, others, PAGE_STATUSES.skipped or PAGE_STATUSES.done, PAGE_LIMIT_REASON
    )
    if chosen:
        wake_after_commit(session, PAGE_STAGE)
    return changed + len(chosen)


async def _queue_changed(session: AsyncSession, domain_id: UUID) -> int:
    """Queue pages that changed after they were read, according to their sitemap's `lastmod`."""
    rows = await session.scalars(
        select(Page.id)
        .where(
            Page.domain_id == domain_id,
            Page.page_processing_status == PAGE_STATUSES.done,
            # A lastmod in the future would queue the page after every scan.
            Page.lastmod.between(Page.read_at, func.now()),
            *get_promising_conditions(),
        )
        .order_by(Page.id)
        .with_for_update(skip_locked=True)
    )
    changed = list(rows)
    await _set_status(session, changed, PAGE_STATUSES.queued, None)
    if changed:
        wake_after_commit(session, PAGE_STAGE)
    return len(changed)


async def _load_undecided(
    session: AsyncSession, domain_id: UUID
) -> dict[UUID, tuple[str, str | None]]:
    result = await session.execute(
        select(Page.id, Page.url, Page.link_text)
        .where(
            Page.domain_id == domain_id,
            Page.page_processing_status == UNDECIDED,
            Page.priority_level <= MAX_READABLE_PRIORITY,
            *get_promising_conditions(),
        )
        .order_by(Page.priority_level, func.length(Page.url), Page.id)
        .limit(MAX_CANDIDATE_PAGES)
        .with_for_update(skip_locked=True)
    )
    return {page_id: (url, link) for page_id, url, link in result}


async def _count_decided(session: AsyncSession, domain_id: UUID) -> int:
    """Count the pages that were read, failed or are queued: they use up the limit."""
    words = (
        PAGE_STATUSES.queued,
        PAGE_STATUSES.processing,
        PAGE_STATUSES.done,
        PAGE_STATUSES.failed,
    )
    counted = select(func.count()).where(
        Page.domain_id == domain_id,
        Page.page_processing_status.in_(words),
        *get_promising_conditions(),
    )
    return int(await session.scalar(counted) or 0)


async def _set_status(
    session: AsyncSession, ids: Sequence[UUID], status: str, reason: str | None
) -> None:
    if not ids:
        return
    await session.execute(
        update(Page)
        .where(Page.id.in_(ids))
        .values(
            page_processing_status=status,
            page_processing_error=reason,
            page_processing_due_at=func.now(),
            page_processing_attempts=0,
            **(_FOLLOW_QUEUED if status == PAGE_STATUSES.queued else {}),
        )
        .execution_options(synchronize_session=False)
    )
