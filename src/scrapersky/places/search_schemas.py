"""Searches as the API takes them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from scrapersky.http.lists.texts import Text

MAX_RESULTS_LIMIT = 100_000
Days = Annotated[int, Field(strict=True, ge=1, le=3_650)]


class SearchProvider(StrEnum):
    GOOGLE = "google"
    OSM = "osm"


class AreaIn(BaseModel):
    """A rectangle in degrees; across the date line its west is greater than its east."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    south: float
    west: float
    north: float
    east: float


class PointIn(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    latitude: float
    longitude: float


class FiltersIn(BaseModel):
    """Which places are wanted. The others that come are kept, but go no further."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    has_website: bool | None = Field(default=None, description="With one, or without.")
    has_phone: bool | None = Field(default=None, description="With one, or without.")
    min_rating: float | None = Field(default=None, ge=0, le=5)
    open: bool | None = Field(
        default=None, description="In business, or closed for good or for a time; not its hours."
    )


class SearchIn(BaseModel):
    """What to look for, and where: a place's name (with a radius around its middle, if wanted), a
    center with a radius, or an area."""

    model_config = ConfigDict(
        extra="forbid",
        allow_inf_nan=False,
        json_schema_extra={
            "examples": [
                {
                    "business_type": "bakeries",
                    "location": "Leipzig",
                    "provider": "osm",
                    "max_results": 200,
                    "filters": {"has_website": True},
                }
            ]
        },
    )

    business_type: Text = Field(description="In your own words.", examples=["bakeries"])
    location: Text | None = Field(
        default=None, description="A name on the map; beside an area or a center it is a label."
    )
    radius_km: float | None = Field(default=None, gt=0)
    center: PointIn | None = None
    area: AreaIn | None = None
    provider: SearchProvider = SearchProvider.GOOGLE
    max_results: Annotated[int, Field(strict=True, ge=1, le=MAX_RESULTS_LIMIT)] | None = Field(
        default=None, description="Places at most; PLACE_SEARCH_MAX_RESULTS when left out."
    )
    filters: FiltersIn = Field(default_factory=FiltersIn)
    language: str | None = Field(default=None, pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")
    region: str | None = Field(default=None, pattern=r"^[A-Za-z]{2}$", examples=["DE"])
    go_on: bool = Field(
        default=True, description="Whether what is found goes on by itself: to leads, in the end."
    )
    repeat_days: Days | None = Field(
        default=None, description="Search again every so many days, and tell what changed."
    )
    dry_run: bool = Field(default=False, description="Only say what it would cost.")


class RepeatIn(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"every_days": 30}]})

    every_days: Days
