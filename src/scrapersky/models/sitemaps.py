"""Sitemap files of a domain and the URLs they list."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import (
    CheckConstraint,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    SmallInteger,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, TimestampMixin, uuid7
from scrapersky.models.ownership import OwnedMixin
from scrapersky.pipeline.queue import StatusNames, declare_queue

IMPORT_STATUSES = StatusNames(
    queued="Queued", processing="Processing", done="Complete", failed="Error"
)


class FileStatus(StrEnum):
    """State of a sitemap file: `unread` until its first scan, `reading` only during a scan."""

    UNREAD = "unread"
    READING = "reading"
    OK = "ok"
    PARTIAL = "partial"
    REFUSED = "refused"
    ERROR = "error"


class FileCuration(StrEnum):
    """Curation decision about a sitemap."""

    NEW = "New"
    SELECTED = "Selected"
    MAYBE = "Maybe"
    NOT_A_FIT = "Not a Fit"
    ARCHIVED = "Archived"


def build_enum_check(column: str, *words: str) -> CheckConstraint:
    return CheckConstraint(f"{column} IN ({', '.join(repr(word) for word in words)})", name=column)


@declare_queue("sitemap_import_status", words=IMPORT_STATUSES, initial="New")
class SitemapFile(Base, TimestampMixin, OwnedMixin):
    __tablename__ = "sitemap_files"
    __table_args__ = (
        UniqueConstraint("domain_id", "url_digest"),
        build_enum_check("status", *(each.value for each in FileStatus)),
        build_enum_check(
            "sitemap_type", "index", "standard", "image", "video", "news", "rss", "atom", "text"
        ),
        build_enum_check(
            "discovery_method", "robots_txt", "common_path", "html_link", "sitemap_index", "manual"
        ),
        build_enum_check("curation_status", *(each.value for each in FileCuration)),
        Index("ix_sitemap_files_created_at", "tenant_id", "created_at", "id"),
        Index("ix_sitemap_files_job_id", "job_id"),
        {"postgresql_with": {"fillfactor": 80}},
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    domain_id: Mapped[UUID] = mapped_column(ForeignKey("domains.id", ondelete="CASCADE"))
    url: Mapped[str]
    url_digest: Mapped[bytes]
    """16 bytes. The unique index uses the digest because an index entry cannot hold every URL."""
    final_url: Mapped[str | None]
    parent_url: Mapped[str | None]
    sitemap_type: Mapped[str | None]
    """Null if too little could be read to detect the type."""
    discovery_method: Mapped[str]
    depth: Mapped[int] = mapped_column(SmallInteger, server_default="0")
    status: Mapped[str]
    reason: Mapped[str | None]
    url_count: Mapped[int] = mapped_column(Integer, server_default="0")
    """Distinct URLs in this file; for an index, its children."""
    size_bytes: Mapped[int] = mapped_column(server_default="0")
    is_gzipped: Mapped[bool] = mapped_column(server_default="false")
    has_lastmod: Mapped[bool] = mapped_column(server_default="false")
    has_priority: Mapped[bool] = mapped_column(server_default="false")
    has_changefreq: Mapped[bool] = mapped_column(server_default="false")
    http_status: Mapped[int | None] = mapped_column(Integer)
    response_time_ms: Mapped[int | None] = mapped_column(Integer)
    generator: Mapped[str | None]
    etag: Mapped[str | None]
    last_modified: Mapped[str | None]
    content_hash: Mapped[str | None]
    dropped: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """Number of discarded URLs, by reason."""
    last_processed_at: Mapped[datetime | None]
    """When it was last checked, whether or not it had changed."""
    last_asked_at: Mapped[datetime | None]
    """When it was last requested itself, rather than skipped because of its index's lastmod."""
    changed_at: Mapped[datetime | None]
    """When its content last differed."""
    gone_at: Mapped[datetime | None]
    """When it was no longer referenced."""
    index_lastmod: Mapped[datetime | None]
    """The lastmod in its index as of the last read."""
    lastmod_kept: Mapped[int] = mapped_column(Integer, server_default="0")
    """How often in a row an unchanged lastmod in the index came with unchanged content."""
    error_streak: Mapped[int] = mapped_column(Integer, server_default="0")
    job_id: Mapped[UUID | None] = mapped_column(ForeignKey("jobs.id", ondelete="SET NULL"))
    curation_status: Mapped[str] = mapped_column(server_default=FileCuration.NEW)

    if TYPE_CHECKING:
        sitemap_import_status: Mapped[str]
        sitemap_import_due_at: Mapped[datetime]
        sitemap_import_attempts: Mapped[int]
        sitemap_import_error: Mapped[str | None]


class SitemapUrl(Base):
    """A URL listed by a sitemap.

    A domain may have ten million of them, so indexes are kept to a minimum.

    `pk_sitemap_urls` is the natural key. It makes storing idempotent, finds all rows of one sitemap
    (its list, the rows missing after a re-read, an import's digest ranges), and finds duplicates of
    a URL in other sitemaps of the domain. Rows of one sitemap are adjacent in it, so a load touches
    few of its pages regardless of the table's size. The id has no index: it only orders rows with
    the same timestamp.
    """

    __tablename__ = "sitemap_urls"
    __table_args__ = (
        # New URLs for the change feed, ordered by time. All rows of a batch share their timestamp;
        # deduplicating such index entries made loads six times slower than keeping each entry.
        Index(
            "ix_sitemap_urls_first_seen",
            "sitemap_id",
            "first_seen",
            postgresql_with={"deduplicate_items": "off"},
        ),
        # Changed and gone URLs for the feed. A first load writes to neither index.
        Index(
            "ix_sitemap_urls_changed_at",
            "sitemap_id",
            "changed_at",
            postgresql_where=text("changed_at IS NOT NULL"),
        ),
        Index(
            "ix_sitemap_urls_gone_at",
            "sitemap_id",
            "gone_at",
            postgresql_where=text("gone_at IS NOT NULL"),
        ),
    )

    id: Mapped[int] = mapped_column(Identity())
    sitemap_id: Mapped[UUID] = mapped_column(
        ForeignKey("sitemap_files.id", ondelete="CASCADE"), primary_key=True
    )
    url: Mapped[str]
    url_digest: Mapped[bytes] = mapped_column(primary_key=True)
    lastmod: Mapped[datetime | None]
    changefreq: Mapped[str | None]
    priority: Mapped[float | None] = mapped_column(Float)
    extras: Mapped[dict[str, Any] | None]
    """Alternates, images, videos and news, if given."""
    may_repeat: Mapped[bool] = mapped_column(server_default="true")
    """Whether another sitemap of the domain may list the URL too. Among rows with the same URL, at
    most one is false. So rows with false, the vast majority, are listed without a duplicate
    check.
    """
    first_seen: Mapped[datetime]
    changed_at: Mapped[datetime | None]
    """When the sitemap's data about the URL last changed, or when the URL came back."""
    gone_at: Mapped[datetime | None]
    """When the sitemap no longer listed the URL. Until then, the URL was last seen when its sitemap
    was.
    """
