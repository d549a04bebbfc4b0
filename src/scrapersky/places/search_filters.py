"""Which of the places that were found are wanted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scrapersky.models import BusinessStatus
from scrapersky.scraper.providers.geography import Point, centre, distance_m
from scrapersky.scraper.providers.model import Area

CLOSED = (BusinessStatus.CLOSED_PERMANENTLY, BusinessStatus.CLOSED_TEMPORARILY)


@dataclass(frozen=True)
class Filters:
    has_website: bool | None = None
    has_phone: bool | None = None
    min_rating: float | None = None
    open: bool | None = None
    middle: Point | None = None
    radius_km: float | None = None

    @classmethod
    def of(cls, params: Mapping[str, Any], whole: Area | None) -> Filters:
        radius = params.get("radius_km")
        middle = centre(whole) if whole is not None and radius is not None else None
        return cls(**(params.get("filters") or {}), middle=middle, radius_km=radius)

    def fit(self, place: Mapping[str, Any]) -> bool:
        return (
            _is_as_wanted(self.has_website, place["website_url"])
            and _is_as_wanted(self.has_phone, place["phone"])
            and self._is_rated(place["rating"])
            and self._is_open(place["business_status"])
            and self._is_near(place["latitude"], place["longitude"])
        )

    def _is_rated(self, rating: float | None) -> bool:
        return self.min_rating is None or (rating is not None and rating >= self.min_rating)

    def _is_open(self, status: str | None) -> bool:
        """What nobody says anything of counts as open."""
        return self.open is None or self.open == (status not in CLOSED)

    def _is_near(self, latitude: float | None, longitude: float | None) -> bool:
        """Of one that comes to its customers nobody knows where it lies."""
        if self.middle is None or self.radius_km is None or latitude is None or longitude is None:
            return True
        return distance_m(self.middle, (latitude, longitude)) <= self.radius_km * 1000


def _is_as_wanted(wanted: bool | None, value: Any) -> bool:
    return wanted is None or wanted == bool(value)
