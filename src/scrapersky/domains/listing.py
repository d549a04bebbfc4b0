"""Domain list and export: columns, filters and curation."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.lists import (
    OPTIONAL,
    SHOWN,
    CellKind,
    ChoiceFilter,
    Column,
    Curation,
    CurationQueue,
    DomainFilter,
    Export,
    Listing,
    PresenceFilter,
    TextFilter,
    build_curation_column,
)
from scrapersky.models import BulkActionRows, Domain, DomainCuration
from scrapersky.models.domains import (
    FORCE_SCAN_HINT,
    MAX_COUNTED_URLS,
    METADATA_NOT_QUEUED,
    METADATA_STATUSES,
    SUBMISSION_STATUSES,
    was_scanned_recently,
)
from scrapersky.models.stage_names import SUBMISSION_STAGE
from scrapersky.scraper.site.model import SiteState

ANALYSIS_STATUSES = ("pending", *SUBMISSION_STATUSES.all)

# Contact values are no columns on purpose: only the contact and lead exports check suppressions.

DOMAINS = Listing(
    name="Domain",
    model=Domain,
    columns=(
        Column(Domain.domain, sort=True, table=SHOWN, example="example.com"),
        Column(
            Domain.base_url,
            "URL",
            "Link",
            table=OPTIONAL,
            cell=CellKind.LINK,
            example="https://www.example.com",
        ),
        Column(Domain.title, table=SHOWN),
        Column(Domain.description),
        Column(Domain.language, filter=True, table=OPTIONAL, example="de"),
        Column(
            Domain.status,
            label="Home page",
            filter=ChoiceFilter(words=(METADATA_NOT_QUEUED, *METADATA_STATUSES.all)),
            sort=True,
            table=SHOWN,
            says="Status of reading the home page.",
            example="completed",
        ),
        Column(
            Domain.site_state,
            label="Site",
            filter=SiteState,
            sort=True,
            table=SHOWN,
            says="State of the home page. Null until it has been read.",
            example="ok",
        ),
        Column(Domain.site_state_reason, "State reason"),
        Column(Domain.redirects_to, says="The other site that the home page redirects to."),
        Column(Domain.cms, "CMS", filter=True, table=OPTIONAL, example="WordPress"),
        Column(Domain.shop_system, label="Shop", filter=True, table=OPTIONAL),
        Column(Domain.site_builder, filter=True),
        Column(Domain.has_contact_form, label="Contact form", filter=True, table=OPTIONAL),
        Column(Domain.social_links, "Profiles"),
        Column(Domain.total_sitemaps, "Sitemaps", "Sitemaps found", sort=True, table=OPTIONAL),
        Column(
            Domain.sitemap_urls,
            "URLs in sitemaps",
            "URLs",
            sort=True,
            table=SHOWN,
            says="Distinct URLs across all sitemaps of the domain. A number above "
            f"{MAX_COUNTED_URLS:,} is an upper bound: the sum of the sitemaps' URL counts.",
        ),
        Column(Domain.last_scan, filter=True, sort=True, table=OPTIONAL),
        build_curation_column(Domain.sitemap_curation_status, DomainCuration),
        Column(Domain.created_at, "Added", filter=True, sort=True, table=OPTIONAL),
    ),
    more=(
        Column(Domain.id),
        Column(Domain.favicon_url, "Favicon"),
        Column(Domain.logo_url, "Logo"),
        Column(Domain.cms_version, "CMS version"),
        Column(Domain.is_wordpress, "WordPress", filter=True),
        Column(Domain.wordpress_version, "WordPress version"),
        Column(Domain.has_elementor, "Elementor", filter=True),
        Column(Domain.error),
        Column(Domain.metadata_read_at, "Home page read", filter=True, sort=True),
        Column(
            Domain.sitemap_analysis_status,
            "Submission",
            "Sitemaps",
            filter=ChoiceFilter(words=ANALYSIS_STATUSES),
            sort=True,
            table=SHOWN,
            example="submitted",
        ),
        Column(Domain.sitemap_analysis_error, "Submission error"),
        Column(Domain.next_scan_at, "Next scan", filter=True, sort=True, table=SHOWN),
        Column(
            Domain.next_scan_why,
            "Next scan reason",
            example="Next scan in 3.5 days because the last scan found changes (2 new, 0 changed).",
        ),
        Column(Domain.scan_warning, "Warning", filter=PresenceFilter("has_warning")),
        Column(Domain.scan_failures, sort=True),
        Column(Domain.last_scan_error),
        Column(Domain.last_sitemap_job_id, "Last job"),
        Column(Domain.created_by, "Added by", filter=True),
        Column(Domain.updated_at, "Changed"),
    ),
    filters=(
        DomainFilter(column=Domain.id),
        ChoiceFilter("domain_id", Domain.id),
        TextFilter(
            "error",
            columns=(Domain.error, Domain.sitemap_analysis_error, Domain.last_scan_error),
            says="Part of an error message: metadata, sitemap submission or last scan.",
        ),
        TextFilter(
            "text",
            columns=(Domain.title, Domain.description),
            says="Part of the title or description.",
        ),
        TextFilter("search", Domain.domain, says="Part of the domain name."),
    ),
)

EXPORT = Export(DOMAINS, "domains")


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
        stage=SUBMISSION_STAGE, status="sitemap_analysis_status", words=SUBMISSION_STATUSES
    ),
    remark=describe_recent_scans,
)
