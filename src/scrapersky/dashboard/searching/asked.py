"""What a search asked for, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scrapersky.dashboard.searching.wording import provider_in_words

Params = Mapping[str, Any]
YES_NO = {True: "only with one", False: "only without one"}
OPEN = {True: "only those that are", False: "only those that closed"}


def what_of(params: Params) -> str:
    """`bakery in Leipzig`."""
    return f"{params.get('business_type') or 'places'} {where_of(params)}".strip()


def where_of(params: Params) -> str:
    radius = params.get("radius_km")
    within = f"within {radius:g} km of " if radius else ""
    if location := params.get("location"):
        return f"{within}{location}" if within else f"in {location}"
    if at := params.get("center"):
        return f"{within or 'at '}{at['latitude']:.4g}, {at['longitude']:.4g}"
    if area := params.get("area"):
        return (
            f"between {area['south']:.4g}, {area['west']:.4g} "
            f"and {area['north']:.4g}, {area['east']:.4g}"
        )
    return ""


def is_named(params: Params) -> bool:
    """Whether OpenStreetMap said where it lies."""
    return bool(params.get("location") and not params.get("center") and not params.get("area"))


def facts_of(params: Params) -> dict[str, str]:
    """Everything else that was asked, for a list of facts."""
    filters = params.get("filters") or {}
    said = {
        "What": params.get("business_type"),
        "Where": where_of(params),
        "Provider": provider_in_words(params.get("provider")),
        "At most": _number(params.get("max_results"), "places"),
        "Website": _with_or_without(filters.get("has_website")),
        "Phone": _with_or_without(filters.get("has_phone")),
        "Rating": _at_least(filters.get("min_rating")),
        "In business": _open(filters.get("open")),
        "Language": params.get("language"),
        "Region": params.get("region"),
        "Goes on": None if params.get("go_on", True) else "no: the places wait to be selected",
    }
    return {name: str(value) for name, value in said.items() if value}


def _number(value: Any, noun: str) -> str | None:
    return f"{value:,} {noun}" if isinstance(value, int) else None


def _with_or_without(value: Any) -> str | None:
    return YES_NO.get(value) if isinstance(value, bool) else None


def _open(value: Any) -> str | None:
    return OPEN.get(value) if isinstance(value, bool) else None


def _at_least(value: Any) -> str | None:
    return f"{value:g} or better" if isinstance(value, int | float) else None
