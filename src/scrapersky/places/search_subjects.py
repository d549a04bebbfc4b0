"""What a search is about, in one spelling: two that mean the same are the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scrapersky.models import Provider


def plain(text: str) -> str:
    return " ".join(text.split()).lower()


def subject_of(params: Mapping[str, Any]) -> str:
    """`bakeries in leipzig, 200 at most, with website`."""
    first = f"{plain(params['business_type'])} {_where(params)}"
    return ", ".join([first, *_more(params), *_filtered(params.get("filters") or {})])


def _where(params: Mapping[str, Any]) -> str:
    radius = params.get("radius_km")
    if area := params.get("area"):
        edges = (f"{area[side]:.5f}" for side in ("south", "west", "north", "east"))
        return f"between {' '.join(edges)}"
    if at := params.get("center"):
        return f"within {radius:g} km of {at['latitude']:.5f} {at['longitude']:.5f}"
    around = "" if radius is None else f"within {radius:g} km of the middle of "
    return f"in {around}{plain(params.get('location') or '')}"


def _more(params: Mapping[str, Any]) -> Iterator[str]:
    if params.get("provider") != Provider.GOOGLE:
        yield f"at {params['provider']}"
    yield f"{params['max_results']:,} at most"
    if params.get("language"):
        yield f"language {params['language'].lower()}"
    if params.get("region"):
        yield f"region {params['region'].upper()}"
    if not params.get("go_on", True):
        yield "not going on"


def _filtered(filters: Mapping[str, Any]) -> Iterator[str]:
    for name in ("website", "phone"):
        wanted = filters.get(f"has_{name}")
        if wanted is not None:
            yield f"{'with' if wanted else 'without'} {name}"
    if filters.get("min_rating") is not None:
        yield f"rated {filters['min_rating']:g} at least"
    if filters.get("open") is not None:
        yield "open" if filters["open"] else "closed"
