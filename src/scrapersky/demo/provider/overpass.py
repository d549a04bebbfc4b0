"""The fake Overpass: places of OpenStreetMap inside a box, by their tags."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web

from scrapersky.demo.provider.bill import Asked, Bill
from scrapersky.demo.provider.breakages import broken
from scrapersky.demo.provider.map import FakeMap, FakePlace
from scrapersky.demo.provider.ql import ParseError, Query, parse
from scrapersky.demo.provider.troubles import Planned, Service, Trouble

_STATUSES = {
    Trouble.MINUTE_QUOTA: 429,
    Trouble.UNNAMED_QUOTA: 429,
    Trouble.TOO_BUSY: 504,
    Trouble.FORBIDDEN: 403,
    Trouble.SERVER_ERROR: 500,
    Trouble.UNAVAILABLE: 503,
}
_OUT_OF_TIME = 'runtime error: Query timed out in "query" at line 1 after 61 seconds.'


class FakeOverpass:
    def __init__(self, world: FakeMap, bill: Bill) -> None:
        self._map = world
        self._bill = bill

    async def answer(
        self, request: web.BaseRequest, planned: Planned | None
    ) -> web.StreamResponse | None:
        form = parse_qs((await request.read()).decode("utf-8", "replace"))
        text = form.get("data", [""])[0]
        given = self._answer(request, text, planned)
        status = given.status if given is not None else 0
        self._bill.asked.append(Asked(Service.OVERPASS, request.path, None, 1, status, False, text))
        return given

    def _answer(
        self, request: web.BaseRequest, text: str, planned: Planned | None
    ) -> web.Response | None:
        trouble = planned.trouble if planned else None
        if trouble is Trouble.CUT:
            return None
        if planned is not None and trouble in _STATUSES:
            wait = {} if planned.retry_after is None else {"Retry-After": str(planned.retry_after)}
            return _page("The server is probably too busy.", _STATUSES[trouble], wait)
        if request.path != "/api/interpreter":
            return web.Response(status=404)
        try:
            query = parse(text)
        except ParseError as error:
            return _page(f"line 1: parse error: {error}", 400, {})
        remark = _OUT_OF_TIME if trouble is Trouble.REMARK else None
        document = self._document(query, remark)
        given = broken(planned, document) if planned else None
        return given or web.json_response(document)

    def _document(self, query: Query, remark: str | None) -> dict[str, Any]:
        known = [each for each in self._map.places if each.osm_tags is not None and not each.gone]
        found = [] if remark else [_element(each) for each in known if _is_asked(query, each)]
        said = {"copyright": "© OpenStreetMap contributors, ODbL."}
        document: dict[str, Any] = {"version": 0.6, "osm3s": said, "elements": found}
        return {**document, "remark": remark} if remark else document


def _is_asked(query: Query, place: FakePlace) -> bool:
    tags = tags_of(place)
    return any(each.takes(tags, place.latitude, place.longitude) for each in query.statements)


def tags_of(place: FakePlace) -> Mapping[str, str]:
    known = {
        "name": place.name,
        "website": place.website,
        "phone": place.phone,
        "email": place.email,
        "addr:street": place.street,
        "addr:housenumber": place.house_number,
        "addr:postcode": place.postal_code,
        "addr:city": place.city,
        "addr:country": place.country,
        **(place.osm_tags or {}),
    }
    return {name: value for name, value in known.items() if value}


def _element(place: FakePlace) -> dict[str, Any]:
    where = {"lat": place.latitude, "lon": place.longitude}
    element = {"type": place.osm_type, "id": place.osm_id, "tags": dict(tags_of(place))}
    return {**element, **(where if place.osm_type == "node" else {"center": where})}


def _page(sentence: str, status: int, headers: Mapping[str, str]) -> web.Response:
    said = f'<p><strong style="color:#FF0000">Error</strong>: {html.escape(sentence)} </p>'
    text = f"<html><head><title>OSM3S Response</title></head><body>{said}</body></html>"
    text = re.sub(r"\s+", " ", text)
    return web.Response(text=text, status=status, content_type="text/html", headers=headers)
