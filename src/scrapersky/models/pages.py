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
"""Pages with a higher priority level are of kinds that hardly ever have contacts."""
PAGE_STATUSES = StatusNames(
    queued="Queued", processing="Processing", done="Complete", failed="Error", skipped="Filtered"
)


class PageCuration(StrEnum):
    """What people decided about a page (`PageDecision`), and how far its processing has come: the
    engine alone sets the words in `ENGINE_WORDS`."""

    NEW = "New"
    SELECTED = "Selected"
    QUEUED = "Queued"
    PROCESSING = "Processing"
    COMPLETE = "Complete"
    ERROR = "Error"
    SKIPPED = "Skipped"


class PageDecision(StrEnum):
    """The words of `PageCuration` that people choose from."""

    NEW = "New"
    SELECTED = "Selected"
    SKIPPED = "Skipped"


ENGINE_STATUSES = frozenset(
    (PageCuration.QUEUED, PageCuration.PROCESSING, PageCuration.COMPLETE, PageCuration.ERROR)
)


class ContactScrapeStatus(StrEnum):
    """What reading a page for contacts came to."""

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
    """As many as all sitemaps of a domain list, so every index has to earn its keep.

    The unique one makes importing twice store once and keeps a domain's digests together, in the
    order in which imports come with them. Three more are one for each list people ask for: a
    tenant's, a domain's and a sitemap's, newest first; the last two are also what deleting a
    domain or a sitemap goes by. The small ones hold only pages that somebody has yet to see to.
    """

    __tablename__ = "pages"
    __table_args__ = (
        UniqueConstraint("domain_id", "url_digest"),
        build_enum_check("page_curation_status", *(each.value for each in PageCuration)),
        # One per list; without the id, for pages imported together then share one index entry.
        Index("ix_pages_created_at", "tenant_id", "created_at"),
        Index("ix_pages_domain_id", "domain_id", "created_at"),
        Index("ix_pages_sitemap_file_id", "sitemap_file_id", "created_at"),
        # Of a site, the few whose kind may be worth reading.
        Index(
            "ix_pages_worth_reading",
            "domain_id",
            "priority_level",
            postgresql_where=text(
                f"priority_level <= {MAX_CONTACT_PRIORITY_LEVEL} AND page_type IS NOT NULL"
            ),
        ),
        # Stored before pages were classified.
        Index("ix_pages_unclassified", "id", postgresql_where=text("page_type IS NULL")),
        build_enum_check("contact_scrape_status", *(each.value for each in ContactScrapeStatus)),
        {"postgresql_with": {"fillfactor": 80}},
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    domain_id: Mapped[UUID] = mapped_column(ForeignKey("domains.id", ondelete="CASCADE"))
    url: Mapped[str]
    url_digest: Mapped[bytes]
    """16 bytes; uniqueness goes by these, for an index entry cannot hold every URL."""
    sitemap_file_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("sitemap_files.id", ondelete="SET NULL")
    )
    """The sitemap that speaks for it: of several that list it, the one with the latest date."""
    lastmod: Mapped[datetime | None]
    path_depth: Mapped[int] = mapped_column(Integer)
    """Segments of the path: 0 is the home page."""
    host: Mapped[str] = mapped_column(server_default="")
    """Who is asked when the page is read; empty until it was classified."""
    page_type: Mapped[str | None]
    """Nothing until it is known what kind of page it is."""
    page_rule: Mapped[str | None]
    """What gave its kind away: `path: kontakt (de)`."""
    page_confidence: Mapped[float | None] = mapped_column(Float)
    priority_level: Mapped[int] = mapped_column(SmallInteger, server_default="5")
    """Lower goes first."""
    page_curation_status: Mapped[str] = mapped_column(server_default=PageCuration.NEW)
    link_text: Mapped[str | None]
    """What the link that led here said, where one did."""

    # What the page said when it was read.
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
