"""From a business to whom one can write to: each stage with its status and a way to try again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from scrapersky.dashboard.details.domain_parts import PageCounts
from scrapersky.dashboard.details.steps import Step, counted, foremost, of_row, requeue
from scrapersky.models import (
    DEEP_SCAN_WORDS,
    EXTRACTION_WORDS,
    PAGE_WORDS,
    Domain,
    Lead,
    LocalBusiness,
    Place,
)
from scrapersky.models.domains import METADATA_WORDS, SUBMISSION_WORDS
from scrapersky.models.stage_names import (
    DEEP_SCAN_STAGE,
    EXTRACTION_STAGE,
    METADATA_STAGE,
    PAGE_STAGE,
    SUBMISSION_STAGE,
)
from scrapersky.pipeline.queue import queue_columns


def chain_of(
    business: LocalBusiness,
    places: Sequence[Place],
    domain: Domain | None,
    pages: PageCounts | None,
    lead: Lead | None,
) -> tuple[Step, ...]:
    extraction = queue_columns(LocalBusiness, "domain_extraction_status").of(business)
    return (
        _scans(places),
        of_row(
            "Domain of its website", EXTRACTION_STAGE, business.id, extraction, EXTRACTION_WORDS
        ),
        *(_of_site(domain, pages) if domain and pages else ()),
        _lead(lead),
    )


def _scans(places: Sequence[Place]) -> Step:
    words = Counter(each.deep_scan_status for each in places)
    failed = [each.id for each in places if each.deep_scan_status == DEEP_SCAN_WORDS.failed]
    return Step(
        "Details from providers",
        DEEP_SCAN_STAGE,
        foremost(words, DEEP_SCAN_WORDS),
        says=", ".join(counted(words)),
        error=next((each.deep_scan_error for each in places if each.deep_scan_error), None),
        again=requeue(DEEP_SCAN_STAGE, failed) if failed else None,
    )


def _of_site(domain: Domain, pages: PageCounts) -> tuple[Step, ...]:
    home = queue_columns(Domain, "status").of(domain)
    handed = queue_columns(Domain, "sitemap_analysis_status").of(domain)
    return (
        of_row("Home page", METADATA_STAGE, domain.id, home, METADATA_WORDS),
        of_row("Sitemaps", SUBMISSION_STAGE, domain.id, handed, SUBMISSION_WORDS),
        Step(
            "Reading pages for contacts",
            PAGE_STAGE,
            foremost(pages.statuses, PAGE_WORDS),
            says=", ".join(counted(pages.statuses)) or "No page is known yet.",
        ),
    )


def _lead(lead: Lead | None) -> Step:
    if lead is None:
        return Step("Lead", "", None, says="It has none yet.")
    empty = (lead.why_empty or "").replace("_", " ")
    says = f"without a contact: {empty}" if empty else _contacts(lead.contacts)
    return Step("Lead", "", "complete" if lead.completed_at else "so far", says=says)


def _contacts(count: int) -> str:
    return "1 contact" if count == 1 else f"{count:,} contacts"
