"""Places known to providers, and the searches that found them."""

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
    SmallInteger,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, TimestampMixin, uuid7
from scrapersky.models.ownership import OwnedMixin, TenantMixin
from scrapersky.models.sitemaps import FileCuration, build_enum_check
from scrapersky.pipeline.queue import StatusNames, declare_queue

PlaceCuration = FileCuration
DEEP_SCAN_STATUSES = StatusNames(
    queued="Queued", processing="Processing", done="Completed", failed="Error"
)
NOT_QUEUED = "New"
"""What a place or a business is for its stage until somebody, or a policy, wants it to go on."""


class Provider(StrEnum):
    """Who told us of a place; `site` for what a business's own pages say of it."""

    GOOGLE = "google"
    OSM = "osm"
    CSV = "csv"
    SITE = "site"


class BusinessStatus(StrEnum):
    OPERATIONAL = "operational"
    CLOSED_TEMPORARILY = "closed_temporarily"
    CLOSED_PERMANENTLY = "closed_permanently"
    FUTURE_OPENING = "future_opening"


COORDINATES_CHECK = "latitude BETWEEN -90 AND 90 AND longitude BETWEEN -180 AND 180"


@declare_queue("deep_scan_status", words=DEEP_SCAN_STATUSES, initial=NOT_QUEUED)
class Place(Base, TimestampMixin, OwnedMixin):
    """A place as one provider knows it; what is known of the business stands in its own row."""

    __tablename__ = "places"
    __table_args__ = (
        UniqueConstraint("tenant_id", "provider", "place_id"),
        build_enum_check("provider", *(each.value for each in Provider)),
        build_enum_check("status", *(each.value for each in PlaceCuration)),
        build_enum_check("business_status", *(each.value for each in BusinessStatus)),
        CheckConstraint(COORDINATES_CHECK, name="coordinates"),
        Index("ix_places_created_at", "tenant_id", "created_at", "id"),
        Index("ix_places_local_business_id", "local_business_id"),
        {"postgresql_with": {"fillfactor": 80}},
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    provider: Mapped[str]
    place_id: Mapped[str]
    """What the provider calls it."""
    name: Mapped[str | None]
    formatted_address: Mapped[str | None]
    address_parts: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default="{}")
    """street, house_number, postal_code, city, region, country (two letters); what is known."""
    latitude: Mapped[float | None] = mapped_column(Float)
    longitude: Mapped[float | None] = mapped_column(Float)
    phone: Mapped[str | None]
    """E.164."""
    phone_raw: Mapped[str | None]
    website_url: Mapped[str | None]
    """As the provider has it: it may be anything."""
    emails: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    profiles: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    types: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    category: Mapped[str | None]
    """The first of its types, for people."""
    rating: Mapped[float | None] = mapped_column(Float)
    user_ratings_total: Mapped[int | None] = mapped_column(Integer)
    price_level: Mapped[int | None] = mapped_column(SmallInteger)
    """0 (free) to 4 (very expensive)."""
    business_status: Mapped[str | None]
    hours: Mapped[dict[str, Any] | None]
    maps_url: Mapped[str | None]
    is_service_area: Mapped[bool] = mapped_column(server_default="false")
    """It comes to its customers and has no address of its own."""
    raw_data: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default="{}")
    details_at: Mapped[datetime | None]
    """When the provider last told everything we ask for; nothing until it did."""
    refresh_asked_at: Mapped[datetime | None]
    """When somebody wanted it asked for anew, however young its details are."""
    seen_at: Mapped[datetime] = mapped_column(server_default=func.now())
    """When a search or a deep scan last met it."""
    gone_at: Mapped[datetime | None]
    """When the provider said that it knows it no more."""
    moved_to: Mapped[str | None]
    """What the provider calls it now."""
    search_id: Mapped[UUID | None] = mapped_column(ForeignKey("jobs.id", ondelete="SET NULL"))
    """The search that found it first; all of them are in `search_places`."""
    local_business_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("local_businesses.id", ondelete="SET NULL", use_alter=True)
    )
    status: Mapped[str] = mapped_column(server_default=PlaceCuration.NEW)
    """What people decided."""

    if TYPE_CHECKING:
        deep_scan_status: Mapped[str]
        deep_scan_due_at: Mapped[datetime]
        deep_scan_attempts: Mapped[int]
        deep_scan_error: Mapped[str | None]


class PlaceSightingState(StrEnum):
    """What a search's place was to us when the search met it."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"


class SearchPlace(Base, TenantMixin):
    """That a search found a place; a place is found by many searches."""

    __tablename__ = "search_places"
    __table_args__ = (
        build_enum_check("sighted", *(each.value for each in PlaceSightingState)),
        Index("ix_search_places_place_id", "place_id"),
    )

    search_id: Mapped[UUID] = mapped_column(
        ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True
    )
    place_id: Mapped[UUID] = mapped_column(
        ForeignKey("places.id", ondelete="CASCADE"), primary_key=True
    )
    position: Mapped[int] = mapped_column(Integer)
    """As the provider ordered them, over all tiles."""
    tile: Mapped[str] = mapped_column(server_default="")
    fits: Mapped[bool] = mapped_column(server_default="true")
    """Whether it passes the search's filters; what was paid for is kept anyhow."""
    sighted: Mapped[str]
    changes: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default="{}")
    """{field: [before, after]} where it changed since it was last seen."""
    seen_at: Mapped[datetime] = mapped_column(server_default=func.now())


class TileState(StrEnum):
    WAITING = "waiting"
    SPLIT = "split"
    """It had more than the provider gives: its four quarters were asked instead."""
    JOINED = "joined"
    """It was asked together with its neighbours, in slices that cost less."""
    DONE = "done"
    KNOWN = "known"
    """All that is in it was known already, so nothing was paid for it."""
    SATURATED = "saturated"
    """It has more than the provider gives and was not split further; the note says why."""
    NOT_ASKED = "not_asked"
    """The search had enough, or its budget was at its end."""


class SearchTile(Base, TenantMixin):
    """A part of a search's area, asked by itself; the search goes on where its tiles stand."""

    __tablename__ = "search_tiles"
    __table_args__ = (build_enum_check("state", *(each.value for each in TileState)),)

    search_id: Mapped[UUID] = mapped_column(
        ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True
    )
    path: Mapped[str] = mapped_column(primary_key=True)
    """Which quarter of which quarter: empty for the whole area, then a digit 0 to 3 a level."""
    south: Mapped[float] = mapped_column(Float)
    west: Mapped[float] = mapped_column(Float)
    north: Mapped[float] = mapped_column(Float)
    east: Mapped[float] = mapped_column(Float)
    state: Mapped[str] = mapped_column(server_default=TileState.WAITING)
    found: Mapped[int] = mapped_column(Integer, server_default="0")
    new: Mapped[int] = mapped_column(Integer, server_default="0")
    """Of these, the places nobody had told us of before."""
    probed: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    """The ids a free look brought, for what is asked next."""
    next_token: Mapped[str | None]
    """Of the page to go on with, where it was asked in part."""
    asked_again: Mapped[bool] = mapped_column(server_default="false")
    """From its first page, because its next one could not be had."""
    requests: Mapped[int] = mapped_column(Integer, server_default="0")
    paid_requests: Mapped[int] = mapped_column(Integer, server_default="0")
    note: Mapped[str | None]
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now(), onupdate=func.now())


class SavedSearch(Base, TimestampMixin, OwnedMixin):
    """A search that is asked again every so many days."""

    __tablename__ = "saved_searches"
    __table_args__ = (
        UniqueConstraint("tenant_id", "subject"),
        CheckConstraint("repeat_days >= 1", name="repeat_days"),
        Index("ix_saved_searches_next_run_at", "next_run_at", postgresql_where=text("is_active")),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    subject: Mapped[str]
    """As its jobs' subject."""
    params: Mapped[dict[str, Any]]
    """As its jobs' params."""
    repeat_days: Mapped[int] = mapped_column(Integer)
    next_run_at: Mapped[datetime]
    last_search_id: Mapped[UUID | None] = mapped_column(ForeignKey("jobs.id", ondelete="SET NULL"))
    is_active: Mapped[bool] = mapped_column(server_default="true")


class GeocodedArea(Base):
    """Where a named area lies, as OpenStreetMap says; asked once and kept."""

    __tablename__ = "geocoded_areas"

    query: Mapped[str] = mapped_column(primary_key=True)
    """As it was asked, in lower case with single spaces."""
    name: Mapped[str]
    south: Mapped[float] = mapped_column(Float)
    west: Mapped[float] = mapped_column(Float)
    north: Mapped[float] = mapped_column(Float)
    east: Mapped[float] = mapped_column(Float)
    country: Mapped[str | None]
    osm: Mapped[str | None]
    """`relation/62649`."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
