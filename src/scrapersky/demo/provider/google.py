"""The fake Google Places (New): text search and place details."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from scrapersky.demo.provider.bill import Asked, Bill
from scrapersky.demo.provider.breakages import broken
from scrapersky.demo.provider.google_errors import Refused, invalid, quota, refusal_of
from scrapersky.demo.provider.google_places import masked, whole_place
from scrapersky.demo.provider.google_requests import (
    area_in,
    body_of,
    check_key,
    fingerprint,
    mask_in,
    paging_mismatch,
    rating_wanted,
)
from scrapersky.demo.provider.map import FakeMap, FakePlace
from scrapersky.demo.provider.troubles import Planned, Service, Trouble
from scrapersky.scraper.providers.google.masks import DETAILS, SEARCH, Mask

PAGE = 20
MOST = 60
_ID = re.compile(r"[\w-]{10,}")
_ODD_PLACES = [None, 7, "x", {"id": 4}, {"id": "ChIJodd-odd-odd", "displayName": ["x"]}]


class FakeGoogle:
    def __init__(self, world: FakeMap, bill: Bill, keys: frozenset[str]) -> None:
        self._map = world
        self._bill = bill
        self.keys = keys
        self._tokens: dict[str, tuple[str, int]] = {}
        """What the token is bound to, and where its page begins."""
        self.day_limits: dict[str, int] = {}
        self.day_counts: Counter[str] = Counter()

    async def answer(
        self, request: web.BaseRequest, planned: Planned | None
    ) -> web.StreamResponse | None:
        """Nothing when the connection is to be cut."""
        method = SEARCH if request.path == "/v1/places:searchText" else DETAILS
        asked = _Request(method)
        try:
            document = await self._document(request, asked, planned)
        except Refused as refused:
            self._write(asked, refused.code)
            return refused.answer()
        given = (broken(planned, document) if planned else None) or web.json_response(document)
        self._write(asked, given.status)
        return None if planned is not None and planned.trouble is Trouble.CUT else given

    async def _document(
        self, request: web.BaseRequest, asked: _Request, planned: Planned | None
    ) -> dict[str, Any]:
        check_key(request, self.keys)
        self._count_for_the_day(asked.method)
        if planned and (refusal := refusal_of(planned.trouble, asked.method, planned.retry_after)):
            raise refusal
        asked.mask = mask_in(request, asked.method)
        trouble = planned.trouble if planned else None
        if asked.method == SEARCH:
            return self._search(await body_of(request), asked, trouble)
        return self._details(request, asked)

    def _count_for_the_day(self, method: str) -> None:
        """A request that is refused for its quota does not count."""
        limit = self.day_limits.get(method)
        if limit is not None and self.day_counts[method] >= limit:
            raise quota(method, per="day", limit=limit)
        self.day_counts[method] += 1

    # Search

    def _search(
        self, body: dict[str, Any], asked: _Request, trouble: Trouble | None
    ) -> dict[str, Any]:
        asked.text = body["textQuery"]
        asked.area = str(body.get("locationRestriction") or "")
        start = self._start(body)
        asked.page = start // PAGE + 1
        if trouble is Trouble.ODD_PLACES:
            return {"places": _ODD_PLACES}
        shift = 1 if trouble is Trouble.CHANGED and start else 0
        found = self._found(body)[: MOST + shift]
        size = min(int(body.get("pageSize") or body.get("maxResultCount") or PAGE), PAGE)
        page = found[max(0, start - shift) : start - shift + size]
        answer: dict[str, Any] = {}
        if page:
            answer["places"] = self._masked(page, asked.mask, str(body.get("languageCode", "en")))
        if start + size < min(len(found), MOST):
            answer["nextPageToken"] = self._token(body, start + size)
        if trouble is Trouble.REPEATED_TOKEN and "pageToken" in body:
            answer["nextPageToken"] = body["pageToken"]
        return masked(answer, ("places", *(asked.mask.paths if asked.mask else ())))

    def _start(self, body: Mapping[str, Any]) -> int:
        if "pageToken" not in body:
            return 0
        known = self._tokens.get(body["pageToken"])
        if known is None:
            raise invalid("Invalid page_token.")
        if known[0] != fingerprint(body):
            raise paging_mismatch()
        return known[1]

    def _token(self, body: Mapping[str, Any], start: int) -> str:
        bound_to = fingerprint(body)
        token = f"AeeoHc-{bound_to}-{start}"
        self._tokens[token] = (bound_to, start)
        return token

    def _found(self, body: Mapping[str, Any]) -> list[FakePlace]:
        area = area_in(body)
        what, _, where = str(body["textQuery"]).partition(" in ")
        named = self._map.area_called(where) if where else None
        if where and named is None and area is None:
            return []
        if area is None and named is not None:
            area = named.area
        matching = self._map.matching(what, area)
        if named is not None and area is not named.area:
            inside = {each.place_id for each in self._map.matching(what, named.area)}
            matching = (each for each in matching if each.place_id in inside)
        return [each for each in matching if _is_shown(each, body)]

    def _masked(
        self, places: Sequence[FakePlace], mask: Mask | None, language: str
    ) -> list[dict[str, Any]]:
        paths = [path.removeprefix("places.") for path in mask.paths] if mask else []
        paths = ["*" if path in ("places", "*") else path for path in paths]
        return [masked(whole_place(each, language), paths) for each in places]

    # Details

    def _details(self, request: web.BaseRequest, asked: _Request) -> dict[str, Any]:
        place_id = unquote(request.path.removeprefix("/v1/places/"))
        asked.text = place_id
        if not _ID.fullmatch(place_id):
            raise invalid(f"Not a valid Place ID: {place_id}")
        known = (each for each in self._map.places if each.place_id == place_id)
        place = next((each for each in known if not each.gone), None)
        if place is None:
            raise Refused(
                404,
                "The provided Place ID is no longer valid. Please refresh cached Place IDs.",
            )
        language = request.query.get("languageCode", "en")
        return masked(whole_place(place, language), asked.mask.paths if asked.mask else ())

    def _write(self, asked: _Request, status: int) -> None:
        self._bill.asked.append(
            Asked(
                service=Service.GOOGLE,
                method=asked.method,
                sku=asked.mask.sku if asked.mask else None,
                page=asked.page,
                status=status,
                billed=status == 200,
                text=asked.text,
                mask=asked.mask.header if asked.mask else "",
                area=asked.area,
            )
        )


class _Request:
    """What is known of a request by the time it ends, however it ends."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.mask: Mask | None = None
        self.page = 1
        self.text = ""
        self.area = ""


def _is_shown(place: FakePlace, body: Mapping[str, Any]) -> bool:
    if place.gone or not place.google:
        return False
    if place.is_service_area and not body.get("includePureServiceAreaBusinesses", False):
        return False
    if body.get("openNow", False) and not place.open_now:
        return False
    wanted = rating_wanted(body)
    return wanted == 0 or (place.rating or 0) >= wanted
