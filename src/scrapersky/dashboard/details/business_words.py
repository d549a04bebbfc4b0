"""How what is known of businesses reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

DAYS_SHOWN = 14
PRICES = ("free", "inexpensive", "moderate", "expensive", "very expensive")
MATCHED = {
    "first": "It was the first to tell us of it",
    "place_id": "Known by the provider's own id",
    "moved": "The provider says that it moved",
    "domain": "Taken for it by the same website",
    "phone": "Taken for it by the same phone number",
    "name_and_distance": "Taken for it by its name and where it lies",
    "person": "A person said so",
}


def matched_in_words(by: str) -> str:
    """Why a sighting is taken for a business."""
    return MATCHED.get(by, f"Taken for it by {by.replace('_', ' ')}")


def price_in_words(level: int | None) -> str | None:
    return PRICES[level] if level is not None and 0 <= level < len(PRICES) else None


def hours_of(hours: Mapping[str, Any] | None) -> Sequence[str]:
    """A line a day where there are days, else as it was written."""
    if not hours:
        return ()
    if hours.get("always_open"):
        return ("always open",)
    days = hours.get("days")
    if isinstance(days, list) and days:
        return [str(each) for each in days[:DAYS_SHOWN]]
    written = hours.get("osm")
    return (written,) if isinstance(written, str) else ()
