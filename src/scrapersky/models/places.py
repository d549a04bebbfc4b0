"""Places reported by providers, and the searches that found them."""

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
"""Stage status of a place or business until a person or a policy queues it."""


class Provider(StrEnum):
    """Source of a place; `site` for a business's own pages."""

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
    """A place as one provider describes it. The merged facts are in the business's row."""

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
    """The provider's ID."""
    name: Mapped[str | None]
    formatted_address: Mapped[str | None]
    address_parts: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default="{}")
    """street, house_number, postal_code, city, region, country (two letters); only known parts."""
    latitude: Mapped[float | None] = mapped_column(Float)
    longitude: Mapped[float | None] = mapped_column(Float)
    phone: Mapped[str | None]
    """E.164."""
    phone_raw: Mapped[str | None]
    website_url: Mapped[str | None]
    """As reported by the provider. Not validated."""
    emails: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    profiles: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    types: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    category: Mapped[str | None]
    """The first of its types, for display."""
    rating: Mapped[float | None] = mapped_column(Float)
    user_ratings_total: Mapped[int | None] = mapped_column(Integer)
    price_level: Mapped[int | None] = mapped_column(SmallInteger)
    """0 (free) to 4 (very expensive)."""
    business_status: Mapped[str | None]
    hours: Mapped[dict[str, Any] | None]
    maps_url: Mapped[str | None]
    is_service_area: Mapped[bool] = mapped_column(server_default="false")
    """It visits its customers and has no public address."""
    raw_data: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default="{}")
    details_at: Mapped[datetime | None]
    """When the provider last returned all fields we request; null until then."""
    refresh_asked_at: Mapped[datetime | None]
    """When a refresh was requested, regardless of the age of the details."""
    seen_at: Mapped[datetime] = mapped_column(server_default=func.now())
    """When a search or deep scan last found it."""
    gone_at: Mapped[datetime | None]
    """When the provider reported that the place no longer exists."""
    moved_to: Mapped[str | None]
    """The provider's new ID of the place."""
    search_id: Mapped[UUID | None] = mapped_column(ForeignKey("jobs.id", ondelete="SET NULL"))
    """The search that found it first. All searches are in `search_places`."""
    local_business_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("local_businesses.id", ondelete="SET NULL", use_alter=True)
    )
    status: Mapped[str] = mapped_column(server_default=PlaceCuration.NEW)
    """The curation decision."""

    if TYPE_CHECKING:
        deep_scan_status: Mapped[str]
        deep_scan_due_at: Mapped[datetime]
        deep_scan_attempts: Mapped[int]
        deep_scan_error: Mapped[str | None]


class PlaceSightingState(StrEnum):
    """Whether a place was new, changed or unchanged when a search found it."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"


class SearchPlace(Base, TenantMixin):
    """Link between a search and a place that it found."""

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
    """Rank in the provider's order, across all tiles."""
    tile: Mapped[str] = mapped_column(server_default="")
    fits: Mapped[bool] = mapped_column(server_default="true")
    """Whether it passes the search's filters. Places that do not are stored too, because they were
    paid for.
    """
    sighted: Mapped[str]
    changes: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default="{}")
    """Changes since it was last seen: {field: [before, after]}."""
    seen_at: Mapped[datetime] = mapped_column(server_default=func.now())


class TileState(StrEnum):
    WAITING = "waiting"
    SPLIT = "split"
    """It has more results than the provider returns, so its four quarters were searched instead."""
    JOINED = "joined"
    """It was searched together with its neighbours, in slices that cost less."""
    DONE = "done"
    KNOWN = "known"
    """All its places were already known, so no paid request was made."""
    SATURATED = "saturated"
    """It has more results than the provider returns and was not split further; the note says why.
    """
    NOT_ASKED = "not_asked"
    """The search had enough results, or its budget was exhausted."""


class SearchTile(Base, TenantMixin):
    """A part of a search's area with its own request.

    An interrupted search resumes from the state of its tiles.
    """

    __tablename__ = "search_tiles"
    __table_args__ = (build_enum_check("state", *(each.value for each in TileState)),)

    search_id: Mapped[UUID] = mapped_column(
        ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True
    )
    path: Mapped[str] = mapped_column(primary_key=True)
    """Quadtree path: empty for the whole area, then one digit 0 to 3 per level."""
    south: Mapped[float] = mapped_column(Float)
    west: Mapped[float] = mapped_column(Float)
    north: Mapped[float] = mapped_column(Float)
    east: Mapped[float] = mapped_column(Float)
    state: Mapped[str] = mapped_column(server_default=TileState.WAITING)
    found: Mapped[int] = mapped_column(Integer, server_default="0")
    new: Mapped[int] = mapped_column(Integer, server_default="0")
    """How many of these places were new to us."""
    probed: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    """Place IDs from a free probe, used to plan the next requests."""
    next_token: Mapped[str | None]
    """Token of the next result page, if only some pages were fetched."""
    asked_again: Mapped[bool] = mapped_column(server_default="false")
    """How often it restarted from its first page because the next one was unavailable."""
    requests: Mapped[int] = mapped_column(Integer, server_default="0")
    paid_requests: Mapped[int] = mapped_column(Integer, server_default="0")
    note: Mapped[str | None]
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now(), onupdate=func.now())


class SavedSearch(Base, TimestampMixin, OwnedMixin):
    """A search that repeats every given number of days."""

    __tablename__ = "saved_searches"
    __table_args__ = (
        UniqueConstraint("tenant_id", "subject"),
        CheckConstraint("repeat_days >= 1", name="repeat_days"),
        Index("ix_saved_searches_next_run_at", "next_run_at", postgresql_where=text("is_active")),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    subject: Mapped[str]
    """Subject of its jobs."""
    params: Mapped[dict[str, Any]]
    """Parameters of its jobs."""
    repeat_days: Mapped[int] = mapped_column(Integer)
    next_run_at: Mapped[datetime]
    last_search_id: Mapped[UUID | None] = mapped_column(ForeignKey("jobs.id", ondelete="SET NULL"))
    is_active: Mapped[bool] = mapped_column(server_default="true")


class GeocodedArea(Base):
    """Cached location of a named area, from OpenStreetMap."""

    __tablename__ = "geocoded_areas"

    query: Mapped[str] = mapped_column(primary_key=True)
    """The area name in lower case with single spaces."""
    name: Mapped[str]
    south: Mapped[float] = mapped_column(Float)
    west: Mapped[float] = mapped_column(Float)
    north: Mapped[float] = mapped_column(Float)
    east: Mapped[float] = mapped_column(Float)
    country: Mapped[str | None]
    osm: Mapped[str | None]
    """OpenStreetMap object, such as `relation/62649`."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
