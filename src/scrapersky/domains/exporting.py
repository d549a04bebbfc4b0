"""Domains as a file: one line per site.

Addresses and numbers are not in it: who may be written to is looked up with contacts and leads.
"""

from __future__ import annotations

from scrapersky.domains.listing import DOMAINS
from scrapersky.http.lists import Export, field
from scrapersky.models import Domain

EXPORT = Export(
    listing=DOMAINS,
    rows="domains",
    usual=(
        field("domain", Domain.domain),
        field("base_url", Domain.base_url, "Address"),
        field("title", Domain.title),
        field("description", Domain.description),
        field("language", Domain.language),
        field("status", Domain.status),
        field("site_state", Domain.site_state),
        field("site_state_reason", Domain.site_state_reason, "Why that state"),
        field("redirects_to", Domain.redirects_to),
        field("cms", Domain.cms, "CMS"),
        field("shop_system", Domain.shop_system),
        field("site_builder", Domain.site_builder),
        field("has_contact_form", Domain.has_contact_form),
        field("social_links", Domain.social_links, "Profiles"),
        field("total_sitemaps", Domain.total_sitemaps, "Sitemaps"),
        field("sitemap_urls", Domain.sitemap_urls, "URLs in sitemaps"),
        field("last_scan", Domain.last_scan),
        field("sitemap_curation_status", Domain.sitemap_curation_status, "Curation"),
        field("created_at", Domain.created_at, "Added"),
    ),
    more=(
        field("id", Domain.id),
        field("favicon_url", Domain.favicon_url, "Favicon"),
        field("logo_url", Domain.logo_url, "Logo"),
        field("cms_version", Domain.cms_version, "CMS version"),
        field("is_wordpress", Domain.is_wordpress, "WordPress"),
        field("wordpress_version", Domain.wordpress_version, "WordPress version"),
        field("has_elementor", Domain.has_elementor, "Elementor"),
        field("error", Domain.error),
        field("metadata_read_at", Domain.metadata_read_at, "Home page read"),
        field("sitemap_analysis_status", Domain.sitemap_analysis_status, "Submission"),
        field("sitemap_analysis_error", Domain.sitemap_analysis_error, "Submission's error"),
        field("next_scan_at", Domain.next_scan_at, "Next scan"),
        field("next_scan_why", Domain.next_scan_why, "Why then"),
        field("scan_warning", Domain.scan_warning, "Warning"),
        field("scan_failures", Domain.scan_failures),
        field("last_scan_error", Domain.last_scan_error),
        field("last_sitemap_job_id", Domain.last_sitemap_job_id, "Last job"),
        field("created_by", Domain.created_by, "Added by"),
        field("updated_at", Domain.updated_at, "Changed"),
    ),
)
