"""What a request to the fake Google must look like, or it is refused as there."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from scrapersky.demo.provider.google_errors import Refused, invalid, key_invalid, no_key
from scrapersky.scraper.providers.google.masks import Mask, UnknownField
from scrapersky.scraper.providers.model import Area

_BOOLEANS = (
    "includeFutureOpeningBusinesses",
    "includePureServiceAreaBusinesses",
    "openNow",
    "strictTypeFiltering",
)
_TEXTS = ("includedType", "languageCode", "pageToken", "rankPreference", "regionCode", "textQuery")
_NUMBERS = ("maxResultCount", "minRating", "pageSize")
_OTHERS = (
    "evOptions",
    "locationBias",
    "locationRestriction",
    "priceLevels",
    "routingParameters",
    "searchAlongRouteParameters",
)
KNOWN_NAMES = frozenset((*_BOOLEANS, *_TEXTS, *_NUMBERS, *_OTHERS))
_MAY_CHANGE = ("maxResultCount", "pageSize", "pageToken")
"""From one page to the next; all else is bound to the token."""
_NO_MASK = (
    "FieldMask is a required parameter. Give it as the `$fields` URL parameter or as the "
    "`X-Goog-FieldMask` HTTP/gRPC header."
)
_MANY_LOCATIONS = "Only one of location_bias and location_restriction can be set."


def check_key(request: web.BaseRequest, keys: frozenset[str]) -> None:
    key = request.headers.get("X-Goog-Api-Key") or request.query.get("key")
    if not key:
        raise no_key()
    if key not in keys:
        raise key_invalid()


def mask_in(request: web.BaseRequest, method: str) -> Mask:
    query = request.query
    given = request.headers.get("X-Goog-FieldMask") or query.get("$fields") or query.get("fields")
    if not given:
        raise invalid(_NO_MASK)
    mask = Mask(method, tuple(given.split(",")))
    try:
        _ = mask.tier
    except UnknownField as error:
        raise invalid(
            "Request contains an invalid argument.",
            field=given,
            why="Error expanding 'fields' parameter. Cannot find matching fields for path "
            f"'{error.path}'.",
        ) from error
    return mask


async def body_of(request: web.BaseRequest) -> dict[str, Any]:
    try:
        body = json.loads(await request.read() or b"{}")
    except ValueError as error:
        raise invalid("Invalid JSON payload received. Unexpected token.") from error
    if not isinstance(body, dict):
        raise invalid("Invalid JSON payload received.")
    for name in body:
        if name not in KNOWN_NAMES:
            said = f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
            raise invalid(said, why=said)
    _check_types(body)
    _check_values(body)
    return body


def _check_types(body: Mapping[str, Any]) -> None:
    kinds = ((_BOOLEANS, bool), (_TEXTS, str), (_NUMBERS, int | float))
    for names, kind in kinds:
        for name in names:
            if name in body and not isinstance(body[name], kind):
                raise invalid(f"Invalid value at '{name}'.", field=name, why="Invalid value.")


def _check_values(body: Mapping[str, Any]) -> None:
    if not str(body.get("textQuery", "")).strip():
        raise invalid("Empty text_query.\n")
    if body.get("pageSize", 0) < 0:
        raise invalid("page_size must not be negative.")
    if not 0 <= body.get("minRating", 0) <= 5:
        raise invalid("min_rating must be between 0 and 5.")
    if "locationBias" in body and "locationRestriction" in body:
        raise invalid(_MANY_LOCATIONS)
    if (region := body.get("regionCode")) and len(region) != 2:
        raise invalid("Invalid region_code.")


def area_in(body: Mapping[str, Any]) -> Area | None:
    """Of the restriction; a bias keeps nobody out."""
    restriction = body.get("locationRestriction")
    if restriction is None:
        bias = body.get("locationBias")
        if bias is not None and "rectangle" in bias:
            _rectangle(bias["rectangle"])
        return None
    if set(restriction) != {"rectangle"}:
        raise invalid("location_restriction takes a rectangle.")
    return _rectangle(restriction["rectangle"])


def _rectangle(rectangle: Mapping[str, Any]) -> Area:
    low, high = (_point(rectangle.get(name)) for name in ("low", "high"))
    wide = high[1] - low[1] + (360 if high[1] < low[1] else 0)
    if low[0] > high[0]:
        raise invalid("Invalid rectangle: low latitude is greater than high latitude.")
    if wide > 180:
        raise invalid("Invalid rectangle: it is wider than 180 degrees.")
    return Area(low[0], low[1], high[0], high[1])


def _point(value: object) -> tuple[float, float]:
    point = value if isinstance(value, dict) else {}
    latitude, longitude = point.get("latitude", 0), point.get("longitude", 0)
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise invalid("Invalid LatLng: it is out of range.")
    return float(latitude), float(longitude)


def rating_wanted(body: Mapping[str, Any]) -> float:
    """Halves only; others go up to the next."""
    return math.ceil(float(body.get("minRating", 0)) * 2) / 2


def fingerprint(body: Mapping[str, Any]) -> str:
    """What a page's token is bound to."""
    bound = {name: each for name, each in body.items() if name not in _MAY_CHANGE}
    return hashlib.blake2b(json.dumps(bound, sort_keys=True).encode(), digest_size=12).hexdigest()


def paging_mismatch() -> Refused:
    return invalid(
        "Request parameters for paging requests must match the initial SearchText request."
    )
