"""Pages of a domain: one row for each URL its sitemaps list."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ForeignKey, Index, Integer, SmallInteger, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, Timestamps, uuid7
from scrapersky.models.ownership import Owned
from scrapersky.models.sitemaps import one_of


class PageCuration(StrEnum):
    """What people decided about a page, and how far that decision has come."""

    NEW = "New"
    SELECTED = "Selected"
    QUEUED = "Queued"
    PROCESSING = "Processing"
    COMPLETE = "Complete"
    ERROR = "Error"
    SKIPPED = "Skipped"


class Page(Base, Timestamps, Owned):
    """As many as all sitemaps of a domain list, so every index has to earn its keep.

    The unique one makes importing twice store once and keeps a domain's digests together, in the
    order in which imports come with them. The other three are one for each list people ask for: a
    tenant's, a domain's and a sitemap's, newest first; the last two are also what deleting a
    domain or a sitemap goes by.
    """

    __tablename__ = "pages"
    __table_args__ = (
        UniqueConstraint("domain_id", "url_digest"),
        one_of("page_curation_status", *(each.value for each in PageCuration)),
        # One per list; without the id, for pages imported together then share one index entry.
        Index("ix_pages_created_at", "tenant_id", "created_at"),
        Index("ix_pages_domain_id", "domain_id", "created_at"),
        Index("ix_pages_sitemap_file_id", "sitemap_file_id", "created_at"),
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
    page_type: Mapped[str | None]
    """Nothing until it is known what kind of page it is."""
    priority_level: Mapped[int] = mapped_column(SmallInteger, server_default="5")
    """Lower goes first."""
    page_curation_status: Mapped[str] = mapped_column(server_default=PageCuration.NEW)
