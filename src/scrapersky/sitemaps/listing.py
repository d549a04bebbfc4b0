"""Filters, sorting, curation and export columns of sitemap files."""

from __future__ import annotations

from scrapersky.lists import (
    ChoiceFilter,
    Curation,
    CurationQueue,
    DateRangeFilter,
    DomainFilter,
    Export,
    Listing,
    TextFilter,
    export_field,
)
from scrapersky.models import Domain, FileCuration, SitemapFile
from scrapersky.models.sitemaps import IMPORT_STATUSES, FileStatus
from scrapersky.models.stage_names import IMPORT_STAGE
from scrapersky.scraper.sitemaps.events import DiscoveryMethod, SitemapType

SITEMAP_FILES = Listing(
    name="SitemapFile",
    model=SitemapFile,
    filters=(
        ChoiceFilter("status", SitemapFile.status, words=tuple(each.value for each in FileStatus)),
        ChoiceFilter(
            "sitemap_import_status",
            SitemapFile.sitemap_import_status,
            words=("New", *IMPORT_STATUSES.all),
        ),
        ChoiceFilter(
            "curation_status",
            SitemapFile.curation_status,
            words=tuple(each.value for each in FileCuration),
        ),
        ChoiceFilter("http_status", SitemapFile.http_status),
        ChoiceFilter(
            "type", SitemapFile.sitemap_type, words=tuple(each.value for each in SitemapType)
        ),
        ChoiceFilter(
            "discovery_method",
            SitemapFile.discovery_method,
            words=tuple(each.value for each in DiscoveryMethod),
        ),
        DomainFilter(SitemapFile.domain_id),
        ChoiceFilter("domain_id", SitemapFile.domain_id),
        ChoiceFilter("job_id", SitemapFile.job_id),
        DateRangeFilter("created", SitemapFile.created_at),
        DateRangeFilter("last_processed", SitemapFile.last_processed_at),
        TextFilter(
            "error",
            (SitemapFile.reason, SitemapFile.sitemap_import_error),
            says="Part of the reason it was not read, or of its import error.",
        ),
        TextFilter("search", (SitemapFile.url,), says="Part of the URL."),
    ),
    sorts={
        "created_at": SitemapFile.created_at,
        "last_processed_at": SitemapFile.last_processed_at,
        "status": SitemapFile.status,
        "sitemap_import_status": SitemapFile.sitemap_import_status,
        "url_count": SitemapFile.url_count,
        "size_bytes": SitemapFile.size_bytes,
    },
)

CURATION = Curation(
    SITEMAP_FILES,
    SitemapFile.curation_status,
    FileCuration,
    CurationQueue(stage=IMPORT_STAGE, status="sitemap_import_status", words=IMPORT_STATUSES),
)


EXPORT = Export(
    listing=SITEMAP_FILES,
    rows="sitemap-files",
    usual=(
        export_field("domain", Domain.domain),
        export_field("url", SitemapFile.url, "URL"),
        export_field("type", SitemapFile.sitemap_type),
        export_field("discovery_method", SitemapFile.discovery_method, "Found by"),
        export_field("status", SitemapFile.status),
        export_field("reason", SitemapFile.reason),
        export_field("url_count", SitemapFile.url_count, "URLs"),
        export_field("size_bytes", SitemapFile.size_bytes, "Bytes"),
        export_field("http_status", SitemapFile.http_status, "HTTP status"),
        export_field("last_processed_at", SitemapFile.last_processed_at, "Last read"),
        export_field("changed_at", SitemapFile.changed_at, "Content changed"),
        export_field("sitemap_import_status", SitemapFile.sitemap_import_status, "Import"),
        export_field("curation_status", SitemapFile.curation_status, "Curation"),
        export_field("created_at", SitemapFile.created_at, "Added"),
    ),
    more=(
        export_field("id", SitemapFile.id),
        export_field("domain_id", SitemapFile.domain_id),
        export_field("job_id", SitemapFile.job_id),
        export_field("final_url", SitemapFile.final_url, "Final URL"),
        export_field("parent_url", SitemapFile.parent_url, "Listed in"),
        export_field("depth", SitemapFile.depth),
        export_field("is_gzipped", SitemapFile.is_gzipped, "Gzip"),
        export_field("has_lastmod", SitemapFile.has_lastmod),
        export_field("has_priority", SitemapFile.has_priority),
        export_field("has_changefreq", SitemapFile.has_changefreq),
        export_field("response_time_ms", SitemapFile.response_time_ms, "Response time (ms)"),
        export_field("generator", SitemapFile.generator),
        export_field("etag", SitemapFile.etag, "ETag"),
        export_field("last_modified", SitemapFile.last_modified),
        export_field("content_hash", SitemapFile.content_hash),
        export_field("gone_at", SitemapFile.gone_at, "Gone"),
        export_field("sitemap_import_error", SitemapFile.sitemap_import_error, "Import error"),
        export_field("created_by", SitemapFile.created_by, "Added by"),
        export_field("updated_at", SitemapFile.updated_at, "Changed"),
    ),
    beside=((Domain, Domain.id == SitemapFile.domain_id),),
)
