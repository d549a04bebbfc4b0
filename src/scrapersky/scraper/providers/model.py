"""Queries to a place provider, and its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class OperationalStatus(StrEnum):
    """Whether a business operates at all, regardless of its opening hours."""

    OPERATIONAL = "operational"
    CLOSED_TEMPORARILY = "closed_temporarily"
    CLOSED_PERMANENTLY = "closed_permanently"
    FUTURE_OPENING = "future_opening"


@dataclass(frozen=True, slots=True)
class Area:
    """Rectangle in degrees. `west` is greater than `east` if it crosses the date line."""

    south: float
    west: float
    north: float
    east: float


@dataclass(frozen=True, slots=True)
class PlaceAddress:
    """Known parts of an address."""

    street: str | None = None
    house_number: str | None = None
    postal_code: str | None = None
    city: str | None = None
    region: str | None = None
    country: str | None = None
    """Two upper-case letters."""

    def format_line(self) -> str | None:
        """Return street and city in one line, or None if neither is known."""
        line = " ".join(filter(None, (self.street, self.house_number)))
        town = " ".join(filter(None, (self.postal_code, self.city)))
        return ", ".join(filter(None, (line, town))) or None


@dataclass(frozen=True, slots=True)
class PlaceFacts:
    """Place as described by one provider. Unknown values are None or empty."""

    provider: str
    place_id: str
    name: str | None = None
    address_text: str | None = None
    address: PlaceAddress = field(default_factory=PlaceAddress)
    latitude: float | None = None
    longitude: float | None = None
    phone: str | None = None
    """E.164, if it could be parsed."""
    phone_raw: str | None = None
    website: str | None = None
    """As given by the provider."""
    emails: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    category: str | None = None
    rating: float | None = None
    reviews_count: int | None = None
    price_level: int | None = None
    status: OperationalStatus | None = None
    hours: Mapping[str, Any] | None = None
    maps_url: str | None = None
    is_service_area: bool = False
    has_details: bool = False
    """Whether all fields were requested, so that a missing value is unknown to the provider."""
    moved_to: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)
    """Original data of the provider."""
    oddities: tuple[str, ...] = ()
    """Problems with values that were left out, such as coordinates out of range or a blank name."""


@dataclass(frozen=True, slots=True)
class PlaceQuery:
    """Query to a place provider."""

    business_type: str
    """Free text, such as `bakery` or `vegan restaurants`."""
    location: str | None = None
    """Free text, or None if only an area was given."""
    area: Area | None = None
    language: str = "en"
    region: str | None = None
    min_rating: float | None = None
    open_now: bool = False


@dataclass(frozen=True, slots=True)
class PlacePage:
    """One page of results."""

    places: tuple[PlaceFacts, ...]
    next_token: str | None = None
    attribution: str | None = None
    unreadable: int = 0
    """Number of results that could not be parsed."""
