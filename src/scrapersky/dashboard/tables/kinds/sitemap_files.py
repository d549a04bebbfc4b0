"""Sitemaps: found on sites, or handed in."""

from __future__ import annotations

from scrapersky.dashboard.tables import cells
from scrapersky.dashboard.tables.table import Act, Column, Nothing, Row, Table
from scrapersky.models.sitemaps import IMPORT_WORDS
from scrapersky.models.stage_names import IMPORT_STAGE
from scrapersky.sitemaps.exporting import EXPORT
from scrapersky.sitemaps.listing import CURATION
from scrapersky.sitemaps.listing import SITEMAP_FILES as LISTING

RETRY = f"/stages/{IMPORT_STAGE}/rows/requeue"
_import = cells.stage(
    "sitemap_import_status", "sitemap_import_error", failed=IMPORT_WORDS.failed, retry=RETRY
)


def _address(row: Row) -> str:
    return str(row.url.split("://", 1)[-1])


SITEMAP_FILES = Table(
    kind="sitemap-files",
    title="Sitemaps",
    noun="sitemap",
    says="Every sitemap that was found or handed in. Selected ones are turned into pages.",
    listing=LISTING,
    curation=CURATION,
    export=EXPORT,
    hands_in="sitemap-files",
    segments="curation_status",
    acts=(Act("Retry import", RETRY, "queued again", key="r", by_filter=False),),
    labels={
        "curation_status": "Decision",
        "sitemap_import_status": "Import",
        "http_status": "HTTP status",
        "discovery_method": "Found by",
        "domain": "Site",
        "created": "Added",
        "last_processed": "Last look",
    },
    columns=(
        Column("url", "Sitemap", cells.opens("sitemap-files", _address)),
        Column(
            "status", "State", cells.with_reason("status", cells.value("reason")), sort="status"
        ),
        Column("url_count", "URLs", cells.number("url_count"), sort="url_count", number=True),
        Column("sitemap_import_status", "Import", _import, sort="sitemap_import_status"),
        Column("curation_status", "Decision", cells.badge("curation_status")),
        Column("type", "Kind", cells.word("sitemap_type")),
        Column("discovery_method", "Found by", cells.word("discovery_method")),
        Column(
            "last_processed_at",
            "Last look",
            cells.moment("last_processed_at"),
            sort="last_processed_at",
        ),
        Column(
            "size_bytes",
            "Bytes",
            cells.number("size_bytes"),
            "size_bytes",
            number=True,
            usual=False,
        ),
        Column("http_status", "HTTP", cells.number("http_status"), number=True, usual=False),
        Column("link", "On the web", cells.site("url"), usual=False),
        Column("created_at", "Added", cells.moment("created_at"), "created_at", usual=False),
    ),
    nothing=Nothing(
        "Sitemaps are looked for on every site you hand in; a sitemap can be handed in by its "
        "address too.",
        "/import?kind=sitemap-files",
        "Hand in sitemaps",
    ),
)
