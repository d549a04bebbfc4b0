"""How far a domain has come: each stage with its status, its error and a way to try again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from scrapersky.dashboard.details.domain_parts import PageCounts
from scrapersky.dashboard.details.tree import SitemapTree
from scrapersky.models import JOB_WORDS, PAGE_WORDS, Domain, Job
from scrapersky.models.domains import METADATA_WORDS, SUBMISSION_WORDS
from scrapersky.models.jobs import CANCELLED
from scrapersky.models.sitemaps import IMPORT_WORDS
from scrapersky.models.stage_names import (
    IMPORT_STAGE,
    METADATA_STAGE,
    PAGE_STAGE,
    SITEMAP_STAGE,
    SUBMISSION_STAGE,
)
from scrapersky.pipeline.queue import QueueState, Words, queue_columns
from scrapersky.scraper.site_metadata.model import SiteState


@dataclass(frozen=True)
class Again:
    """A call of the API that has something tried again."""

    path: str
    body: Mapping[str, Any] | None = None
    label: str = "Try again"


@dataclass(frozen=True)
class Step:
    title: str
    stage: str
    status: str | None
    says: str = ""
    error: str | None = None
    due_at: datetime | None = None
    again: Again | None = None


@dataclass(frozen=True)
class Progress:
    """What the steps are told from."""

    domain: Domain
    job: Job | None
    """The last one."""
    tree: SitemapTree
    pages: PageCounts
    failed_pages: Sequence[UUID] = ()


def steps_of(progress: Progress) -> tuple[Step, ...]:
    domain = progress.domain
    home = queue_columns(Domain, "status").of(domain)
    handed = queue_columns(Domain, "sitemap_analysis_status").of(domain)
    return (
        _home(domain, of_row("Home page", METADATA_STAGE, domain.id, home, METADATA_WORDS)),
        of_row("Asking for a scan", SUBMISSION_STAGE, domain.id, handed, SUBMISSION_WORDS),
        _scan(progress.job),
        _imports(progress.tree),
        _reading(progress),
    )


def _home(domain: Domain, step: Step) -> Step:
    """That a home page was looked for and is not there is no success."""
    if domain.site_state != SiteState.DEAD or step.status != METADATA_WORDS.done:
        return step
    return replace(step, status=SiteState.DEAD.value)


def of_row(title: str, stage: str, row_id: UUID, queue: QueueState, words: Words) -> Step:
    failed, waits = queue.status == words.failed, queue.status == words.queued
    return Step(
        title,
        stage,
        queue.status,
        says=_attempts(queue.attempts) if failed or waits else "",
        error=queue.error,
        due_at=queue.due_at if waits else None,
        again=requeue(stage, [row_id]) if failed else None,
    )


def _attempts(count: int) -> str:
    return "" if not count else "1 attempt so far" if count == 1 else f"{count} attempts so far"


def requeue(stage: str, ids: Sequence[UUID], label: str = "Try again") -> Again:
    body = {"ids": [str(each) for each in ids]}
    return Again(f"/stages/{stage}/rows/requeue", body, label)


def _scan(job: Job | None) -> Step:
    title = "Finding and reading sitemaps"
    if job is None:
        return Step(title, SITEMAP_STAGE, None, says="No scan was asked for yet.")
    ended_badly = job.status in (JOB_WORDS.failed, CANCELLED)
    return Step(
        title,
        SITEMAP_STAGE,
        job.status,
        says=job.phase or "",
        error=job.error,
        due_at=job.due_at if job.status == JOB_WORDS.queued else None,
        again=Again(f"/jobs/{job.id}/retry") if ended_badly else None,
    )


def _imports(tree: SitemapTree) -> Step:
    failed = tree.failed_imports
    return Step(
        "Turning URLs into pages",
        IMPORT_STAGE,
        foremost(tree.imports, IMPORT_WORDS),
        says=", ".join(counted(tree.imports)) or "No sitemap was imported yet.",
        again=requeue(IMPORT_STAGE, failed, f"Try {len(failed)} again") if failed else None,
    )


def _reading(progress: Progress) -> Step:
    failed = progress.failed_pages
    return Step(
        "Reading pages for contacts",
        PAGE_STAGE,
        foremost(progress.pages.statuses, PAGE_WORDS),
        says=", ".join(counted(progress.pages.statuses)) or "No page is known yet.",
        again=requeue(PAGE_STAGE, failed, f"Try {len(failed)} again") if failed else None,
    )


def foremost(counts: Mapping[str, int], words: Words) -> str | None:
    """Of many rows: what is going on, or what went wrong, or that it is done."""
    order = (words.processing, words.queued, words.failed, words.done)
    return next((word for word in order if counts.get(word)), None)


def counted(counts: Mapping[str, int]) -> Iterator[str]:
    for word, count in counts.items():
        if count:
            yield f"{count:,} {word.lower()}"
