"""The fake Nominatim: where a named area lies."""

from __future__ import annotations

from time import monotonic
from typing import Any

from aiohttp import web

from scrapersky.demo.provider.bill import Asked, Bill
from scrapersky.demo.provider.breakages import broken
from scrapersky.demo.provider.map import FakeArea, FakeMap
from scrapersky.demo.provider.troubles import Planned, Service, Trouble
from scrapersky.scraper.providers import geography

_STATUSES = {
    Trouble.MINUTE_QUOTA: 429,
    Trouble.UNNAMED_QUOTA: 429,
    Trouble.FORBIDDEN: 403,
    Trouble.ADDRESS_BLOCKED: 403,
    Trouble.SERVER_ERROR: 500,
    Trouble.UNAVAILABLE: 503,
}


class FakeNominatim:
    def __init__(self, world: FakeMap, bill: Bill) -> None:
        self._map = world
        self._bill = bill
        self.times: list[float] = []
        """When requests came, for whoever wants to know how far apart."""

    async def answer(
        self, request: web.BaseRequest, planned: Planned | None
    ) -> web.StreamResponse | None:
        self.times.append(monotonic())
        text = request.query.get("q", "")
        given = self._answer(request, text, planned)
        status = given.status if given is not None else 0
        asked = Asked(Service.NOMINATIM, request.path, None, 1, status, False, text)
        self._bill.asked.append(asked)
        return given

    def _answer(
        self, request: web.BaseRequest, text: str, planned: Planned | None
    ) -> web.Response | None:
        if planned is not None and planned.trouble is Trouble.CUT:
            return None
        if planned is not None and planned.trouble in _STATUSES:
            wait = {} if planned.retry_after is None else {"Retry-After": str(planned.retry_after)}
            status = _STATUSES[planned.trouble]
            return web.Response(status=status, text="<html>Access denied</html>", headers=wait)
        if request.path != "/search" or request.query.get("format") != "jsonv2" or not text.strip():
            said = {"code": 400, "message": "Nothing to search for."}
            return web.json_response({"error": said}, status=400)
        found = self._map.area_called(text)
        document = [] if found is None else [_described(found)]
        given = broken(planned, document) if planned else None
        return given or web.json_response(document)


def _described(area: FakeArea) -> dict[str, Any]:
    """Numbers are texts here, and the box goes south, north, west, east."""
    middle, box = geography.centre(area.area), area.area
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
