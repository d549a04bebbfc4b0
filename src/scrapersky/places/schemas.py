"""Places in the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, computed_field
from sqlalchemy import ColumnElement, Text, case, null, type_coerce

from scrapersky.models import Provider

OSM_ATTRIBUTION = "© OpenStreetMap contributors"
"""What the licence of OpenStreetMap's data asks for, wherever it is shown."""


def build_attribution_column(provider: Any) -> ColumnElement[Any]:
    """The same as `PlaceOut.attribution`."""
    return case((provider == Provider.OSM, OSM_ATTRIBUTION), else_=type_coerce(null(), Text))


class PlaceOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    provider: str = Field(examples=["google"])
    place_id: str = Field(
        description="What the provider calls it.", examples=["ChIJN1t_tDeuEmsRUsoyG83frY4"]
    )
    name: str | None = Field(examples=["Bäckerei Berger"])
    formatted_address: str | None
    address_parts: dict[str, Any]
    latitude: float | None
    longitude: float | None
    phone: str | None = Field(examples=["+4930901820"])
    phone_raw: str | None
    website_url: str | None = Field(description="As the provider has it; it may be anything.")
    emails: list[str]
    profiles: list[str]
    types: list[str]
    category: str | None = Field(examples=["bakery"])
    rating: float | None
    user_ratings_total: int | None
    price_level: int | None
    business_status: str | None = Field(examples=["operational"])
    maps_url: str | None
    is_service_area: bool = Field(
        description="It comes to its customers and has no address of its own."
    )
    details_at: datetime | None = Field(
        description="When the provider last told everything; null until it did."
    )
    refresh_asked_at: datetime | None
    seen_at: datetime
    gone_at: datetime | None = Field(description="When the provider said that it knows it no more.")
    moved_to: str | None = Field(description="What the provider calls it now.")
    search_id: UUID | None = Field(description="The search that found it first.")
    local_business_id: UUID | None
    status: str = Field(description="What people decided.", examples=["New"])
    deep_scan_status: str = Field(examples=["Completed"])
    deep_scan_error: str | None
    created_by: UUID
    created_at: datetime
    updated_at: datetime

    @computed_field(description="To be shown with what this provider told, where it asks for it.")  # type: ignore[prop-decorator]
    @property
    def attribution(self) -> str | None:
        return OSM_ATTRIBUTION if self.provider == Provider.OSM else None


class PlaceSearchOut(BaseModel):
    """A search that found the place."""

    search_id: UUID
    subject: str
    asked_at: datetime
    position: int
    tile: str
    fits: bool = Field(description="Whether it passes the search's filters.")
    sighted: str = Field(examples=["new"])
    changes: dict[str, Any] = Field(examples=[{"phone": [None, "+4930901820"]}])
    seen_at: datetime


class PlaceBusinessOut(BaseModel):
    """The business that the place is, in short."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    business_name: str | None
    status: str
    website_url: str | None
    website_kind: str | None
    domain_id: UUID | None


class PlaceDetail(PlaceOut):
    """With what would make a list heavy."""

    hours: dict[str, Any] | None
    raw_data: dict[str, Any] = Field(description="The provider's own words.")
    searches: list[PlaceSearchOut]
    business: PlaceBusinessOut | None
