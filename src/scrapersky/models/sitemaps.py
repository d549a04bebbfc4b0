"""Sitemap files of a domain and the URLs they list."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any
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
)
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, Timestamps, uuid7
from scrapersky.models.ownership import Owned


class FileStatus(StrEnum):
    """What became of a sitemap file; `reading` only while its scan is under way."""

    READING = "reading"
    OK = "ok"
    PARTIAL = "partial"
    REFUSED = "refused"
    ERROR = "error"


def one_of(column: str, *words: str) -> CheckConstraint:
    return CheckConstraint(f"{column} IN ({', '.join(repr(word) for word in words)})", name=column)


class SitemapFile(Base, Timestamps, Owned):
    __tablename__ = "sitemap_files"
    __table_args__ = (
        UniqueConstraint("domain_id", "url_digest"),
        one_of("status", "reading", "ok", "partial", "refused", "error"),
        one_of(
            "sitemap_type", "index", "standard", "image", "video", "news", "rss", "atom", "text"
        ),
        one_of(
            "discovery_method", "robots_txt", "common_path", "html_link", "sitemap_index", "manual"
        ),
        Index("ix_sitemap_files_created_at", "tenant_id", "created_at", "id"),
        Index("ix_sitemap_files_job_id", "job_id"),
        {"postgresql_with": {"fillfactor": 80}},
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    domain_id: Mapped[UUID] = mapped_column(ForeignKey("domains.id", ondelete="CASCADE"))
    url: Mapped[str]
    url_digest: Mapped[bytes]
    """16 bytes; uniqueness goes by these, for an index entry cannot hold every URL."""
    final_url: Mapped[str | None]
    parent_url: Mapped[str | None]
    sitemap_type: Mapped[str | None]
    """Nothing where it could not be read far enough to tell."""
    discovery_method: Mapped[str]
    depth: Mapped[int] = mapped_column(SmallInteger, server_default="0")
    status: Mapped[str]
    reason: Mapped[str | None]
    url_count: Mapped[int] = mapped_column(Integer, server_default="0")
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
    """URLs that were not kept, counted by reason."""
    last_processed_at: Mapped[datetime | None]
    job_id: Mapped[UUID | None] = mapped_column(ForeignKey("jobs.id", ondelete="SET NULL"))


class SitemapUrl(Base):
    __tablename__ = "sitemap_urls"
    __table_args__ = (UniqueConstraint("sitemap_id", "url_digest"),)

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    sitemap_id: Mapped[UUID] = mapped_column(ForeignKey("sitemap_files.id", ondelete="CASCADE"))
    url: Mapped[str]
    url_digest: Mapped[bytes]
    lastmod: Mapped[datetime | None]
    changefreq: Mapped[str | None]
    priority: Mapped[float | None] = mapped_column(Float)
    extras: Mapped[dict[str, Any] | None]
    """Alternates, images, videos, news: where given."""
    first_seen: Mapped[datetime]
    gone_at: Mapped[datetime | None]
