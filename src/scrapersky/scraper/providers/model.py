"""Queries to a place provider, and its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class OperationalStatus(StrEnum):
    """Whether a business is open for business at all; not its hours."""

    OPERATIONAL = "operational"
    CLOSED_TEMPORARILY = "closed_temporarily"
    CLOSED_PERMANENTLY = "closed_permanently"
    FUTURE_OPENING = "future_opening"


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle on the map, in degrees; `west` is greater than `east` across the date line."""

    south: float
    west: float
    north: float
    east: float


@dataclass(frozen=True, slots=True)
class PlaceAddress:
    """The parts that are known."""

    street: str | None = None
    house_number: str | None = None
    postal_code: str | None = None
    city: str | None = None
    region: str | None = None
    country: str | None = None
    """Two letters, upper case."""


@dataclass(frozen=True, slots=True)
class PlaceFacts:
    """A place as one provider knows it; what it says nothing of is nothing here, too."""

    provider: str
    place_id: str
    name: str | None = None
    address_text: str | None = None
    address: PlaceAddress = field(default_factory=PlaceAddress)
    latitude: float | None = None
    longitude: float | None = None
    phone: str | None = None
    """E.164, where it can be read as a number at all."""
    phone_raw: str | None = None
    website: str | None = None
    """As the provider has it."""
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
    """Whether everything we ask for was asked for: what is missing then is not known at all."""
    moved_to: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)
    """The provider's own words."""
    oddities: tuple[str, ...] = ()
    """What was left out because it could not be: coordinates out of range, a name of spaces."""


@dataclass(frozen=True, slots=True)
class PlaceQuery:
    """What is looked for."""

    business_type: str
    """In a person's words: `bakery`, `vegan restaurants`."""
    location: str | None = None
    """Where, in a person's words; nothing when only an area was given."""
    area: Area | None = None
    language: str = "en"
    region: str | None = None
    min_rating: float | None = None
    open_now: bool = False


@dataclass(frozen=True, slots=True)
class PlacePage:
    """One answer to a query."""

    places: tuple[PlaceFacts, ...]
    next_token: str | None = None
    attribution: str | None = None
    unreadable: int = 0
    """What stood among them and is no place that could be kept."""
