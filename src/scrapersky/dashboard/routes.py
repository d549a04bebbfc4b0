"""Every page, and the streams that keep them true."""

from __future__ import annotations

from fastapi import APIRouter

from scrapersky.dashboard.live import LiveView, live_stream
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.errors import NotFound
from scrapersky.http.auth import Viewer
from scrapersky.http.event_stream import EventStream

PAGES: tuple[APIRouter, ...] = ()
LIVE_VIEWS: tuple[LiveView, ...] = ()

router = APIRouter(route_class=PageRoute, include_in_schema=False, tags=["dashboard"])
for each in PAGES:
    router.include_router(each)


@router.get("/live/{name}", response_class=EventStream, response_model=None)
async def live(actor: Viewer, show: Showing, name: str, subject: str = "") -> EventStream:
    view = next((each for each in LIVE_VIEWS if each.name == name), None)
    if view is None:
        raise NotFound(f"There is no live view {name}.")
    return live_stream(show, view, subject)
