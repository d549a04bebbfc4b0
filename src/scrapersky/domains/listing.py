"""The list of domains: how it can be narrowed and sorted."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.http.lists import (
    Contains,
    Curation,
    Has,
    Is,
    Listing,
    OfDomain,
    OneOf,
    Queues,
    When,
)
from scrapersky.models import BulkActionRows, Domain, DomainCuration, SiteState
from scrapersky.models.domains import (
    HOW_TO_FORCE_A_SCAN,
    METADATA_WORDS,
    NOT_ASKED,
    SUBMISSION_WORDS,
    was_scanned_recently,
)
from scrapersky.models.stage_names import SUBMISSION_STAGE

ANALYSIS = ("pending", *SUBMISSION_WORDS.all)

DOMAINS = Listing(
    name="Domain",
    model=Domain,
    filters=(
        OneOf("status", Domain.status, words=(NOT_ASKED, *METADATA_WORDS.all)),
        OneOf("sitemap_analysis_status", Domain.sitemap_analysis_status, words=ANALYSIS),
        OneOf(
            "sitemap_curation_status",
            Domain.sitemap_curation_status,
            words=tuple(each.value for each in DomainCuration),
        ),
        OneOf("site_state", Domain.site_state, words=tuple(each.value for each in SiteState)),
        OneOf("cms", Domain.cms),
        OneOf("site_builder", Domain.site_builder),
        OneOf("shop_system", Domain.shop_system),
        OneOf("language", Domain.language),
        Is("is_wordpress", Domain.is_wordpress),
        Is("has_elementor", Domain.has_elementor),
        Is("has_contact_form", Domain.has_contact_form),
        OfDomain(Domain.id),
        OneOf("domain_id", Domain.id),
        OneOf("created_by", Domain.created_by),
        When("created", Domain.created_at),
        When("last_scan", Domain.last_scan),
        When("next_scan", Domain.next_scan_at),
        When("metadata_read", Domain.metadata_read_at),
        Has("has_warning", Domain.scan_warning),
        Contains(
            "error",
            (Domain.error, Domain.sitemap_analysis_error, Domain.last_scan_error),
            says="In the error of its metadata, of its submission or of its last scan.",
        ),
        Contains("text", (Domain.title, Domain.description), says="In its title or description."),
        Contains("search", (Domain.domain,), says="Part of the name."),
    ),
    sorts={
        "created_at": Domain.created_at,
        "domain": Domain.domain,
        "status": Domain.status,
        "site_state": Domain.site_state,
        "metadata_read_at": Domain.metadata_read_at,
        "sitemap_analysis_status": Domain.sitemap_analysis_status,
        "last_scan": Domain.last_scan,
        "next_scan_at": Domain.next_scan_at,
        "scan_failures": Domain.scan_failures,
        "total_sitemaps": Domain.total_sitemaps,
        "sitemap_urls": Domain.sitemap_urls,
    },
)


async def tell_of_recent_scans(session: AsyncSession, action_id: UUID) -> str | None:
    """Say of how many selected domains no new scan is made, and how to force one."""
    rows = select(func.unnest(BulkActionRows.row_ids)).where(BulkActionRows.action_id == action_id)
    counted = select(func.count()).where(Domain.id.in_(rows), was_scanned_recently())
    count = await session.scalar(counted) or 0
    if not count:
        return None
    which = "1 domain was" if count == 1 else f"{count:,} domains were"
    return f"No new scan: {which} scanned within the rescan interval. {HOW_TO_FORCE_A_SCAN}"


CURATION = Curation(
    DOMAINS,
    Domain.sitemap_curation_status,
    DomainCuration,
    Queues(
        stage=SUBMISSION_STAGE,
        status="sitemap_analysis_status",
        words=SUBMISSION_WORDS,
    ),
    remark=tell_of_recent_scans,
)
