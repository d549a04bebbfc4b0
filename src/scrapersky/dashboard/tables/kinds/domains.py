"""Domains: the sites we know."""

from __future__ import annotations

from markupsafe import Markup

from scrapersky.dashboard.tables import cells
from scrapersky.dashboard.tables.table import Act, Column, Nothing, Row, Table
from scrapersky.dashboard.wording import badge
from scrapersky.domains.exporting import EXPORT
from scrapersky.domains.listing import CURATION
from scrapersky.domains.listing import DOMAINS as LISTING
from scrapersky.models.domains import METADATA_WORDS, SUBMISSION_WORDS
from scrapersky.models.stage_names import METADATA_STAGE, SUBMISSION_STAGE
from scrapersky.scraper.site_metadata.model import SiteState

READ_AGAIN = f"/stages/{METADATA_STAGE}/rows/requeue"
LOOK_AGAIN = f"/stages/{SUBMISSION_STAGE}/rows/requeue"
_home_page = cells.stage("status", "error", failed=METADATA_WORDS.failed, retry=READ_AGAIN)
_submission = cells.stage(
    "sitemap_analysis_status",
    "sitemap_analysis_error",
    failed=SUBMISSION_WORDS.failed,
    retry=LOOK_AGAIN,
)


def _home_page_of_site(row: Row, may_change: bool) -> Markup:
    """That a home page was looked for and is not there is no success."""
    if row.site_state == SiteState.DEAD and row.status == METADATA_WORDS.done:
        return badge(row.status, "plain")
    return _home_page(row, may_change)


def _sitemaps(row: Row, may_change: bool) -> Markup:
    """With what went wrong at the last look, or seems wrong."""
    return _submission(row, may_change) + cells.below(row.last_scan_error or row.scan_warning)


def _state(row: Row, _: bool) -> Markup:
    return badge(row.site_state) + cells.below(row.site_state_reason)


def _title(row: Row, _: bool) -> Markup:
    return cells.brief(row.title) + cells.below(row.description)


DOMAINS = Table(
    kind="domains",
    title="Domains",
    noun="domain",
    says="The sites you handed in and what each turned out to be.",
    listing=LISTING,
    curation=CURATION,
    export=EXPORT,
    hands_in="domains",
    segments="sitemap_curation_status",
    acts=(
        Act("Retry home page", READ_AGAIN, "queued again", key="r", by_filter=False),
        Act("Retry sitemaps", LOOK_AGAIN, "queued again", by_filter=False),
    ),
    labels={
        "sitemap_curation_status": "Decision",
        "status": "Home page",
        "sitemap_analysis_status": "Sitemaps",
        "cms": "CMS",
        "is_wordpress": "Runs WordPress",
        "has_elementor": "Runs Elementor",
        "has_contact_form": "Has a contact form",
        "domain": "Site",
        "created": "Added",
        "last_scan": "Last look",
        "next_scan": "Next look",
        "metadata_read": "Home page read",
        "has_warning": "Has a warning",
        "text": "Title or description",
    },
    columns=(
        Column("domain", "Domain", cells.opens("domains", cells.value("domain")), sort="domain"),
        Column("title", "Title", _title),
        Column("sitemap_curation_status", "Decision", cells.badge("sitemap_curation_status")),
        Column("site_state", "Site", _state, sort="site_state"),
        Column("status", "Home page", _home_page_of_site, sort="status"),
        Column("sitemap_analysis_status", "Sitemaps", _sitemaps, sort="sitemap_analysis_status"),
        Column(
            "sitemap_urls", "URLs", cells.url_total("sitemap_urls"), "sitemap_urls", number=True
        ),
        Column("next_scan_at", "Next look", cells.moment("next_scan_at"), sort="next_scan_at"),
        Column("language", "Language", cells.text("language"), usual=False),
        Column("cms", "CMS", cells.text("cms", 30), usual=False),
        Column("shop_system", "Shop", cells.text("shop_system", 30), usual=False),
        Column("form", "Contact form", cells.yes_or_no("has_contact_form"), usual=False),
        Column(
            "total_sitemaps",
            "Sitemaps found",
            cells.number("total_sitemaps"),
            sort="total_sitemaps",
            number=True,
            usual=False,
        ),
        Column("link", "On the web", cells.site("base_url"), usual=False),
        Column("last_scan", "Last look", cells.moment("last_scan"), "last_scan", usual=False),
        Column("created_at", "Added", cells.moment("created_at"), "created_at", usual=False),
    ),
    nothing=Nothing(
        "Begin here: hand in a list of domains. Their home pages are read, their sitemaps found, "
        "and what they publish becomes contacts and leads.",
        "/import?kind=domains",
        "Hand in domains",
    ),
)
