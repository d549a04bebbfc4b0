"""Validate requests to the fake Google Places API and build its error responses."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from scrapersky.scraper.providers.google.field_masks import FieldMask, UnknownField
from scrapersky.scraper.providers.model import Area
from scrapersky.testing.places import FailureMode

SERVICE_NAME = "places.googleapis.com"
_PROJECT = "projects/20260924"
_ERROR_INFO_TYPE = "type.googleapis.com/google.rpc.ErrorInfo"
_BAD_REQUEST_TYPE = "type.googleapis.com/google.rpc.BadRequest"
_STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


@dataclass(eq=False)
class GoogleErrorResponse(Exception):
    """Error response, raised during validation and returned by the handler."""

    code: int
    message: str
    details: tuple[Mapping[str, Any], ...] = ()
    retry_after: int | None = None

    def answer(self) -> web.Response:
        error: dict[str, Any] = {
            "code": self.code,
            "message": self.message,
            "status": _STATUS_NAMES[self.code],
        }
        if self.details:
            error["details"] = [dict(each) for each in self.details]
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return web.json_response({"error": error}, status=self.code, headers=headers)


def build_invalid_argument(message: str, *, field: str = "", why: str = "") -> GoogleErrorResponse:
    """Build a 400 response, with the invalid field in the details if given."""
    if not why:
        return GoogleErrorResponse(400, message)
    violation = {"description": why, **({"field": field} if field else {})}
    return GoogleErrorResponse(
        400, message, ({"@type": _BAD_REQUEST_TYPE, "fieldViolations": [violation]},)
    )


def build_error_info(reason: str, **metadata: str) -> Mapping[str, Any]:
    about = {"service": SERVICE_NAME, **metadata}
    return {
        "@type": _ERROR_INFO_TYPE,
        "reason": reason,
        "domain": "googleapis.com",
        "metadata": about,
    }


def build_quota_error(
    method: str, *, per: str, limit: int, retry_after: int | None = None
) -> GoogleErrorResponse:
    """Build a quota error. `per` is `minute` or `day`; the responses differ only slightly."""
    metric = f"{method}Request"
    which = (
        {"quota_unit": "1/d/{project}"}
        if per == "day"
        else {"quota_limit": f"{metric}PerMinutePerProject"}
    )
    return GoogleErrorResponse(
        429,
        f"Quota exceeded for quota metric '{metric}' and limit '{metric} per {per}' of service "
        f"'{SERVICE_NAME}' for consumer 'project_number:20260924'.",
        (
            build_error_info(
                "RATE_LIMIT_EXCEEDED", quota_limit_value=str(limit), consumer=_PROJECT, **which
            ),
        ),
        retry_after,
    )


def build_invalid_key_error() -> GoogleErrorResponse:
    message = "API key not valid. Please pass a valid API key."
    return GoogleErrorResponse(400, message, (build_error_info("API_KEY_INVALID"),))


def build_missing_key_error() -> GoogleErrorResponse:
    return GoogleErrorResponse(
        403,
        "Method doesn't allow unregistered callers (callers without established identity). Please "
        "use API Key or other form of API consumer identity to call this API.",
    )


def get_planned_error(
    trouble: FailureMode, method: str, retry_after: int | None
) -> GoogleErrorResponse | None:
    """Return the error response of a failure mode, or None if it is not an error response."""
    known = {
        FailureMode.MINUTE_QUOTA: build_quota_error(
            method, per="minute", limit=600, retry_after=retry_after
        ),
        FailureMode.DAY_QUOTA: build_quota_error(
            method, per="day", limit=75_000, retry_after=retry_after
        ),
        FailureMode.UNNAMED_QUOTA: GoogleErrorResponse(
            429, "Resource has been exhausted (e.g. check quota).", retry_after=retry_after
        ),
        FailureMode.KEY_INVALID: build_invalid_key_error(),
        FailureMode.NO_KEY: build_missing_key_error(),
        FailureMode.SERVICE_DISABLED: GoogleErrorResponse(
            403,
            "Places API (New) has not been used in project 20260924 before or it is disabled.",
            (build_error_info("SERVICE_DISABLED", consumer=_PROJECT),),
        ),
        FailureMode.KEY_BLOCKED: GoogleErrorResponse(
            403,
            f"Requests to this API {SERVICE_NAME} method google.maps.places.v1.Places.{method} are "
            "blocked.",
            (build_error_info("API_KEY_SERVICE_BLOCKED"),),
        ),
        FailureMode.ADDRESS_BLOCKED: GoogleErrorResponse(
            403,
            "Requests from IP address 198.51.100.7 are blocked.",
            (build_error_info("API_KEY_IP_ADDRESS_BLOCKED"),),
        ),
        FailureMode.REFERRER_BLOCKED: GoogleErrorResponse(
            403,
            "Requests from referer <empty> are blocked.",
            (build_error_info("API_KEY_HTTP_REFERRER_BLOCKED"),),
        ),
        FailureMode.BILLING_OFF: GoogleErrorResponse(
            403,
            "This API method requires billing to be enabled.",
            (build_error_info("BILLING_DISABLED", consumer=_PROJECT),),
        ),
        FailureMode.FORBIDDEN: GoogleErrorResponse(403, "The caller does not have permission"),
        FailureMode.SERVER_ERROR: GoogleErrorResponse(500, "Internal error encountered."),
        FailureMode.UNAVAILABLE: GoogleErrorResponse(
            503, "The service is currently unavailable.", retry_after=retry_after
        ),
    }
    return known.get(trouble)


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
_UNBOUND_NAMES = ("maxResultCount", "pageSize", "pageToken")
"""Names that may change between pages. The token is bound to all others."""
_MISSING_MASK = (
    "FieldMask is a required parameter. Give it as the `$fields` URL parameter or as the "
    "`X-Goog-FieldMask` HTTP/gRPC header."
)
_MANY_LOCATIONS = "Only one of location_bias and location_restriction can be set."


def check_key(request: web.BaseRequest, keys: frozenset[str]) -> None:
    key = request.headers.get("X-Goog-Api-Key") or request.query.get("key")
    if not key:
        raise build_missing_key_error()
    if key not in keys:
        raise build_invalid_key_error()


def parse_mask(request: web.BaseRequest, method: str) -> FieldMask:
    query = request.query
    text = request.headers.get("X-Goog-FieldMask") or query.get("$fields") or query.get("fields")
    if not text:
        raise build_invalid_argument(_MISSING_MASK)
    mask = FieldMask(method, tuple(text.split(",")))
    try:
        _ = mask.tier
    except UnknownField as error:
        raise build_invalid_argument(
            "Request contains an invalid argument.",
            field=text,
            why="Error expanding 'fields' parameter. Cannot find matching fields for path "
            f"'{error.path}'.",
        ) from error
    return mask


async def parse_body(request: web.BaseRequest) -> dict[str, Any]:
    try:
        body = json.loads(await request.read() or b"{}")
    except ValueError as error:
        raise build_invalid_argument("Invalid JSON payload received. Unexpected token.") from error
    if not isinstance(body, dict):
        raise build_invalid_argument("Invalid JSON payload received.")
    for name in body:
        if name not in KNOWN_NAMES:
            message = f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
            raise build_invalid_argument(message, why=message)
    _check_types(body)
    _check_values(body)
    return body


def _check_types(body: Mapping[str, Any]) -> None:
    kinds = ((_BOOLEANS, bool), (_TEXTS, str), (_NUMBERS, int | float))
    for names, kind in kinds:
        for name in names:
            if name in body and not isinstance(body[name], kind):
                raise build_invalid_argument(
                    f"Invalid value at '{name}'.", field=name, why="Invalid value."
                )


def _check_values(body: Mapping[str, Any]) -> None:
    if not str(body.get("textQuery", "")).strip():
        raise build_invalid_argument("Empty text_query.\n")
    if body.get("pageSize", 0) < 0:
        raise build_invalid_argument("page_size must not be negative.")
    if not 0 <= body.get("minRating", 0) <= 5:
        raise build_invalid_argument("min_rating must be between 0 and 5.")
    if "locationBias" in body and "locationRestriction" in body:
        raise build_invalid_argument(_MANY_LOCATIONS)
    if (region := body.get("regionCode")) and len(region) != 2:
        raise build_invalid_argument("Invalid region_code.")


def parse_area(body: Mapping[str, Any]) -> Area | None:
    """Return the restricted area. A bias does not exclude any place."""
    restriction = body.get("locationRestriction")
    if restriction is None:
        bias = body.get("locationBias")
        if bias is not None and "rectangle" in bias:
            _parse_rectangle(bias["rectangle"])
        return None
    if set(restriction) != {"rectangle"}:
        raise build_invalid_argument("location_restriction takes a rectangle.")
    return _parse_rectangle(restriction["rectangle"])


def _parse_rectangle(rectangle: Mapping[str, Any]) -> Area:
    low, high = (_parse_point(rectangle.get(name)) for name in ("low", "high"))
    wide = high[1] - low[1] + (360 if high[1] < low[1] else 0)
    if low[0] > high[0]:
        raise build_invalid_argument(
            "Invalid rectangle: low latitude is greater than high latitude."
        )
    if wide > 180:
        raise build_invalid_argument("Invalid rectangle: it is wider than 180 degrees.")
    return Area(low[0], low[1], high[0], high[1])


def _parse_point(value: object) -> tuple[float, float]:
    point = value if isinstance(value, dict) else {}
    latitude, longitude = point.get("latitude", 0), point.get("longitude", 0)
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise build_invalid_argument("Invalid LatLng: it is out of range.")
    return float(latitude), float(longitude)


def parse_min_rating(body: Mapping[str, Any]) -> float:
    """Parse the minimum rating. Other values than halves are rounded up."""
    return math.ceil(float(body.get("minRating", 0)) * 2) / 2


def compute_fingerprint(body: Mapping[str, Any]) -> str:
    """Return the fingerprint to which a page token is bound."""
    bound = {name: each for name, each in body.items() if name not in _UNBOUND_NAMES}
    return hashlib.blake2b(json.dumps(bound, sort_keys=True).encode(), digest_size=12).hexdigest()


def build_paging_error() -> GoogleErrorResponse:
    return build_invalid_argument(
        "Request parameters for paging requests must match the initial SearchText request."
    )
