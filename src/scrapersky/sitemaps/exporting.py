"""Sitemap files as a file: one line per sitemap."""

from __future__ import annotations

from scrapersky.http.lists import Export, field
from scrapersky.models import Domain, SitemapFile
from scrapersky.sitemaps.listing import SITEMAP_FILES

EXPORT = Export(
    listing=SITEMAP_FILES,
    rows="sitemap-files",
    usual=(
        field("domain", Domain.domain),
        field("url", SitemapFile.url, "URL"),
        field("type", SitemapFile.sitemap_type),
        field("discovery_method", SitemapFile.discovery_method, "Found by"),
        field("status", SitemapFile.status),
        field("reason", SitemapFile.reason),
        field("url_count", SitemapFile.url_count, "URLs"),
        field("size_bytes", SitemapFile.size_bytes, "Bytes"),
        field("http_status", SitemapFile.http_status, "HTTP status"),
        field("last_processed_at", SitemapFile.last_processed_at, "Last look"),
        field("changed_at", SitemapFile.changed_at, "Content changed"),
        field("sitemap_import_status", SitemapFile.sitemap_import_status, "Import"),
        field("curation_status", SitemapFile.curation_status, "Curation"),
        field("created_at", SitemapFile.created_at, "Added"),
    ),
    more=(
        field("id", SitemapFile.id),
        field("domain_id", SitemapFile.domain_id),
        field("job_id", SitemapFile.job_id),
        field("final_url", SitemapFile.final_url, "Answered by"),
        field("parent_url", SitemapFile.parent_url, "Listed in"),
        field("depth", SitemapFile.depth),
        field("is_gzipped", SitemapFile.is_gzipped, "Gzip"),
        field("has_lastmod", SitemapFile.has_lastmod),
        field("has_priority", SitemapFile.has_priority),
        field("has_changefreq", SitemapFile.has_changefreq),
        field("response_time_ms", SitemapFile.response_time_ms, "Response time (ms)"),
        field("generator", SitemapFile.generator),
        field("etag", SitemapFile.etag, "ETag"),
        field("last_modified", SitemapFile.last_modified),
        field("content_hash", SitemapFile.content_hash),
        field("gone_at", SitemapFile.gone_at, "Gone"),
        field("sitemap_import_error", SitemapFile.sitemap_import_error, "Import's error"),
        field("created_by", SitemapFile.created_by, "Added by"),
        field("updated_at", SitemapFile.updated_at, "Changed"),
    ),
    beside=((Domain, Domain.id == SitemapFile.domain_id),),
)
