"""Fake Nominatim (named areas) and fake Overpass (places in a box, by tags)."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web

from scrapersky.scraper.providers import geography
from scrapersky.scraper.providers.model import Area
from scrapersky.testing.places import (
    Bill,
    FailureMode,
    FakeArea,
    FakeMap,
    FakePlace,
    PlannedFailure,
    ProviderService,
    RecordedRequest,
    build_broken_response,
)

_NOMINATIM_STATUSES = {
    FailureMode.MINUTE_QUOTA: 429,
    FailureMode.UNNAMED_QUOTA: 429,
    FailureMode.FORBIDDEN: 403,
    FailureMode.ADDRESS_BLOCKED: 403,
    FailureMode.SERVER_ERROR: 500,
    FailureMode.UNAVAILABLE: 503,
}


class FakeNominatim:
    def __init__(self, world: FakeMap, bill: Bill) -> None:
        self._map = world
        self._bill = bill
        self.times: list[float] = []
        """Arrival times of requests, to check the rate limit."""

    async def answer(
        self, request: web.BaseRequest, planned: PlannedFailure | None
    ) -> web.StreamResponse | None:
        self.times.append(monotonic())
        text = request.query.get("q", "")
        response = self._answer(request, text, planned)
        status = response.status if response is not None else 0
        recorded = RecordedRequest(
            ProviderService.NOMINATIM, request.path, None, 1, status, False, text
        )
        self._bill.requests.append(recorded)
        return response

    def _answer(
        self, request: web.BaseRequest, text: str, planned: PlannedFailure | None
    ) -> web.Response | None:
        if planned is not None and planned.trouble is FailureMode.CUT:
            return None
        if planned is not None and planned.trouble in _NOMINATIM_STATUSES:
            wait = {} if planned.retry_after is None else {"Retry-After": str(planned.retry_after)}
            status = _NOMINATIM_STATUSES[planned.trouble]
            return web.Response(status=status, text="<html>Access denied</html>", headers=wait)
        if request.path != "/search" or request.query.get("format") != "jsonv2" or not text.strip():
            error = {"code": 400, "message": "Nothing to search for."}
            return web.json_response({"error": error}, status=400)
        area = self._map.find_area(text)
        document = [] if area is None else [_describe_area(area)]
        broken = build_broken_response(planned, document) if planned else None
        return broken or web.json_response(document)


def _describe_area(area: FakeArea) -> dict[str, Any]:
    """Build a Nominatim result. Numbers are strings; the box is south, north, west, east."""
    middle, box = geography.get_centre(area.area), area.area
    return {
        "place_id": 1,
        "licence": "Data © OpenStreetMap contributors, ODbL 1.0.",
        "osm_type": "relation",
        "osm_id": area.osm_id,
        "lat": f"{middle.latitude:.7f}",
        "lon": f"{middle.longitude:.7f}",
        "category": "boundary",
        "type": "administrative",
        "addresstype": "city",
        "name": area.name,
        "display_name": f"{area.name}, {area.country}",
        "address": {"city": area.name, "country_code": area.country.lower()},
        "boundingbox": [f"{each:.7f}" for each in (box.south, box.north, box.west, box.east)],
    }


_TOKEN = re.compile(
    r'\s*(?:"(?P<text>(?:[^"\\]|\\.)*)"|(?P<word>[A-Za-z_]+)|(?P<number>-?\d+(?:\.\d+)?)'
    r"|(?P<sign>[\[\]();,:=~!]))",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t"}


class OverpassSyntaxError(Exception):
    """Syntax error of a query, with Overpass's message."""


@dataclass(frozen=True)
class TagFilter:
    key: str
    value: str | None = None
    """None if the key only has to exist."""
    key_is_pattern: bool = False
    is_pattern: bool = False
    ignores_case: bool = False

    def matches(self, tags: Mapping[str, str]) -> bool:
        return any(self._matches(name, value) for name, value in tags.items())

    def _matches(self, name: str, value: str) -> bool:
        flags = re.IGNORECASE if self.ignores_case else re.NOFLAG
        if not (re.search(self.key, name) if self.key_is_pattern else name == self.key):
            return False
        if self.value is None:
            return True
        return bool(re.search(self.value, value, flags) if self.is_pattern else value == self.value)


@dataclass(frozen=True)
class OverpassStatement:
    filters: tuple[TagFilter, ...]
    area: Area

    def matches(self, tags: Mapping[str, str], latitude: float, longitude: float) -> bool:
        inside = geography.contains(self.area, latitude, longitude)
        return inside and all(each.matches(tags) for each in self.filters)


@dataclass(frozen=True)
class OverpassToken:
    kind: str
    value: str


@dataclass
class OverpassQuery:
    """Parsed query. Only `[out:json][timeout:n];(nwr…;nwr…;);out tags center;` is supported."""

    statements: list[OverpassStatement] = field(default_factory=list)
    timeout_seconds: int = 180


def parse_query(text: str) -> OverpassQuery:
    return _Parser(_tokenize(text)).query()


def _tokenize(text: str) -> list[OverpassToken]:
    tokens, position = [], 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise OverpassSyntaxError(f"Unknown character near '{text[position : position + 10]}'")
        kind = match.lastgroup or ""
        value = match[kind]
        if kind == "text":
            value = _ESCAPE.sub(lambda each: _ESCAPES.get(each[1], each[1]), value)
        tokens.append(OverpassToken(kind, value))
        position = match.end()
    return tokens


class _Parser:
    def __init__(self, tokens: list[OverpassToken]) -> None:
        self._tokens = tokens
        self._at = 0

    def query(self) -> OverpassQuery:
        query = OverpassQuery()
        while self._next_is("["):
            name, value = self._setting()
            if name == "timeout":
                query.timeout_seconds = int(value)
            elif (name, value) != ("out", "json"):
                raise OverpassSyntaxError(f"Unknown setting '{name}'")
        self._take(";")
        self._take("(")
        while not self._next_is(")"):
            query.statements.append(self._statement())
        self._take(")")
        for expected in (";", "out", "tags", "center", ";"):
            self._take(expected)
        if self._at < len(self._tokens):
            raise OverpassSyntaxError(f"Unexpected '{self._tokens[self._at].value}' after the end")
        return query

    def _setting(self) -> tuple[str, str]:
        self._take("[")
        name = self._any("word").value
        self._take(":")
        value = self._tokens[self._at].value
        self._at += 1
        self._take("]")
        return name, value

    def _statement(self) -> OverpassStatement:
        self._take("nwr")
        filters = []
        while self._next_is("["):
            filters.append(self._filter())
        self._take("(")
        numbers = [float(self._any("number").value)]
        for _ in range(3):
            self._take(",")
            numbers.append(float(self._any("number").value))
        self._take(")")
        self._take(";")
        return OverpassStatement(tuple(filters), Area(*numbers))

    def _filter(self) -> TagFilter:
        self._take("[")
        key_is_pattern = self._next_is("~")
        if key_is_pattern:
            self._take("~")
        key = self._any("text").value
        if self._next_is("]"):
            self._take("]")
            return TagFilter(key)
        sign = self._any("sign").value
        if sign not in "=~":
            raise OverpassSyntaxError(f"'=' or '~' expected - '{sign}' found.")
        value = self._any("text").value
        ignores_case = self._next_is(",")
        if ignores_case:
            self._take(",")
            self._take("i")
        self._take("]")
        return TagFilter(key, value, key_is_pattern, sign == "~", ignores_case)

    def _next_is(self, value: str) -> bool:
        if self._at >= len(self._tokens):
            return False
        token = self._tokens[self._at]
        return token.kind != "text" and token.value == value

    def _take(self, value: str) -> None:
        if not self._next_is(value):
            token = self._tokens[self._at].value if self._at < len(self._tokens) else "end"
            raise OverpassSyntaxError(f"'{value}' expected - '{token}' found.")
        self._at += 1

    def _any(self, kind: str) -> OverpassToken:
        if self._at >= len(self._tokens) or self._tokens[self._at].kind != kind:
            raise OverpassSyntaxError(f"A {kind} was expected.")
        self._at += 1
        return self._tokens[self._at - 1]


_OVERPASS_STATUSES = {
    FailureMode.MINUTE_QUOTA: 429,
    FailureMode.UNNAMED_QUOTA: 429,
    FailureMode.TOO_BUSY: 504,
    FailureMode.FORBIDDEN: 403,
    FailureMode.SERVER_ERROR: 500,
    FailureMode.UNAVAILABLE: 503,
}
_TIMEOUT_REMARK = 'runtime error: Query timed out in "query" at line 1 after 61 seconds.'


class FakeOverpass:
    def __init__(self, world: FakeMap, bill: Bill) -> None:
        self._map = world
        self._bill = bill

    async def answer(
        self, request: web.BaseRequest, planned: PlannedFailure | None
    ) -> web.StreamResponse | None:
        form = parse_qs((await request.read()).decode("utf-8", "replace"))
        text = form.get("data", [""])[0]
        response = self._answer(request, text, planned)
        status = response.status if response is not None else 0
        self._bill.requests.append(
            RecordedRequest(ProviderService.OVERPASS, request.path, None, 1, status, False, text)
        )
        return response

    def _answer(
        self, request: web.BaseRequest, text: str, planned: PlannedFailure | None
    ) -> web.Response | None:
        trouble = planned.trouble if planned else None
        if trouble is FailureMode.CUT:
            return None
        if planned is not None and trouble in _OVERPASS_STATUSES:
            wait = {} if planned.retry_after is None else {"Retry-After": str(planned.retry_after)}
            return _build_error_page(
                "The server is probably too busy.", _OVERPASS_STATUSES[trouble], wait
            )
        if request.path != "/api/interpreter":
            return web.Response(status=404)
        try:
            query = parse_query(text)
        except OverpassSyntaxError as error:
            return _build_error_page(f"line 1: parse error: {error}", 400, {})
        remark = _TIMEOUT_REMARK if trouble is FailureMode.REMARK else None
        document = self._document(query, remark)
        broken = build_broken_response(planned, document) if planned else None
        return broken or web.json_response(document)

    def _document(self, query: OverpassQuery, remark: str | None) -> dict[str, Any]:
        known = [each for each in self._map.places if each.osm_tags is not None and not each.gone]
        places = (
            []
            if remark
            else [_build_element(each) for each in known if _matches_query(query, each)]
        )
        osm3s = {"copyright": "© OpenStreetMap contributors, ODbL."}
        document: dict[str, Any] = {"version": 0.6, "osm3s": osm3s, "elements": places}
        return {**document, "remark": remark} if remark else document


def _matches_query(query: OverpassQuery, place: FakePlace) -> bool:
    tags = build_tags(place)
    return any(each.matches(tags, place.latitude, place.longitude) for each in query.statements)


def build_tags(place: FakePlace) -> Mapping[str, str]:
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


def _build_element(place: FakePlace) -> dict[str, Any]:
    where = {"lat": place.latitude, "lon": place.longitude}
    element = {"type": place.osm_type, "id": place.osm_id, "tags": dict(build_tags(place))}
    return {**element, **(where if place.osm_type == "node" else {"center": where})}


def _build_error_page(sentence: str, status: int, headers: Mapping[str, str]) -> web.Response:
    error = f'<p><strong style="color:#FF0000">Error</strong>: {html.escape(sentence)} </p>'
    text = f"<html><head><title>OSM3S Response</title></head><body>{error}</body></html>"
    text = re.sub(r"\s+", " ", text)
    return web.Response(text=text, status=status, content_type="text/html", headers=headers)
