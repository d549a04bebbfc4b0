"""The list of sitemap files: how it can be narrowed and sorted."""

from __future__ import annotations

from scrapersky.http.lists import Contains, Curation, Listing, OfDomain, OneOf, Queues, When
from scrapersky.models import FileCuration, SitemapFile
from scrapersky.models.sitemaps import IMPORT_WORDS, FileStatus
from scrapersky.models.stage_names import IMPORT_STAGE
from scrapersky.scraper.events import Method, SitemapType

SITEMAP_FILES = Listing(
    name="SitemapFile",
    model=SitemapFile,
    filters=(
        OneOf("status", SitemapFile.status, words=tuple(each.value for each in FileStatus)),
        OneOf(
            "sitemap_import_status",
            SitemapFile.sitemap_import_status,
            words=("New", *IMPORT_WORDS.all),
        ),
        OneOf(
            "curation_status",
            SitemapFile.curation_status,
            words=tuple(each.value for each in FileCuration),
        ),
        OneOf("http_status", SitemapFile.http_status),
        OneOf("type", SitemapFile.sitemap_type, words=tuple(each.value for each in SitemapType)),
        OneOf(
            "discovery_method",
            SitemapFile.discovery_method,
            words=tuple(each.value for each in Method),
        ),
        OfDomain(SitemapFile.domain_id),
        OneOf("domain_id", SitemapFile.domain_id),
        OneOf("job_id", SitemapFile.job_id),
        When("created", SitemapFile.created_at),
        When("last_processed", SitemapFile.last_processed_at),
        Contains(
            "error",
            (SitemapFile.reason, SitemapFile.sitemap_import_error),
            says="In why it was not read, or in the error of its import.",
        ),
        Contains("search", (SitemapFile.url,), says="Part of the address."),
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
    Queues(stage=IMPORT_STAGE, status="sitemap_import_status", words=IMPORT_WORDS),
)
