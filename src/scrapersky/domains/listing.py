"""Domain list and export: filters, sort keys, columns and curation."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.lists import (
    BooleanFilter,
    ChoiceFilter,
    Curation,
    CurationQueue,
    DateRangeFilter,
    DomainFilter,
    Export,
    Listing,
    PresenceFilter,
    TextFilter,
    export_field,
)
from scrapersky.models import BulkActionRows, Domain, DomainCuration
from scrapersky.models.domains import (
    FORCE_SCAN_HINT,
    METADATA_NOT_QUEUED,
    METADATA_STATUSES,
    SUBMISSION_STATUSES,
    was_scanned_recently,
)
from scrapersky.models.stage_names import SUBMISSION_STAGE
from scrapersky.scraper.site.model import SiteState

ANALYSIS_STATUSES = ("pending", *SUBMISSION_STATUSES.all)

DOMAINS = Listing(
    name="Domain",
    model=Domain,
    filters=(
        ChoiceFilter("status", Domain.status, words=(METADATA_NOT_QUEUED, *METADATA_STATUSES.all)),
        ChoiceFilter(
            "sitemap_analysis_status", Domain.sitemap_analysis_status, words=ANALYSIS_STATUSES
        ),
        ChoiceFilter(
            "sitemap_curation_status",
            Domain.sitemap_curation_status,
            words=tuple(each.value for each in DomainCuration),
        ),
        ChoiceFilter(
            "site_state", Domain.site_state, words=tuple(each.value for each in SiteState)
        ),
        ChoiceFilter("cms", Domain.cms),
        ChoiceFilter("site_builder", Domain.site_builder),
        ChoiceFilter("shop_system", Domain.shop_system),
        ChoiceFilter("language", Domain.language),
        BooleanFilter("is_wordpress", Domain.is_wordpress),
        BooleanFilter("has_elementor", Domain.has_elementor),
        BooleanFilter("has_contact_form", Domain.has_contact_form),
        DomainFilter(Domain.id),
        ChoiceFilter("domain_id", Domain.id),
        ChoiceFilter("created_by", Domain.created_by),
        DateRangeFilter("created", Domain.created_at),
        DateRangeFilter("last_scan", Domain.last_scan),
        DateRangeFilter("next_scan", Domain.next_scan_at),
        DateRangeFilter("metadata_read", Domain.metadata_read_at),
        PresenceFilter("has_warning", Domain.scan_warning),
        TextFilter(
            "error",
            (Domain.error, Domain.sitemap_analysis_error, Domain.last_scan_error),
            says="Part of an error message: metadata, sitemap submission or last scan.",
        ),
        TextFilter(
            "text", (Domain.title, Domain.description), says="Part of the title or description."
        ),
        TextFilter("search", (Domain.domain,), says="Part of the domain name."),
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


async def describe_recent_scans(session: AsyncSession, action_id: UUID) -> str | None:
    """Return how many selected domains get no new scan and how to force one, or None if all do."""
    rows = select(func.unnest(BulkActionRows.row_ids)).where(BulkActionRows.action_id == action_id)
    counted = select(func.count()).where(Domain.id.in_(rows), was_scanned_recently())
    count = await session.scalar(counted) or 0
    if not count:
        return None
    which = "1 domain was" if count == 1 else f"{count:,} domains were"
    return f"No new scan: {which} scanned within the rescan interval. {FORCE_SCAN_HINT}"


CURATION = Curation(
    DOMAINS,
    Domain.sitemap_curation_status,
    DomainCuration,
    CurationQueue(
        stage=SUBMISSION_STAGE,
        status="sitemap_analysis_status",
        words=SUBMISSION_STATUSES,
    ),
    remark=describe_recent_scans,
)


# Contact values are left out on purpose: only the contact and lead exports check suppressions.

EXPORT = Export(
    listing=DOMAINS,
    rows="domains",
    usual=(
        export_field("domain", Domain.domain),
        export_field("base_url", Domain.base_url, "URL"),
        export_field("title", Domain.title),
        export_field("description", Domain.description),
        export_field("language", Domain.language),
        export_field("status", Domain.status),
        export_field("site_state", Domain.site_state),
        export_field("site_state_reason", Domain.site_state_reason, "State reason"),
        export_field("redirects_to", Domain.redirects_to),
        export_field("cms", Domain.cms, "CMS"),
        export_field("shop_system", Domain.shop_system),
        export_field("site_builder", Domain.site_builder),
        export_field("has_contact_form", Domain.has_contact_form),
        export_field("social_links", Domain.social_links, "Profiles"),
        export_field("total_sitemaps", Domain.total_sitemaps, "Sitemaps"),
        export_field("sitemap_urls", Domain.sitemap_urls, "URLs in sitemaps"),
        export_field("last_scan", Domain.last_scan),
        export_field("sitemap_curation_status", Domain.sitemap_curation_status, "Curation"),
        export_field("created_at", Domain.created_at, "Added"),
    ),
    more=(
        export_field("id", Domain.id),
        export_field("favicon_url", Domain.favicon_url, "Favicon"),
        export_field("logo_url", Domain.logo_url, "Logo"),
        export_field("cms_version", Domain.cms_version, "CMS version"),
        export_field("is_wordpress", Domain.is_wordpress, "WordPress"),
        export_field("wordpress_version", Domain.wordpress_version, "WordPress version"),
        export_field("has_elementor", Domain.has_elementor, "Elementor"),
        export_field("error", Domain.error),
        export_field("metadata_read_at", Domain.metadata_read_at, "Home page read"),
        export_field("sitemap_analysis_status", Domain.sitemap_analysis_status, "Submission"),
        export_field("sitemap_analysis_error", Domain.sitemap_analysis_error, "Submission error"),
        export_field("next_scan_at", Domain.next_scan_at, "Next scan"),
        export_field("next_scan_why", Domain.next_scan_why, "Next scan reason"),
        export_field("scan_warning", Domain.scan_warning, "Warning"),
        export_field("scan_failures", Domain.scan_failures),
        export_field("last_scan_error", Domain.last_scan_error),
        export_field("last_sitemap_job_id", Domain.last_sitemap_job_id, "Last job"),
        export_field("created_by", Domain.created_by, "Added by"),
        export_field("updated_at", Domain.updated_at, "Changed"),
    ),
)
