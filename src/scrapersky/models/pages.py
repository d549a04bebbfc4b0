"""Pages of a domain: one row per URL."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    Float,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, TimestampMixin, uuid7
from scrapersky.models.ownership import OwnedMixin
from scrapersky.models.sitemaps import build_enum_check
from scrapersky.pipeline.queue import StatusNames, declare_queue

MAX_CONTACT_PRIORITY_LEVEL = 12
"""Pages above this priority level are of types that rarely contain contacts."""
PAGE_STATUSES = StatusNames(
    queued="Queued", processing="Processing", done="Complete", failed="Error", skipped="Filtered"
)


class PageCuration(StrEnum):
    """Curation decision about a page (`PageDecision`), or its processing state.

    Only the engine sets the values in `ENGINE_WORDS`.
    """

    NEW = "New"
    SELECTED = "Selected"
    QUEUED = "Queued"
    PROCESSING = "Processing"
    COMPLETE = "Complete"
    ERROR = "Error"
    SKIPPED = "Skipped"


class PageDecision(StrEnum):
    """The values of `PageCuration` that people can choose."""

    NEW = "New"
    SELECTED = "Selected"
    SKIPPED = "Skipped"


ENGINE_STATUSES = frozenset(
    (PageCuration.QUEUED, PageCuration.PROCESSING, PageCuration.COMPLETE, PageCuration.ERROR)
)


class ContactScrapeStatus(StrEnum):
    """Result of reading a page for contacts."""

    NEW = "New"
    FOUND = "ContactFound"
    NONE = "NoContactFound"
    ERROR = "Error"
    NOT_A_FIT = "NotAFit"


@declare_queue(
    "page_processing_status",
    words=PAGE_STATUSES,
    initial="New",
    order=("host", "priority_level"),
)
class Page(Base, TimestampMixin, OwnedMixin):
    """A page of a domain.

    The table holds every URL of all imported sitemaps, so indexes are kept to a minimum.

    The unique index makes imports idempotent and clusters a domain's digests in the order in which
    imports insert them. Three indexes serve one list each: a tenant's, a domain's and a sitemap's,
    newest first. The last two also serve the cascade when a domain or sitemap is deleted. The small
    partial indexes hold only pages that are still to be processed.
    """

    __tablename__ = "pages"
    __table_args__ = (
        UniqueConstraint("domain_id", "url_digest"),
        build_enum_check("page_curation_status", *(each.value for each in PageCuration)),
        # One per list. Without the ID, pages imported together share one index entry.
        Index("ix_pages_created_at", "tenant_id", "created_at"),
        Index("ix_pages_domain_id", "domain_id", "created_at"),
        Index("ix_pages_sitemap_file_id", "sitemap_file_id", "created_at"),
        # The few pages of a site whose type may be worth reading.
        Index(
            "ix_pages_worth_reading",
            "domain_id",
            "priority_level",
            postgresql_where=text(
                f"priority_level <= {MAX_CONTACT_PRIORITY_LEVEL} AND page_type IS NOT NULL"
            ),
        ),
        # Pages stored before classification existed.
        Index("ix_pages_unclassified", "id", postgresql_where=text("page_type IS NULL")),
        build_enum_check("contact_scrape_status", *(each.value for each in ContactScrapeStatus)),
        {"postgresql_with": {"fillfactor": 80}},
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    domain_id: Mapped[UUID] = mapped_column(ForeignKey("domains.id", ondelete="CASCADE"))
    url: Mapped[str]
    url_digest: Mapped[bytes]
    """16 bytes. The unique index uses the digest because an index entry cannot hold every URL."""
    sitemap_file_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("sitemap_files.id", ondelete="SET NULL")
    )
    """The authoritative sitemap: of several that list the page, the one with the latest date."""
    lastmod: Mapped[datetime | None]
    path_depth: Mapped[int] = mapped_column(Integer)
    """Number of path segments; 0 is the home page."""
    host: Mapped[str] = mapped_column(server_default="")
    """Host that is requested when the page is read; empty until the page was classified."""
    page_type: Mapped[str | None]
    """Null until the page was classified."""
    page_rule: Mapped[str | None]
    """The classification rule that matched: `path: kontakt (de)`."""
    page_confidence: Mapped[float | None] = mapped_column(Float)
    priority_level: Mapped[int] = mapped_column(SmallInteger, server_default="5")
    """Lower is read first."""
    page_curation_status: Mapped[str] = mapped_column(server_default=PageCuration.NEW)
    link_text: Mapped[str | None]
    """Text of the link that led to the page, if any."""

    # Facts from the page, as of its last read.
    read_at: Mapped[datetime | None]
    final_url: Mapped[str | None]
    http_status: Mapped[int | None] = mapped_column(SmallInteger)
    title: Mapped[str | None]
    description: Mapped[str | None]
    h1: Mapped[str | None]
    canonical: Mapped[str | None]
    robots_meta: Mapped[str | None]
    language: Mapped[str | None]
    schema_types: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    forms: Mapped[int | None] = mapped_column(SmallInteger)
    has_contact_form: Mapped[bool | None]
    word_count: Mapped[int | None] = mapped_column(Integer)
    contact_scrape_status: Mapped[str] = mapped_column(server_default=ContactScrapeStatus.NEW)
    contacts_found: Mapped[int | None] = mapped_column(Integer)

    if TYPE_CHECKING:
        page_processing_status: Mapped[str]
        page_processing_due_at: Mapped[datetime]
        page_processing_attempts: Mapped[int]
        page_processing_error: Mapped[str | None]
