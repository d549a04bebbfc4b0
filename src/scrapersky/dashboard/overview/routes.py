"""The front page, and what keeps it true while one looks at it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from scrapersky.dashboard.live import LiveView, Looked, Parts
from scrapersky.dashboard.overview.throughput import Over
from scrapersky.dashboard.overview.view import Looker, Seen, ago
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import HEADERS, Showing
from scrapersky.errors import InvalidInput
from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Overview
from scrapersky.models import Role
from scrapersky.starting.service import would_start
from scrapersky.starting.wording import sentence_of

PARTS = ("welcome", "attention", "newest", "totals", "pipeline", "chart", "chart-numbers")
"""Each has a template of its name, and an element with it as its id."""
PREVIEWED_CHARACTERS = 4_000

router = APIRouter(route_class=PageRoute)


@router.get("/")
async def front_page(
    actor: Viewer, show: Showing, session: Overview, over: Over = Over.DAY
) -> HTMLResponse:
    seen = await Looker(show.request.app, session, actor).look(over)
    return show.page(
        "overview/page.html",
        title="Overview",
        parts=PARTS,
        may_start=actor.role.includes(Role.CURATOR),
        **_values(seen),
    )


@router.get("/start/preview")
async def preview(
    actor: Curator,
    show: Showing,
    text: Annotated[str, Query(max_length=PREVIEWED_CHARACTERS)],
) -> HTMLResponse:
    """What the box would take each entry for; nothing is stored."""
    try:
        entries = would_start(text, show.context.settings)
    except InvalidInput:
        entries = []
    said = [(each, sentence_of(each, dry_run=True)) for each in entries]
    return HTMLResponse(show.part("overview/preview.html", entries=said), headers=HEADERS)


async def parts_of(looked: Looked) -> Parts:
    over = Over(looked.subject) if looked.subject in list(Over) else Over.DAY
    looker = Looker(looked.show.request.app, looked.session, looked.actor)
    values = _values(await looker.look(over))
    may_start = looked.actor.role.includes(Role.CURATOR)
    return {
        name: looked.show.part(f"overview/{name}.html", may_start=may_start, **values)
        for name in PARTS
    }


def _values(seen: Seen) -> dict[str, Any]:
    labels = ago(seen.throughput)
    rows = zip(labels, seen.throughput.starts, strict=True)
    return {"seen": seen, "over": seen.throughput.over, "overs": list(Over), "rows": list(rows)}


LIVE = LiveView("overview", parts_of, operator=True)
