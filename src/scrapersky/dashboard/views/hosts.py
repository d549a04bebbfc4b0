"""The hosts page, with a filter for hosts whose circuit is open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Depends, Query
from fastapi.responses import HTMLResponse
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.live import LiveContext, LiveView, Parts
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.dashboard.views.health import build_health_line, get_operator_permissions
from scrapersky.http.application import AppContext
from scrapersky.http.auth import OperatorViewer
from scrapersky.http.context import Overview
from scrapersky.operations import service
from scrapersky.pipeline.report import load_status
from scrapersky.pipeline.tables import Host

HOSTS_PER_PAGE = 50

router = APIRouter(route_class=PageRoute)


@dataclass(frozen=True)
class HostFilter:
    """Filter of the hosts page."""

    left_alone: bool = False
    name: str = ""
    """Part of the host name."""
    cursor: str = ""
    """Last host of the previous page."""

    def query(self, **changes: Any) -> str:
        left_alone = "true" if self.left_alone else ""
        values = {"left_alone": left_alone, "name": self.name, "cursor": self.cursor, **changes}
        return urlencode({key: value for key, value in values.items() if value})

    @classmethod
    def from_query(cls, query: str) -> HostFilter:
        parameters = {key: values[0] for key, values in parse_qs(query).items()}
        return cls(
            "left_alone" in parameters, parameters.get("name", ""), parameters.get("cursor", "")
        )


def parse_host_filter(
    left_alone: bool = False,
    name: Annotated[str, Query(max_length=300)] = "",
    cursor: Annotated[str, Query(max_length=300)] = "",
) -> HostFilter:
    return HostFilter(left_alone, name.strip().lower(), cursor)


@router.get("/hosts")
async def hosts_page(
    actor: OperatorViewer,
    show: Renderer,
    session: Overview,
    filters: Annotated[HostFilter, Depends(parse_host_filter)],
) -> HTMLResponse:
    values = await _load_values(show.context, session, filters)
    return show.page(
        "control/hosts.html", title="Hosts", powers=get_operator_permissions(actor), **values
    )


async def _load_values(
    context: AppContext, session: AsyncSession, filters: HostFilter
) -> dict[str, Any]:
    now = await load_status(session, context.stages, context.settings)
    hosts = await _list_hosts(session, filters)
    more = len(hosts) > HOSTS_PER_PAGE
    page = hosts[:HOSTS_PER_PAGE]
    return {
        "health": build_health_line(context, now),
        "now": now.now,
        "hosts": page,
        "asked": filters,
        "next_query": filters.query(cursor=page[-1][0].host) if more else None,
        "settings": context.settings,
    }


async def _list_hosts(session: AsyncSession, filters: HostFilter) -> list[tuple[Host, int]]:
    statement = service.select_hosts(left_alone=filters.left_alone).where(
        Host.host > filters.cursor
    )
    if filters.name:
        statement = statement.where(Host.host.contains(filters.name, autoescape=True))
    rows = await session.execute(statement.order_by(Host.host).limit(HOSTS_PER_PAGE + 1))
    return [(host, int(in_flight)) for host, in_flight in rows]


async def _render_parts(live: LiveContext) -> Parts:
    if not live.actor.is_operator:
        return {}
    show, filters = live.show, HostFilter.from_query(live.subject)
    values = await _load_values(show.context, live.session, filters)
    return {
        "health": show.part("control/health.html", **values),
        "hosts": show.part(
            "control/host_list.html", powers=get_operator_permissions(live.actor), **values
        ),
        "host-pages": show.part("control/host_pager.html", **values),
    }


HOSTS_VIEW = LiveView("hosts", _render_parts, operator=True)
