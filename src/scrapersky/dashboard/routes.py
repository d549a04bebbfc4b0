"""Every page, and the streams that keep them true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import APIRouter, Query

from scrapersky.dashboard.control import routes as control
from scrapersky.dashboard.details import DETAIL_PAGES, DETAIL_VIEWS
from scrapersky.dashboard.live import LiveView, Subscription, live_stream, shared_stream
from scrapersky.dashboard.merging import routes as merging
from scrapersky.dashboard.overview import routes as overview
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.dashboard.searching.pages import SEARCHING_PAGES, SEARCHING_VIEWS
from scrapersky.dashboard.tables import routes as tables
from scrapersky.dashboard.tables.import_routes import IMPORTS
from scrapersky.dashboard.team import TEAM_PAGES
from scrapersky.dashboard.webhooks import WEBHOOK_PAGES
from scrapersky.errors import NotFound
from scrapersky.http.auth import Viewer
from scrapersky.http.event_stream import EventStream

PAGES: tuple[APIRouter, ...] = (
    overview.router,
    control.router,
    *tables.TABLE_PAGES,
    IMPORTS,
    *SEARCHING_PAGES,
    *DETAIL_PAGES,
    *TEAM_PAGES,
    merging.router,
    *WEBHOOK_PAGES,
)
LIVE_VIEWS: tuple[LiveView, ...] = (
    overview.LIVE,
    *control.LIVE_VIEWS,
    *DETAIL_VIEWS,
    *SEARCHING_VIEWS,
)

MAX_SHARED = 50
"""Pages on one stream; the script names no more."""

router = APIRouter(route_class=PageRoute, include_in_schema=False, tags=["dashboard"])
for each in PAGES:
    router.include_router(each)


@router.get("/live", response_class=EventStream, response_model=None)
async def live_shared(
    actor: Viewer, show: Showing, view: Annotated[list[str], Query(max_length=MAX_SHARED)]
) -> EventStream:
    """The live views of all open pages of a browser, by one connection."""
    found = [each for address in dict.fromkeys(view) for each in _subscriptions(address)]
    return shared_stream(show, found)


def _subscriptions(address: str) -> Iterator[Subscription]:
    """None for an address that no live view has: the other pages go on."""
    path, _, query = address.partition("?")
    wanted = _find_view(path.removeprefix("/live/"))
    if wanted is not None:
        subject = dict(parse_qsl(query)).get("subject", "")
        yield Subscription(address, wanted, subject)


def _find_view(name: str) -> LiveView | None:
    return next((each for each in LIVE_VIEWS if each.name == name), None)


@router.get("/live/{name}", response_class=EventStream, response_model=None)
async def live(actor: Viewer, show: Showing, name: str, subject: str = "") -> EventStream:
    view = _find_view(name)
    if view is None:
        raise NotFound(f"There is no live view {name}.")
    return live_stream(show, view, subject)
