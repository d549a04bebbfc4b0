"""The body of a text search, made of what a person looks for."""

from __future__ import annotations

import math
from typing import Any

from scrapersky.scraper.providers.model import Area, PlaceQuery

PAGE_SIZE = 20
"""The most that Google gives at once."""
MOST_RESULTS = 60
"""The most that Google gives over all pages of a search; an area that has so many may have more."""


def text_query(query: PlaceQuery) -> str:
    what = " ".join(query.business_type.split())
    where = " ".join((query.location or "").split())
    return f"{what} in {where}" if where else what


def search_body(query: PlaceQuery, page_token: str | None = None) -> dict[str, Any]:
    """Every page repeats the whole request: Google binds the token to it."""
    body: dict[str, Any] = {
        "textQuery": text_query(query),
        "pageSize": PAGE_SIZE,
        "languageCode": query.language,
        # Otherwise those that come to their customers, plumbers say, are left out.
        "includePureServiceAreaBusinesses": True,
    }
    if query.region:
        body["regionCode"] = query.region.upper()
    if query.area is not None:
        body["locationRestriction"] = {"rectangle": rectangle(query.area)}
    if query.open_now:
        body["openNow"] = True
    if query.min_rating is not None:
        body["minRating"] = rating_asked(query.min_rating)
    if page_token is not None:
        body["pageToken"] = page_token
    return body


def rating_asked(min_rating: float) -> float:
    """The half below: Google takes halves only and would go up from others, past some that fit."""
    return min(5.0, max(0.0, math.floor(min_rating * 2) / 2))


def rectangle(area: Area) -> dict[str, Any]:
    return {
        "low": {"latitude": area.south, "longitude": area.west},
        "high": {"latitude": area.north, "longitude": area.east},
    }
