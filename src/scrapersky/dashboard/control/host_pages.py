"""The hosts we ask, and those that are left alone for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Depends, Query
from fastapi.responses import HTMLResponse
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.control.health_line import health_line
from scrapersky.dashboard.control.powers import powers_of
from scrapersky.dashboard.live import LiveView, Looked, Parts
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.http.auth import OperatorViewer
from scrapersky.http.context import AppContext, Overview
from scrapersky.operations import flow
from scrapersky.pipeline.report import standing
from scrapersky.pipeline.tables import Host

AT_ONCE = 50

router = APIRouter(route_class=PageRoute)


@dataclass(frozen=True)
class Wanted:
    """Which hosts a page shows."""

    left_alone: bool = False
    name: str = ""
    """A part of the host's name."""
    cursor: str = ""
    """The last host of the page before."""

    def query(self, **changes: Any) -> str:
        left_alone = "true" if self.left_alone else ""
        said = {"left_alone": left_alone, "name": self.name, "cursor": self.cursor, **changes}
        return urlencode({key: value for key, value in said.items() if value})

    @classmethod
    def from_query(cls, query: str) -> Wanted:
        said = {key: values[0] for key, values in parse_qs(query).items()}
        return cls("left_alone" in said, said.get("name", ""), said.get("cursor", ""))


def wanted(
    left_alone: bool = False,
    name: Annotated[str, Query(max_length=300)] = "",
    cursor: Annotated[str, Query(max_length=300)] = "",
) -> Wanted:
    return Wanted(left_alone, name.strip().lower(), cursor)


@router.get("/hosts")
async def hosts_page(
    actor: OperatorViewer,
    show: Showing,
    session: Overview,
    asked: Annotated[Wanted, Depends(wanted)],
) -> HTMLResponse:
    values = await _values(show.context, session, asked)
    return show.page("control/hosts.html", title="Hosts", powers=powers_of(actor), **values)


async def _values(context: AppContext, session: AsyncSession, asked: Wanted) -> dict[str, Any]:
    now = await standing(session, context.stages, context.settings)
    found = await _found(session, asked)
    more = len(found) > AT_ONCE
    shown = found[:AT_ONCE]
    return {
        "health": health_line(context, now),
        "now": now.now,
        "hosts": shown,
        "asked": asked,
        "next_query": asked.query(cursor=shown[-1][0].host) if more else None,
        "settings": context.settings,
    }


async def _found(session: AsyncSession, asked: Wanted) -> list[tuple[Host, int]]:
    statement = flow.hosts(left_alone=asked.left_alone).where(Host.host > asked.cursor)
    if asked.name:
        statement = statement.where(Host.host.contains(asked.name, autoescape=True))
    rows = await session.execute(statement.order_by(Host.host).limit(AT_ONCE + 1))
    return [(host, int(in_flight)) for host, in_flight in rows]


async def _parts(looked: Looked) -> Parts:
    if not looked.actor.is_operator:
        return {}
    show, asked = looked.show, Wanted.from_query(looked.subject)
    values = await _values(show.context, looked.session, asked)
    return {
        "health": show.part("control/health.html", **values),
        "hosts": show.part("control/host_list.html", powers=powers_of(looked.actor), **values),
        "host-pages": show.part("control/host_pager.html", **values),
    }


HOSTS_VIEW = LiveView("hosts", _parts, operator=True)
