"""The page of a kind of table, and of its rows alone; the same for every kind."""

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import HTMLResponse

from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import HEADERS, Showing
from scrapersky.dashboard.tables.address import Address
from scrapersky.dashboard.tables.asking import Wanted, view_asked
from scrapersky.dashboard.tables.kinds import TABLES
from scrapersky.dashboard.tables.table import Table
from scrapersky.dashboard.tables.view import view_of
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading


def table_routes(table: Table) -> APIRouter:
    router = APIRouter(route_class=PageRoute)
    asked = view_asked(table)

    @router.get(f"/{table.kind}", name=f"show_{table.kind.replace('-', '_')}")
    async def show_table(
        actor: Viewer, session: Reading, show: Showing, wanted: Annotated[Wanted, Depends(asked)]
    ) -> HTMLResponse:
        given = show.request.query_params.multi_items()
        address = Address.of(f"/{table.kind}", given)
        view = await view_of(table, session, actor, wanted, address)
        if wanted.only_rows:
            return HTMLResponse(show.part("tables/rows.html", view=view), headers=HEADERS)
        return show.page("tables/page.html", title=table.title, view=view)

    return router


TABLE_PAGES = tuple(table_routes(each) for each in TABLES)
