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
        said = {"left_alone": left_alone, "name": self.name, "cursor": self.cursor, **changes}
        return urlencode({key: value for key, value in said.items() if value})

    @classmethod
    def from_query(cls, query: str) -> HostFilter:
        said = {key: values[0] for key, values in parse_qs(query).items()}
        return cls("left_alone" in said, said.get("name", ""), said.get("cursor", ""))


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
    asked: Annotated[HostFilter, Depends(parse_host_filter)],
) -> HTMLResponse:
    values = await _load_values(show.context, session, asked)
    return show.page(
        "control/hosts.html", title="Hosts", powers=get_operator_permissions(actor), **values
    )


async def _load_values(
    context: AppContext, session: AsyncSession, asked: HostFilter
) -> dict[str, Any]:
    now = await load_status(session, context.stages, context.settings)
    found = await _list_hosts(session, asked)
    more = len(found) > HOSTS_PER_PAGE
    shown = found[:HOSTS_PER_PAGE]
    return {
        "health": build_health_line(context, now),
        "now": now.now,
        "hosts": shown,
        "asked": asked,
        "next_query": asked.query(cursor=shown[-1][0].host) if more else None,
        "settings": context.settings,
    }


async def _list_hosts(session: AsyncSession, asked: HostFilter) -> list[tuple[Host, int]]:
    statement = service.select_hosts(left_alone=asked.left_alone).where(Host.host > asked.cursor)
    if asked.name:
        statement = statement.where(Host.host.contains(asked.name, autoescape=True))
    rows = await session.execute(statement.order_by(Host.host).limit(HOSTS_PER_PAGE + 1))
    return [(host, int(in_flight)) for host, in_flight in rows]


async def _render_parts(live: LiveContext) -> Parts:
    if not live.actor.is_operator:
        return {}
    show, asked = live.show, HostFilter.from_query(live.subject)
    values = await _load_values(show.context, live.session, asked)
    return {
        "health": show.part("control/health.html", **values),
        "hosts": show.part(
            "control/host_list.html", powers=get_operator_permissions(live.actor), **values
        ),
        "host-pages": show.part("control/host_pager.html", **values),
    }


HOSTS_VIEW = LiveView("hosts", _render_parts, operator=True)
