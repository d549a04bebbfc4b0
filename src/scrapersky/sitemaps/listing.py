"""Sitemap file list and export: columns, filters and curation."""

from __future__ import annotations

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
    TextFilter,
    build_curation_column,
)
from scrapersky.models import Domain, FileCuration, SitemapFile
from scrapersky.models.sitemaps import IMPORT_STATUSES, FileStatus
from scrapersky.models.stage_names import IMPORT_STAGE
from scrapersky.scraper.sitemaps.events import DiscoveryMethod, SitemapType

SITEMAP_FILES = Listing(
    name="SitemapFile",
    model=SitemapFile,
    columns=(
        Column(Domain.domain, api=False),
        Column(
            SitemapFile.url,
            "URL",
            "Sitemap",
            table=SHOWN,
            example="https://example.com/sitemap.xml",
        ),
        Column(
            SitemapFile.sitemap_type,
            "Type",
            name="type",
            filter=SitemapType,
            table=SHOWN,
            cell=CellKind.WORD,
            example="standard",
        ),
        Column(
            SitemapFile.discovery_method,
            "Found by",
            filter=DiscoveryMethod,
            table=SHOWN,
            cell=CellKind.WORD,
            example="robots_txt",
        ),
        Column(
            SitemapFile.status,
            label="State",
            filter=FileStatus,
            sort=True,
            table=SHOWN,
            example="ok",
        ),
        Column(SitemapFile.reason),
        Column(
            SitemapFile.url_count,
            "URLs",
            sort=True,
            table=SHOWN,
            says="Distinct URLs in this file. For an index, the number of its sitemaps.",
        ),
        Column(SitemapFile.size_bytes, "Bytes", sort=True, table=OPTIONAL),
        Column(SitemapFile.http_status, "HTTP status", filter=True, table=OPTIONAL),
        Column(
            SitemapFile.last_processed_at,
            "Last read",
            "Last scan",
            filter=True,
            sort=True,
            table=SHOWN,
        ),
        Column(SitemapFile.changed_at, "Content changed", says="When its content last changed."),
        Column(
            SitemapFile.sitemap_import_status,
            "Import",
            filter=ChoiceFilter(words=("New", *IMPORT_STATUSES.all)),
            sort=True,
            table=SHOWN,
            example="Complete",
        ),
        build_curation_column(SitemapFile.curation_status, FileCuration),
        Column(SitemapFile.created_at, "Added", filter=True, sort=True, table=OPTIONAL),
    ),
    more=(
        Column(SitemapFile.id),
        Column(SitemapFile.domain_id, filter=(DomainFilter(), True)),
        Column(SitemapFile.job_id, filter=True),
        Column(SitemapFile.final_url, "Final URL"),
        Column(SitemapFile.parent_url, "Listed in"),
        Column(SitemapFile.depth),
        Column(SitemapFile.is_gzipped, "Gzip"),
        Column(SitemapFile.has_lastmod),
        Column(SitemapFile.has_priority),
        Column(SitemapFile.has_changefreq),
        Column(SitemapFile.response_time_ms, "Response time (ms)"),
        Column(SitemapFile.generator),
        Column(SitemapFile.etag, "ETag"),
        Column(SitemapFile.last_modified),
        Column(SitemapFile.content_hash),
        Column(SitemapFile.gone_at, "Gone", says="When a scan no longer found it."),
        Column(SitemapFile.sitemap_import_error, "Import error"),
        Column(SitemapFile.created_by, "Added by"),
        Column(SitemapFile.updated_at, "Changed"),
    ),
    filters=(
        TextFilter(
            "error",
            columns=(SitemapFile.reason, SitemapFile.sitemap_import_error),
            says="Part of the reason it was not read, or of its import error.",
        ),
        TextFilter("search", SitemapFile.url, says="Part of the URL."),
    ),
)

CURATION = Curation(
    SITEMAP_FILES,
    SitemapFile.curation_status,
    FileCuration,
    CurationQueue(stage=IMPORT_STAGE, status="sitemap_import_status", words=IMPORT_STATUSES),
)

EXPORT = Export(
    SITEMAP_FILES, "sitemap-files", beside=((Domain, Domain.id == SitemapFile.domain_id),)
)
