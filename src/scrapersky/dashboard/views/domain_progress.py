"""A domain's progress through the pipeline: page counts, sitemap tree and steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Select, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import JOB_STATUSES, PAGE_STATUSES, Contact, Domain, Job, Page, SitemapFile
from scrapersky.models.domains import METADATA_STATUSES, SUBMISSION_STATUSES
from scrapersky.models.jobs import CANCELLED
from scrapersky.models.pages import MAX_CONTACT_PRIORITY_LEVEL
from scrapersky.models.sitemaps import IMPORT_STATUSES
from scrapersky.models.stage_names import (
    IMPORT_STAGE,
    METADATA_STAGE,
    PAGE_STAGE,
    SITEMAP_STAGE,
    SUBMISSION_STAGE,
)
from scrapersky.pipeline.queue import QueueState, StatusNames, queue_columns
from scrapersky.scraper.site.model import SiteState
from scrapersky.scraper.sitemaps.events import SitemapType

T = TypeVar("T")

MAX_PAGES_COUNTED = 50_000
"""Limit on counted pages; larger sites show a lower bound."""
MAX_PAGES = 12
MAX_CONTACTS = 12
MAX_JOBS = 30
MAX_RETRIED_PAGES = 200


@dataclass(frozen=True)
class PageKindCounts:
    """Counts for pages of one kind."""

    page_type: str | None
    pages: int
    read: int
    contacts: int


@dataclass(frozen=True)
class PageCounts:
    kinds: tuple[PageKindCounts, ...]
    statuses: Counter[str]
    total: int

    @property
    def is_whole(self) -> bool:
        return self.total < MAX_PAGES_COUNTED


async def count_pages(session: AsyncSession, domain_id: UUID) -> PageCounts:
    some = (
        select(Page.page_type, Page.page_processing_status, Page.contacts_found)
        .where(Page.domain_id == domain_id)
        .limit(MAX_PAGES_COUNTED)
        .subquery()
    )
    kind, status, count = some.c
    counted = await session.execute(
        select(kind, status, func.count(), func.coalesce(func.sum(count), 0)).group_by(kind, status)
    )
    rows = [(word, state, int(pages), int(read)) for word, state, pages, read in counted]
    statuses: Counter[str] = Counter()
    for _, state, pages, _ in rows:
        statuses[state] += pages
    return PageCounts(_group_by_kind(rows), statuses, statuses.total())


def _group_by_kind(rows: Sequence[tuple[str | None, str, int, int]]) -> tuple[PageKindCounts, ...]:
    kinds = {word: PageKindCounts(word, 0, 0, 0) for word, *_ in rows}
    for word, state, pages, contacts in rows:
        kind, read = kinds[word], pages if state == PAGE_STATUSES.done else 0
        kinds[word] = PageKindCounts(
            word, kind.pages + pages, kind.read + read, kind.contacts + contacts
        )
    return tuple(sorted(kinds.values(), key=lambda each: (-each.contacts, -each.read, -each.pages)))


async def list_first_pages(session: AsyncSession, domain_id: UUID) -> Sequence[Page]:
    """Return pages that are read for contacts, or the newest pages if there are none."""
    mine = select(Page).where(Page.domain_id == domain_id).limit(MAX_PAGES)
    worth = mine.where(
        Page.priority_level <= MAX_CONTACT_PRIORITY_LEVEL, Page.page_type.is_not(None)
    )
    rows = (await session.scalars(worth.order_by(Page.priority_level))).all()
    return rows or (await session.scalars(mine.order_by(Page.created_at.desc()))).all()


async def list_failed_pages(session: AsyncSession, domain_id: UUID) -> Sequence[UUID]:
    rows = await session.scalars(
        select(Page.id)
        .where(Page.domain_id == domain_id, Page.page_processing_status == PAGE_STATUSES.failed)
        .limit(MAX_RETRIED_PAGES)
    )
    return rows.all()


def build_activity_query(domain_id: UUID) -> Select[bool]:
    """Select whether sitemaps are still to be imported or relevant pages to be read.

    Both checks use small partial indexes.
    """
    pages = select(Page.id).where(
        Page.domain_id == domain_id,
        Page.priority_level <= MAX_CONTACT_PRIORITY_LEVEL,
        Page.page_type.is_not(None),
        Page.page_processing_status.in_([PAGE_STATUSES.queued, PAGE_STATUSES.processing]),
    )
    files = select(SitemapFile.id).where(
        SitemapFile.domain_id == domain_id,
        SitemapFile.sitemap_import_status.in_([IMPORT_STATUSES.queued, IMPORT_STATUSES.processing]),
    )
    return select(or_(pages.exists(), files.exists()))


async def list_first_contacts(
    session: AsyncSession, domain_id: UUID
) -> tuple[Sequence[Contact], int]:
    """Return the contacts with the highest confidence, and the total count."""
    return await _fetch_and_count(
        session,
        select(Contact, func.count().over())
        .where(Contact.domain_id == domain_id)
        .order_by(Contact.kind, Contact.confidence.desc(), Contact.value)
        .limit(MAX_CONTACTS),
    )


async def list_last_jobs(session: AsyncSession, domain_id: UUID) -> tuple[Sequence[Job], int]:
    """Return the newest jobs, and the total count."""
    return await _fetch_and_count(
        session,
        select(Job, func.count().over())
        .where(Job.domain_id == domain_id)
        .order_by(Job.created_at.desc(), Job.id.desc())
        .limit(MAX_JOBS),
    )


async def _fetch_and_count(
    session: AsyncSession, statement: Select[T, int]
) -> tuple[Sequence[T], int]:
    rows = (await session.execute(statement)).all()
    return [each for each, _ in rows], rows[0][1] if rows else 0


def get_change_stamps(domain: Domain, job: Job | None) -> tuple[Any, ...]:
    """Return values that differ whenever something about the site was stored."""
    last = (job.id, job.status, job.progress, job.finished_at) if job else ()
    return (domain.updated_at, domain.status, domain.sitemap_analysis_status, *last)


MAX_FILES = 120
MAX_CHILDREN = 20


@dataclass
class SitemapNode:
    file: SitemapFile
    below: list[SitemapNode] = field(default_factory=list)
    more: int = 0
    """Number of listed files that are not shown."""


@dataclass(frozen=True)
class SitemapTree:
    """The shown files and the total count."""

    roots: list[SitemapNode]
    total: int = 0
    more: int = 0
    """Number of files outside any index that are not shown."""
    imports: dict[str, int] = field(default_factory=dict)
    """Files by import status."""
    failed_imports: tuple[UUID, ...] = ()
    """Failed imports among the shown files."""


async def load_sitemap_tree(session: AsyncSession, domain_id: UUID) -> SitemapTree:
    rows = (await session.execute(_build_files_query(domain_id))).all()
    if not rows:
        return SitemapTree([])
    first: Any = rows[0]
    files = [row[0] for row in rows]
    siblings = {row[0].parent_url: row.siblings for row in rows}
    roots, nodes = _build_tree(files)
    for node in nodes:
        node.more = max(_count_listed(node.file, siblings) - len(node.below), 0)
    counted = {word: getattr(first, f"import_{word.lower()}") for word in IMPORT_STATUSES.all}
    failed = tuple(f.id for f in files if f.sitemap_import_status == IMPORT_STATUSES.failed)
    alone = sum(node.file.parent_url is None for node in roots)
    return SitemapTree(roots, first.total, siblings.get(None, alone) - alone, counted, failed)


def _count_listed(file: SitemapFile, siblings: dict[str | None, int]) -> int:
    """Return how many files an index lists; its own count if none of them is shown."""
    counted = siblings.get(file.url) or siblings.get(file.final_url or "")
    return counted or (file.url_count if file.sitemap_type == SitemapType.INDEX else 0)


def _build_files_query(domain_id: UUID) -> Select[Any]:
    """Select the first files of every index, so that a large index leaves room for the others."""
    order = (SitemapFile.created_at, SitemapFile.id)
    alike = SitemapFile.parent_url
    status = SitemapFile.sitemap_import_status
    imports = [
        func.count().filter(status == word).over().label(f"import_{word.lower()}")
        for word in IMPORT_STATUSES.all
    ]
    placed = (
        select(
            SitemapFile.id,
            func.row_number().over(partition_by=alike, order_by=order).label("place"),
            func.count().over(partition_by=alike).label("siblings"),
            func.count().over().label("total"),
            *imports,
        )
        .where(SitemapFile.domain_id == domain_id)
        .subquery()
    )
    columns = [each for each in placed.c if each.key not in ("id", "place")]
    return (
        select(SitemapFile, *columns)
        .join(placed, placed.c.id == SitemapFile.id)
        .where(placed.c.place <= MAX_CHILDREN)
        .order_by(SitemapFile.depth, *order)
        .limit(MAX_FILES)
    )


def _build_tree(files: Sequence[SitemapFile]) -> tuple[list[SitemapNode], list[SitemapNode]]:
    """Return the roots and all nodes. Parents precede their files, so there are no cycles."""
    roots, nodes, known = list[SitemapNode](), list[SitemapNode](), dict[str, SitemapNode]()
    for file in files:
        node = SitemapNode(file)
        parent = known.get(file.parent_url or "")
        (roots if parent is None else parent.below).append(node)
        nodes.append(node)
        known.setdefault(file.url, node)
        if file.final_url:
            known.setdefault(file.final_url, node)
    return roots, nodes


@dataclass(frozen=True)
class RetryCall:
    """An API call that retries something."""

    path: str
    body: Mapping[str, Any] | None = None
    label: str = "Retry"


@dataclass(frozen=True)
class PipelineStep:
    title: str
    stage: str
    status: str | None
    says: str = ""
    error: str | None = None
    due_at: datetime | None = None
    again: RetryCall | None = None


@dataclass(frozen=True)
class DomainProgress:
    """Input for the pipeline steps."""

    domain: Domain
    job: Job | None
    """The last job."""
    tree: SitemapTree
    pages: PageCounts
    failed_pages: Sequence[UUID] = ()


def build_steps(progress: DomainProgress) -> tuple[PipelineStep, ...]:
    domain = progress.domain
    home = queue_columns(Domain, "status").of(domain)
    handed = queue_columns(Domain, "sitemap_analysis_status").of(domain)
    return (
        _build_home_step(
            domain, build_row_step("Home page", METADATA_STAGE, domain.id, home, METADATA_STATUSES)
        ),
        build_row_step(
            "Queue sitemap scan", SUBMISSION_STAGE, domain.id, handed, SUBMISSION_STATUSES
        ),
        _build_scan_step(progress.job),
        _build_import_step(progress.tree),
        _build_reading_step(progress),
    )


def _build_home_step(domain: Domain, step: PipelineStep) -> PipelineStep:
    """Build the home page step. A missing home page does not count as success."""
    if domain.site_state != SiteState.DEAD or step.status != METADATA_STATUSES.done:
        return step
    return replace(step, status=SiteState.DEAD.value)


def build_row_step(
    title: str, stage: str, row_id: UUID, queue: QueueState, words: StatusNames
) -> PipelineStep:
    failed, waits = queue.status == words.failed, queue.status == words.queued
    return PipelineStep(
        title,
        stage,
        queue.status,
        says=_describe_attempts(queue.attempts) if failed or waits else "",
        error=queue.error,
        due_at=queue.due_at if waits else None,
        again=build_requeue_call(stage, [row_id]) if failed else None,
    )


def _describe_attempts(count: int) -> str:
    return "" if not count else "1 attempt so far" if count == 1 else f"{count} attempts so far"


def build_requeue_call(stage: str, ids: Sequence[UUID], label: str = "Retry") -> RetryCall:
    body = {"ids": [str(each) for each in ids]}
    return RetryCall(f"/stages/{stage}/rows/requeue", body, label)


def _build_scan_step(job: Job | None) -> PipelineStep:
    title = "Find sitemaps"
    if job is None:
        return PipelineStep(title, SITEMAP_STAGE, None, says="No scan yet")
    ended_badly = job.status in (JOB_STATUSES.failed, CANCELLED)
    return PipelineStep(
        title,
        SITEMAP_STAGE,
        job.status,
        says=job.phase or "",
        error=job.error,
        due_at=job.due_at if job.status == JOB_STATUSES.queued else None,
        again=RetryCall(f"/jobs/{job.id}/retry") if ended_badly else None,
    )


def _build_import_step(tree: SitemapTree) -> PipelineStep:
    failed = tree.failed_imports
    return PipelineStep(
        "Import URLs",
        IMPORT_STAGE,
        get_leading_status(tree.imports, IMPORT_STATUSES),
        says=", ".join(describe_counts(tree.imports)) or "No imports yet",
        again=build_requeue_call(IMPORT_STAGE, failed, f"Retry {len(failed)}") if failed else None,
    )


def _build_reading_step(progress: DomainProgress) -> PipelineStep:
    failed = progress.failed_pages
    return PipelineStep(
        "Read pages",
        PAGE_STAGE,
        get_leading_status(progress.pages.statuses, PAGE_STATUSES),
        says=", ".join(describe_counts(progress.pages.statuses)) or "No pages yet",
        again=build_requeue_call(PAGE_STAGE, failed, f"Retry {len(failed)}") if failed else None,
    )


def get_leading_status(counts: Mapping[str, int], words: StatusNames) -> str | None:
    """Summarise many rows as one status: active, else failed, else done."""
    order = (words.processing, words.queued, words.failed, words.done)
    return next((word for word in order if counts.get(word)), None)


def describe_counts(counts: Mapping[str, int]) -> Iterator[str]:
    for word, count in counts.items():
        if count:
            yield f"{count:,} {word.lower()}"
