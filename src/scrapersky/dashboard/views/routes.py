"""Every page of the dashboard and the live streams."""

# No `from __future__ import annotations` here: FastAPI resolves string annotations in the module's
# globals, where the dependency that `build_table_router` creates locally does not exist.

from collections.abc import Iterator
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Query
from fastapi.responses import HTMLResponse

from scrapersky.dashboard.filters import ViewUrl
from scrapersky.dashboard.live import LiveView, Subscription, stream_view, stream_views
from scrapersky.dashboard.overview import page as overview
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import PAGE_HEADERS, Renderer
from scrapersky.dashboard.table import Table
from scrapersky.dashboard.table_view import ViewRequest, build_view_dependency, load_view
from scrapersky.dashboard.views import (
    account,
    budget,
    businesses,
    contacts,
    dead_letters,
    domains,
    health,
    history,
    hosts,
    jobs,
    leads,
    merge_review,
    pages,
    places,
    searches,
    settings,
    sitemap_files,
    stages,
    users,
    webhooks,
    workers,
)
from scrapersky.dashboard.views.budget import LEDGER_TABLE
from scrapersky.dashboard.views.businesses import BUSINESSES_TABLE
from scrapersky.dashboard.views.contacts import CONTACTS_TABLE
from scrapersky.dashboard.views.dead_letters import DEAD_LETTERS_TABLE
from scrapersky.dashboard.views.domains import DOMAINS_TABLE
from scrapersky.dashboard.views.history import BULK_ACTIONS_TABLE
from scrapersky.dashboard.views.imports import imports_router
from scrapersky.dashboard.views.jobs import JOBS_TABLE
from scrapersky.dashboard.views.leads import LEADS_TABLE
from scrapersky.dashboard.views.merge_review import MERGE_CANDIDATES_TABLE
from scrapersky.dashboard.views.pages import PAGES_TABLE
from scrapersky.dashboard.views.places import PLACES_TABLE
from scrapersky.dashboard.views.searches import SEARCHES_TABLE
from scrapersky.dashboard.views.sitemap_files import SITEMAP_FILES_TABLE
from scrapersky.dashboard.views.suppressions import SUPPRESSIONS_TABLE
from scrapersky.errors import NotFound
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.http.event_stream import EventStream

operations_router = APIRouter(route_class=PageRoute)
for each in (stages, workers, hosts, health, settings):
    operations_router.include_router(each.router)

OPERATIONS_VIEWS: tuple[LiveView, ...] = (
    stages.STAGES_VIEW,
    stages.STAGE_VIEW,
    workers.WORKERS_VIEW,
    hosts.HOSTS_VIEW,
    health.ALERTS_VIEW,
)


DETAIL_ROUTERS = (
    domains.router,
    jobs.router,
    contacts.router,
    leads.router,
    pages.router,
    places.router,
    businesses.router,
    sitemap_files.router,
    dead_letters.router,
)
DETAIL_VIEWS = (domains.VIEW, jobs.VIEW)


SEARCH_ROUTERS = (searches.form_router, searches.router, budget.router)
SEARCH_VIEWS = (searches.VIEW,)


TABLES: tuple[Table, ...] = (
    LEADS_TABLE,
    CONTACTS_TABLE,
    PAGES_TABLE,
    SITEMAP_FILES_TABLE,
    DOMAINS_TABLE,
    JOBS_TABLE,
    SEARCHES_TABLE,
    LEDGER_TABLE,
    PLACES_TABLE,
    BUSINESSES_TABLE,
    MERGE_CANDIDATES_TABLE,
    DEAD_LETTERS_TABLE,
    SUPPRESSIONS_TABLE,
    BULK_ACTIONS_TABLE,
)


def build_table_router(table: Table) -> APIRouter:
    router = APIRouter(route_class=PageRoute)
    asked = build_view_dependency(table)

    @router.get(f"/{table.kind}", name=f"show_{table.kind.replace('-', '_')}")
    async def show_table(
        actor: Viewer,
        session: Reading,
        show: Renderer,
        wanted: Annotated[ViewRequest, Depends(asked)],
    ) -> HTMLResponse:
        given = show.request.query_params.multi_items()
        address = ViewUrl.of(f"/{table.kind}", given)
        view = await load_view(table, session, actor, wanted, address)
        if wanted.only_rows:
            return HTMLResponse(show.part("tables/rows.html", view=view), headers=PAGE_HEADERS)
        return show.page("tables/page.html", title=table.title, view=view)

    return router


TABLE_ROUTERS = tuple(build_table_router(each) for each in TABLES)


TEAM_ROUTERS: tuple[APIRouter, ...] = (
    account.sign_in_router,
    users.users_router,
    users.api_keys_router,
    history.router,
    account.account_router,
)


WEBHOOK_ROUTERS: tuple[APIRouter, ...] = (
    webhooks.endpoints_router,
    webhooks.endpoint_router,
    webhooks.delivery_router,
)


PAGE_ROUTERS: tuple[APIRouter, ...] = (
    overview.router,
    operations_router,
    *TABLE_ROUTERS,
    imports_router,
    *SEARCH_ROUTERS,
    *DETAIL_ROUTERS,
    *TEAM_ROUTERS,
    merge_review.router,
    *WEBHOOK_ROUTERS,
)
LIVE_VIEWS: tuple[LiveView, ...] = (
    overview.OVERVIEW_VIEW,
    *OPERATIONS_VIEWS,
    *DETAIL_VIEWS,
    *SEARCH_VIEWS,
)

MAX_SHARED_VIEWS = 50
"""Maximum number of pages per stream; `live_worker.js` has the same limit."""

router = APIRouter(route_class=PageRoute, include_in_schema=False, tags=["dashboard"])
for page_router in PAGE_ROUTERS:
    router.include_router(page_router)


@router.get("/live", response_class=EventStream, response_model=None)
async def live_shared(
    actor: Viewer, show: Renderer, view: Annotated[list[str], Query(max_length=MAX_SHARED_VIEWS)]
) -> EventStream:
    """Stream the live views of all open pages of a browser over one connection."""
    views = [each for address in dict.fromkeys(view) for each in _iter_subscriptions(address)]
    return stream_views(show, views)


def _iter_subscriptions(address: str) -> Iterator[Subscription]:
    """Yield the subscriptions; unknown addresses are skipped, so that the other pages stay live."""
    path, _, query = address.partition("?")
    view = _find_view(path.removeprefix("/live/"))
    if view is not None:
        subject = dict(parse_qsl(query)).get("subject", "")
        yield Subscription(address, view, subject)


def _find_view(name: str) -> LiveView | None:
    return next((each for each in LIVE_VIEWS if each.name == name), None)


@router.get("/live/{name}", response_class=EventStream, response_model=None)
async def live(actor: Viewer, show: Renderer, name: str, subject: str = "") -> EventStream:
    view = _find_view(name)
    if view is None:
        raise NotFound(f"There is no live view {name}.")
    return stream_view(show, view, subject)
