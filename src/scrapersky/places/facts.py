"""What a provider said of a place, written into its row: only what differs, and what differs is
told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import func, null

from scrapersky.models import Place
from scrapersky.scraper.providers.model import PlaceFacts

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
Changes = dict[str, list[Any]]
"""{field: [before, after]}"""

TOLD = frozenset(
    {
        "name",
        "formatted_address",
        "phone",
        "website_url",
        "emails",
        "profiles",
        "category",
        "business_status",
        "is_service_area",
        "moved_to",
    }
)
"""Whose changes people want to hear of; ratings and hours change all the time."""


def place_values(facts: PlaceFacts) -> dict[str, Any]:
    """The columns of a place that the facts speak of: all of them when everything was asked for,
    otherwise those that were answered."""
    values = {
        "name": facts.name,
        "formatted_address": facts.address_text,
        "address_parts": {k: v for k, v in asdict(facts.address).items() if v is not None},
        "latitude": facts.latitude,
        "longitude": facts.longitude,
        "phone": facts.phone,
        "phone_raw": facts.phone_raw,
        "website_url": facts.website,
        "emails": list(facts.emails),
        "profiles": list(facts.profiles),
        "types": list(facts.types),
        "category": facts.category,
        "rating": facts.rating,
        "user_ratings_total": facts.reviews_count,
        "price_level": facts.price_level,
        "business_status": None if facts.status is None else facts.status.value,
        "hours": None if facts.hours is None else dict(facts.hours),
        "maps_url": facts.maps_url,
        "is_service_area": facts.is_service_area,
        "moved_to": facts.moved_to,
        "raw_data": _raw(facts),
    }
    said = values if facts.has_details else {k: v for k, v in values.items() if _is_said(v)}
    return {name: storable(value) for name, value in said.items()}


def _raw(facts: PlaceFacts) -> dict[str, Any]:
    """The provider's words, and what of them could not be taken: nobody would know otherwise why a
    place has no coordinates."""
    odd = {"oddities": list(facts.oddities)} if facts.oddities else {}
    return {**facts.raw, **odd}


def _is_said(value: Any) -> bool:
    return value not in (None, False, [], {})


def storable(value: Any) -> Any:
    """Without the few characters that PostgreSQL cannot keep, however deep they stand."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("", value)
    if isinstance(value, Mapping):
        return {storable(k): storable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [storable(each) for each in value]
    return value


def write_facts(place: Place, facts: PlaceFacts) -> Changes:
    """Into the row, which is the caller's to keep. What people decided is none of the facts."""
    changes: Changes = {}
    for name, after in place_values(facts).items():
        before = getattr(place, name)
        if before != after:
            # In a column of documents a plain None would be the document `null`.
            setattr(place, name, null() if name == "hours" and after is None else after)
            if name in TOLD:
                changes[name] = [before, after]
    place.seen_at = func.now()
    place.gone_at = None
    if facts.has_details:
        place.details_at = func.now()
    return changes
