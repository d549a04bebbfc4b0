"""Domains: one row per site, by normalized name."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    Interval,
    Text,
    UniqueConstraint,
    and_,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, TimestampMixin, uuid7
from scrapersky.models.ownership import OwnedMixin
from scrapersky.pipeline.queue import StatusNames, declare_queue

METADATA_STATUSES = StatusNames(
    queued="pending", processing="processing", done="completed", failed="error"
)
METADATA_NOT_QUEUED = "new"
"""Status of a site that is stored but was never queued for metadata."""
SUBMISSION_STATUSES = StatusNames(
    queued="queued", processing="processing", done="submitted", failed="failed"
)


SITE_STATES = (
    "ok",
    "parked",
    "redirected",
    "blocked",
    "disallowed",
    "javascript_only",
    "under_construction",
    "empty",
    "dead",
)
"""Values of `scraper.site.model.SiteState`. Repeated here because models must not load the scraper;
a test compares the two."""


class DomainCuration(StrEnum):
    """Curation decision about a site."""

    NEW = "New"
    SELECTED = "Selected"
    MAYBE = "Maybe"
    NOT_A_FIT = "Not a Fit"
    ARCHIVED = "Archived"


FORCE_SCAN_HINT = (
    "To scan now: `scrapersky scan DOMAIN`, POST /api/v3/sitemap/scan, "
    "or Scan its sitemaps on the domain's page."
)
UNSCHEDULED_CURATIONS = (DomainCuration.NOT_A_FIT, DomainCuration.ARCHIVED)

MAX_COUNTED_URLS = 1_000_000
"""Distinct URLs are counted up to this number. A larger total is the sum over the sitemaps."""


@declare_queue("status", words=METADATA_STATUSES, also=(METADATA_NOT_QUEUED,))
@declare_queue("sitemap_analysis_status", words=SUBMISSION_STATUSES, initial="pending")
class Domain(Base, TimestampMixin, OwnedMixin):
    __tablename__ = "domains"
    __table_args__ = (
        UniqueConstraint("tenant_id", "domain"),
        CheckConstraint(
            "sitemap_curation_status IN ('New', 'Selected', 'Maybe', 'Not a Fit', 'Archived')",
            name="sitemap_curation_status",
        ),
        CheckConstraint(
            f"site_state IN ({', '.join(map(repr, SITE_STATES))})",
            name="site_state",
        ),
        Index("ix_domains_next_scan_at", "next_scan_at"),
        Index("ix_domains_local_business_id", "local_business_id"),
        Index(
            "ix_domains_with_warning",
            "tenant_id",
            postgresql_where=text("scan_warning IS NOT NULL"),
        ),
        Index("ix_domains_created_at", "tenant_id", "created_at", "id"),
        {"postgresql_with": {"fillfactor": 80}},
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    domain: Mapped[str]
    """Lower case, IDNA, without `www.`, with a non-default port."""
    base_url: Mapped[str | None]
    """The URL that actually responded."""
    sitemap_curation_status: Mapped[str] = mapped_column(server_default=DomainCuration.NEW)
    last_scan: Mapped[datetime | None]
    next_scan_at: Mapped[datetime | None]
    """When the next scan is due; null means as soon as possible."""
    scan_interval: Mapped[timedelta] = mapped_column(Interval, server_default="168 hours")
    """Interval between a successful scan and the next one."""
    next_scan_why: Mapped[str | None]
    """Why the next scan is at that time, in one sentence."""
    scan_warning: Mapped[str | None]
    """Something suspicious about a scan that succeeded."""
    robots_state: Mapped[dict[str, Any] | None]
    """The last robots.txt, with its validators."""
    scan_failures: Mapped[int] = mapped_column(Integer, server_default="0")
    """Consecutive failures. Each doubles the time until the next scan."""
    total_sitemaps: Mapped[int] = mapped_column(Integer, server_default="0")
    sitemap_urls: Mapped[int] = mapped_column(server_default="0")
    """Distinct URLs in all sitemaps. Above `MAX_COUNTED_URLS` an upper bound, see
    `sitemaps/outcome.py`.
    """
    last_scan_error: Mapped[str | None]
    """Why the last scan failed or found nothing."""
    last_sitemap_job_id: Mapped[UUID | None]
    local_business_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("local_businesses.id", ondelete="SET NULL", use_alter=True)
    )
    """The business that first led to the domain. All its businesses reference the domain."""

    # Facts from the home page; null if it does not state them.
    metadata_read_at: Mapped[datetime | None]
    site_state: Mapped[str | None]
    """See `SiteState`; null until the home page was read."""
    site_state_reason: Mapped[str | None]
    redirects_to: Mapped[str | None]
    """The other site that the home page redirects to."""
    title: Mapped[str | None]
    description: Mapped[str | None]
    language: Mapped[str | None]
    favicon_url: Mapped[str | None]
    logo_url: Mapped[str | None]
    cms: Mapped[str | None]
    cms_version: Mapped[str | None]
    is_wordpress: Mapped[bool | None]
    wordpress_version: Mapped[str | None]
    has_elementor: Mapped[bool | None]
    site_builder: Mapped[str | None]
    shop_system: Mapped[str | None]
    tech_stack: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, server_default="[]")
    """One entry per technology: name, category, version and evidence."""
    email_addresses: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    phone_numbers: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    social_links: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    has_contact_form: Mapped[bool | None]
    meta_json: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """The organisation from the page's JSON-LD, and other facts."""

    if TYPE_CHECKING:
        status: Mapped[str]
        due_at: Mapped[datetime]
        attempts: Mapped[int]
        error: Mapped[str | None]
        sitemap_analysis_status: Mapped[str]
        sitemap_analysis_due_at: Mapped[datetime]
        sitemap_analysis_attempts: Mapped[int]
        sitemap_analysis_error: Mapped[str | None]


def was_scanned_recently() -> ColumnElement[bool]:
    """Return whether a submission should not queue a new scan.

    True while the last scan is younger than the rescan interval, unless the next one was moved
    forward.
    """
    is_due = func.coalesce(Domain.next_scan_at <= func.now(), False)
    return and_(Domain.last_scan + Domain.scan_interval > func.now(), ~is_due)
