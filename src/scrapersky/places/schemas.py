"""API schemas of places."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, computed_field
from sqlalchemy import ColumnElement, Text, case, null, type_coerce

from scrapersky.models import Provider

OSM_ATTRIBUTION = "© OpenStreetMap contributors"
"""Attribution required by the OpenStreetMap licence wherever its data is shown."""


def build_attribution_column(provider: Any) -> ColumnElement[Any]:
    """Return the SQL equivalent of `PlaceOut.attribution`."""
    return case((provider == Provider.OSM, OSM_ATTRIBUTION), else_=type_coerce(null(), Text))


class PlaceOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    provider: str = Field(examples=["google"])
    place_id: str = Field(
        description="The provider's place ID.", examples=["ChIJN1t_tDeuEmsRUsoyG83frY4"]
    )
    name: str | None = Field(examples=["Bäckerei Berger"])
    formatted_address: str | None
    address_parts: dict[str, Any]
    latitude: float | None
    longitude: float | None
    phone: str | None = Field(examples=["+4930901820"])
    phone_raw: str | None
    website_url: str | None = Field(
        description="As reported by the provider. It may be anything, not only a URL."
    )
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
        description="Serves customers at their location and has no public address."
    )
    details_at: datetime | None = Field(
        description="When the details were last fetched. Null if never."
    )
    refresh_asked_at: datetime | None
    seen_at: datetime
    gone_at: datetime | None = Field(
        description="When the provider reported that the place no longer exists."
    )
    moved_to: str | None = Field(description="The provider's new place ID.")
    search_id: UUID | None = Field(description="The first search that found it.")
    local_business_id: UUID | None
    status: str = Field(description="Curation status.", examples=["New"])
    deep_scan_status: str = Field(examples=["Completed"])
    deep_scan_error: str | None
    created_by: UUID
    created_at: datetime
    updated_at: datetime

    @computed_field(description="Text to show with the provider's data, if required.")  # type: ignore[prop-decorator]
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
    fits: bool = Field(description="Whether the place passes the search's filters.")
    sighted: str = Field(examples=["new"])
    changes: dict[str, Any] = Field(examples=[{"phone": [None, "+4930901820"]}])
    seen_at: datetime


class PlaceBusinessOut(BaseModel):
    """Summary of the place's business."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    business_name: str | None
    status: str
    website_url: str | None
    website_kind: str | None
    domain_id: UUID | None


class PlaceDetail(PlaceOut):
    """A place with the fields that are too large for a list."""

    hours: dict[str, Any] | None
    raw_data: dict[str, Any] = Field(description="The provider's raw data.")
    searches: list[PlaceSearchOut]
    business: PlaceBusinessOut | None
