"""Fake Google Places (New): text search and place details."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from scrapersky.scraper.providers.google.field_masks import DETAILS, SEARCH, FieldMask
from scrapersky.testing.google_api import (
    GoogleErrorResponse,
    build_invalid_argument,
    build_paging_error,
    build_quota_error,
    check_key,
    compute_fingerprint,
    get_planned_error,
    parse_area,
    parse_body,
    parse_mask,
    parse_min_rating,
)
from scrapersky.testing.places import (
    Bill,
    FailureMode,
    FakeMap,
    FakePlace,
    PlannedFailure,
    ProviderService,
    RecordedRequest,
    build_broken_response,
)

_PRICE_WORDS = ("FREE", "INEXPENSIVE", "MODERATE", "EXPENSIVE", "VERY_EXPENSIVE")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def build_place(place: FakePlace, language: str) -> dict[str, Any]:
    """Build the complete place. Unknown fields are omitted, as in Google's JSON."""
    fields: dict[str, Any] = {
        "name": f"places/{place.place_id}",
        "id": place.place_id,
        "types": [*place.types, "point_of_interest", "establishment"],
        "primaryType": place.types[0] if place.types else None,
        "primaryTypeDisplayName": {"text": place.category, "languageCode": language},
        "displayName": _localize(place.name, language),
        "nationalPhoneNumber": place.phone_national or _format_national(place.phone),
        "internationalPhoneNumber": place.phone,
        "rating": place.rating,
        "userRatingCount": place.reviews_count,
        "websiteUri": place.website,
        "googleMapsUri": f"https://maps.google.com/?cid={place.osm_id}",
        "businessStatus": place.status.value.upper(),
        "priceLevel": _format_price(place.price_level),
        "regularOpeningHours": _build_hours(place),
        "utcOffsetMinutes": 60,
        "timeZone": {"id": "Europe/Berlin"},
        "pureServiceAreaBusiness": place.is_service_area or None,
        "movedPlace": f"places/{place.moved_to}" if place.moved_to else None,
        "movedPlaceId": place.moved_to,
        **({} if place.is_service_area else _build_address(place, language)),
        **place.extra,
    }
    return {name: value for name, value in fields.items() if value is not None}


def apply_mask(document: Mapping[str, Any], paths: Iterable[str]) -> dict[str, Any]:
    """Keep only the fields and subfields named by the paths."""
    subfields: dict[str, list[str]] = {}
    for path in paths:
        name, _, rest = path.partition(".")
        subfields.setdefault(name, []).append(rest)
    if "*" in subfields:
        return dict(document)
    return {
        name: _mask_value(document[name], subfields[name]) for name in document if name in subfields
    }


def _mask_value(value: Any, parts: list[str]) -> Any:
    if "" in parts:
        return value
    if isinstance(value, list):
        return [_mask_value(each, parts) for each in value]
    return apply_mask(value, parts) if isinstance(value, Mapping) else value


def _localize(text: str | None, language: str) -> dict[str, str] | None:
    return None if text is None else {"text": text, "languageCode": language}


def _format_national(phone: str | None) -> str | None:
    return None if phone is None else "0" + phone.partition(" ")[2]


def _format_price(level: int | None) -> str | None:
    return None if level is None else f"PRICE_LEVEL_{_PRICE_WORDS[level]}"


def _build_hours(place: FakePlace) -> dict[str, Any]:
    if place.always_open:
        opens = {"day": 0, "hour": 0, "minute": 0}
        lines = [f"{day}: Open 24 hours" for day in _DAYS]
        return {"openNow": True, "periods": [{"open": opens}], "weekdayDescriptions": lines}
    periods = [
        {
            "open": {"day": day, "hour": 7, "minute": 30},
            "close": {"day": day, "hour": 18, "minute": 0},
        }
        for day in range(1, 6)
    ]
    open_days = [f"{day}: 7:30 AM – 6:00 PM" for day in _DAYS[:5]]
    lines = [*open_days, "Saturday: Closed", "Sunday: Closed"]
    return {"openNow": place.open_now, "periods": periods, "weekdayDescriptions": lines}


def _build_address(place: FakePlace, language: str) -> dict[str, Any]:
    line = " ".join(filter(None, (place.street, place.house_number)))
    town = " ".join(filter(None, (place.postal_code, place.city)))
    postal = {
        "regionCode": place.country,
        "languageCode": language,
        "postalCode": place.postal_code,
        "administrativeArea": place.region,
        "locality": place.city,
        "addressLines": [line] if line else None,
    }
    return {
        "formattedAddress": ", ".join(filter(None, (line, town, place.country))),
        "shortFormattedAddress": ", ".join(filter(None, (line, place.city))),
        "addressComponents": _build_components(place, language),
        "postalAddress": {name: each for name, each in postal.items() if each is not None},
        "location": {"latitude": place.latitude, "longitude": place.longitude},
        "viewport": {
            "low": {"latitude": place.latitude - 0.001, "longitude": place.longitude - 0.001},
            "high": {"latitude": place.latitude + 0.001, "longitude": place.longitude + 0.001},
        },
    }


def _build_components(place: FakePlace, language: str) -> list[dict[str, Any]]:
    parts = (
        (place.house_number, ["street_number"]),
        (place.street, ["route"]),
        (place.city, ["locality", "political"]),
        (place.region, ["administrative_area_level_1", "political"]),
        (place.country, ["country", "political"]),
        (place.postal_code, ["postal_code"]),
    )
    return [
        {"longText": text, "shortText": text, "types": types, "languageCode": language}
        for text, types in parts
        if text
    ]


PAGE_SIZE = 20
MAX_RESULTS = 60
_PLACE_ID = re.compile(r"[\w-]{10,}")
_ODD_PLACES = [None, 7, "x", {"id": 4}, {"id": "ChIJodd-odd-odd", "displayName": ["x"]}]


class FakeGoogle:
    def __init__(self, world: FakeMap, bill: Bill, keys: frozenset[str]) -> None:
        self._map = world
        self._bill = bill
        self.keys = keys
        self._tokens: dict[str, tuple[str, int]] = {}
        """Fingerprint and start position of each page token."""
        self.day_limits: dict[str, int] = {}
        self.day_counts: Counter[str] = Counter()

    async def answer(
        self, request: web.BaseRequest, planned: PlannedFailure | None
    ) -> web.StreamResponse | None:
        """Handle a request. Return None to drop the connection."""
        method = SEARCH if request.path == "/v1/places:searchText" else DETAILS
        call = _Request(method)
        try:
            document = await self._document(request, call, planned)
        except GoogleErrorResponse as refused:
            self._record(call, refused.code)
            return refused.answer()
        response = (
            build_broken_response(planned, document) if planned else None
        ) or web.json_response(document)
        self._record(call, response.status)
        return None if planned is not None and planned.trouble is FailureMode.CUT else response

    async def _document(
        self, request: web.BaseRequest, call: _Request, planned: PlannedFailure | None
    ) -> dict[str, Any]:
        check_key(request, self.keys)
        self._count_daily_request(call.method)
        if planned and (
            refusal := get_planned_error(planned.trouble, call.method, planned.retry_after)
        ):
            raise refusal
        call.mask = parse_mask(request, call.method)
        trouble = planned.trouble if planned else None
        if call.method == SEARCH:
            return self._search(await parse_body(request), call, trouble)
        return self._details(request, call)

    def _count_daily_request(self, method: str) -> None:
        """Count a request against the daily quota, unless the quota rejects it."""
        limit = self.day_limits.get(method)
        if limit is not None and self.day_counts[method] >= limit:
            raise build_quota_error(method, per="day", limit=limit)
        self.day_counts[method] += 1

    # Search

    def _search(
        self, body: dict[str, Any], call: _Request, trouble: FailureMode | None
    ) -> dict[str, Any]:
        call.text = body["textQuery"]
        call.area = str(body.get("locationRestriction") or "")
        start = self._start(body)
        call.page = start // PAGE_SIZE + 1
        if trouble is FailureMode.ODD_PLACES:
            return {"places": _ODD_PLACES}
        shift = 1 if trouble is FailureMode.CHANGED and start else 0
        places = self._search_places(body)[: MAX_RESULTS + shift]
        size = min(int(body.get("pageSize") or body.get("maxResultCount") or PAGE_SIZE), PAGE_SIZE)
        page = places[max(0, start - shift) : start - shift + size]
        answer: dict[str, Any] = {}
        if page:
            answer["places"] = self._masked(page, call.mask, str(body.get("languageCode", "en")))
        if start + size < min(len(places), MAX_RESULTS):
            answer["nextPageToken"] = self._token(body, start + size)
        if trouble is FailureMode.REPEATED_TOKEN and "pageToken" in body:
            answer["nextPageToken"] = body["pageToken"]
        return apply_mask(answer, ("places", *(call.mask.paths if call.mask else ())))

    def _start(self, body: Mapping[str, Any]) -> int:
        if "pageToken" not in body:
            return 0
        known = self._tokens.get(body["pageToken"])
        if known is None:
            raise build_invalid_argument("Invalid page_token.")
        if known[0] != compute_fingerprint(body):
            raise build_paging_error()
        return known[1]

    def _token(self, body: Mapping[str, Any], start: int) -> str:
        bound_to = compute_fingerprint(body)
        token = f"AeeoHc-{bound_to}-{start}"
        self._tokens[token] = (bound_to, start)
        return token

    def _search_places(self, body: Mapping[str, Any]) -> list[FakePlace]:
        area = parse_area(body)
        what, _, where = str(body["textQuery"]).partition(" in ")
        named = self._map.find_area(where) if where else None
        if where and named is None and area is None:
            return []
        if area is None and named is not None:
            area = named.area
        matching = self._map.iter_matching(what, area)
        if named is not None and area is not named.area:
            inside = {each.place_id for each in self._map.iter_matching(what, named.area)}
            matching = (each for each in matching if each.place_id in inside)
        return [each for each in matching if _is_visible(each, body)]

    def _masked(
        self, places: Sequence[FakePlace], mask: FieldMask | None, language: str
    ) -> list[dict[str, Any]]:
        paths = [path.removeprefix("places.") for path in mask.paths] if mask else []
        paths = ["*" if path in ("places", "*") else path for path in paths]
        return [apply_mask(build_place(each, language), paths) for each in places]

    # Details

    def _details(self, request: web.BaseRequest, call: _Request) -> dict[str, Any]:
        place_id = unquote(request.path.removeprefix("/v1/places/"))
        call.text = place_id
        if not _PLACE_ID.fullmatch(place_id):
            raise build_invalid_argument(f"Not a valid Place ID: {place_id}")
        known = (each for each in self._map.places if each.place_id == place_id)
        place = next((each for each in known if not each.gone), None)
        if place is None:
            raise GoogleErrorResponse(
                404,
                "The provided Place ID is no longer valid. Please refresh cached Place IDs.",
            )
        language = request.query.get("languageCode", "en")
        return apply_mask(build_place(place, language), call.mask.paths if call.mask else ())

    def _record(self, call: _Request, status: int) -> None:
        self._bill.requests.append(
            RecordedRequest(
                service=ProviderService.GOOGLE,
                method=call.method,
                sku=call.mask.sku if call.mask else None,
                page=call.page,
                status=status,
                billed=status == 200,
                text=call.text,
                mask=call.mask.header if call.mask else "",
                area=call.area,
            )
        )


class _Request:
    """Facts collected while a request is handled, for the bill."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.mask: FieldMask | None = None
        self.page = 1
        self.text = ""
        self.area = ""


def _is_visible(place: FakePlace, body: Mapping[str, Any]) -> bool:
    if place.gone or not place.google:
        return False
    if place.is_service_area and not body.get("includePureServiceAreaBusinesses", False):
        return False
    if body.get("openNow", False) and not place.open_now:
        return False
    min_rating = parse_min_rating(body)
    return min_rating == 0 or (place.rating or 0) >= min_rating
