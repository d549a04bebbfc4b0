"""Businesses, their sightings at providers, and merge candidates."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    Float,
    ForeignKey,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, TimestampMixin, uuid7
from scrapersky.models.ownership import OwnedMixin, TenantMixin
from scrapersky.models.places import COORDINATES_CHECK, NOT_QUEUED, BusinessStatus, Provider
from scrapersky.models.sitemaps import FileCuration, build_enum_check
from scrapersky.pipeline.queue import StatusNames, declare_queue

BusinessCuration = FileCuration
EXTRACTION_STATUSES = StatusNames(
    queued="Queued", processing="Processing", done="Completed", failed="Error"
)


class WebsiteKind(StrEnum):
    """What the website of a business turned out to be."""

    OWN = "own"
    PROFILE = "profile"
    DIRECTORY = "directory"
    MARKETPLACE = "marketplace"
    SITE_BUILDER = "site_builder"
    """A page on a site builder's shared host. Only that page belongs to the business."""
    UNUSABLE = "unusable"
    """Not a website: a phone number, an e-mail address or other text."""
    NONE = "none"


@declare_queue("domain_extraction_status", words=EXTRACTION_STATUSES, initial=NOT_QUEUED)
class LocalBusiness(Base, TimestampMixin, OwnedMixin):
    __tablename__ = "local_businesses"
    __table_args__ = (
        UniqueConstraint("place_id"),
        build_enum_check("status", *(each.value for each in BusinessCuration)),
        build_enum_check("business_status", *(each.value for each in BusinessStatus)),
        build_enum_check("website_kind", *(each.value for each in WebsiteKind)),
        CheckConstraint(COORDINATES_CHECK, name="coordinates"),
        Index("ix_local_businesses_created_at", "tenant_id", "created_at", "id"),
        Index("ix_local_businesses_domain_id", "domain_id"),
        # Lookups of merge candidates.
        Index("ix_local_businesses_phone", "tenant_id", "phone"),
        Index("ix_local_businesses_site_key", "tenant_id", "site_key"),
        Index("ix_local_businesses_cells", "tenant_id", "cell"),
        Index("ix_local_businesses_name_key", "tenant_id", "name_key"),
        {"postgresql_with": {"fillfactor": 80}},
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    place_id: Mapped[UUID | None] = mapped_column(ForeignKey("places.id", ondelete="SET NULL"))
    """The primary place that its facts come from. All places are in `business_sightings`."""
    business_name: Mapped[str | None]
    name_key: Mapped[str | None]
    """Name without case, accents and legal form, for matching."""
    address: Mapped[str | None]
    street: Mapped[str | None]
    house_number: Mapped[str | None]
    postal_code: Mapped[str | None]
    city: Mapped[str | None]
    region: Mapped[str | None]
    country: Mapped[str | None]
    """Two-letter code."""
    latitude: Mapped[float | None] = mapped_column(Float)
    longitude: Mapped[float | None] = mapped_column(Float)
    cell: Mapped[str | None]
    """Grid cell of about one kilometre that contains the business, for matching."""
    phone: Mapped[str | None]
    """E.164."""
    phone_raw: Mapped[str | None]
    website_url: Mapped[str | None]
    website_kind: Mapped[str | None]
    """Null until the website was classified."""
    website_note: Mapped[str | None]
    """Why the website is not the business's own, or what happened to it; one sentence."""
    site_key: Mapped[str | None]
    """Domain name of the business's own website, for matching."""
    domain_id: Mapped[UUID | None] = mapped_column(ForeignKey("domains.id", ondelete="SET NULL"))
    emails: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    profiles: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    categories: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    rating: Mapped[float | None] = mapped_column(Float)
    reviews_count: Mapped[int | None] = mapped_column(Integer)
    price_level: Mapped[int | None] = mapped_column(Integer)
    hours: Mapped[dict[str, Any] | None]
    business_status: Mapped[str | None]
    facts_from: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default="{}")
    """The provider of each fact: {"phone": "google"}."""
    refreshed_at: Mapped[datetime | None]
    status: Mapped[str] = mapped_column(server_default=BusinessCuration.NEW)
    """The curation decision."""

    if TYPE_CHECKING:
        domain_extraction_status: Mapped[str]
        domain_extraction_due_at: Mapped[datetime]
        domain_extraction_attempts: Mapped[int]
        domain_extraction_error: Mapped[str | None]


class MatchReason(StrEnum):
    """Why a sighting was matched to this business."""

    FIRST = "first"
    """No similar business existed."""
    PLACE_ID = "place_id"
    MOVED = "moved"
    DOMAIN = "domain"
    PHONE = "phone"
    NAME_AND_DISTANCE = "name_and_distance"
    PERSON = "person"


class BusinessSighting(Base, TenantMixin):
    """A provider's statement about a business, and what it contained."""

    __tablename__ = "business_sightings"
    __table_args__ = (
        UniqueConstraint("tenant_id", "provider", "source_key"),
        build_enum_check("provider", *(each.value for each in Provider)),
        build_enum_check("matched_by", *(each.value for each in MatchReason)),
        Index("ix_business_sightings_business_id", "business_id"),
        Index("ix_business_sightings_place_id", "place_id"),
        Index("ix_business_sightings_domain_id", "domain_id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    business_id: Mapped[UUID] = mapped_column(ForeignKey("local_businesses.id", ondelete="CASCADE"))
    provider: Mapped[str]
    source_key: Mapped[str]
    """The provider's ID of the place; for a site, its domain."""
    place_id: Mapped[UUID | None] = mapped_column(ForeignKey("places.id", ondelete="CASCADE"))
    domain_id: Mapped[UUID | None] = mapped_column(ForeignKey("domains.id", ondelete="SET NULL"))
    facts: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default="{}")
    matched_by: Mapped[str]
    score: Mapped[float] = mapped_column(Float, server_default="1")
    why: Mapped[str | None]
    """The match reason, in one sentence."""
    first_seen_at: Mapped[datetime] = mapped_column(server_default=func.now())
    last_seen_at: Mapped[datetime] = mapped_column(server_default=func.now())


class MergeState(StrEnum):
    OPEN = "open"
    MERGED = "merged"
    APART = "apart"


class MergeCandidate(Base, TenantMixin):
    """Two businesses that may be the same. Once a person decided, they are not proposed again."""

    __tablename__ = "merge_candidates"
    __table_args__ = (
        UniqueConstraint("left_id", "right_id"),
        CheckConstraint("left_id < right_id", name="once"),
        build_enum_check("state", *(each.value for each in MergeState)),
        Index("ix_merge_candidates_created_at", "tenant_id", "created_at", "id"),
        Index("ix_merge_candidates_open", "tenant_id", postgresql_where=text("state = 'open'")),
        Index("ix_merge_candidates_right_id", "right_id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    left_id: Mapped[UUID] = mapped_column(ForeignKey("local_businesses.id", ondelete="CASCADE"))
    right_id: Mapped[UUID] = mapped_column(ForeignKey("local_businesses.id", ondelete="CASCADE"))
    score: Mapped[float] = mapped_column(Float)
    reasons: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    state: Mapped[str] = mapped_column(server_default=MergeState.OPEN)
    decided_by: Mapped[UUID | None] = mapped_column(ForeignKey("users.id"))
    decided_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
