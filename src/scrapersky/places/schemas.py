"""API schemas of places."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, computed_field

from scrapersky.lists import RowSchema
from scrapersky.models import Provider
from scrapersky.places.listing import OSM_ATTRIBUTION, PLACES


class PlaceOut(RowSchema, columns=PLACES.all_columns):
    address_parts: dict[str, Any]
    refresh_asked_at: datetime | None

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
