"""Keep open pages up to date: render parts again and stream those that changed.

One stream serves all open pages of a browser: with HTTP/1.1 a browser opens six connections per
server, and pages with a connection each would block the seventh. A view renders its parts from a
short-lived session; nothing is held between two polls. A client that reconnects gets all parts, so
nothing is missed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic

from fastapi import Request
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.rendering import PageRenderer
from scrapersky.http.auth import identify_again
from scrapersky.http.event_stream import HEARTBEAT, MAX_STREAM_SECONDS, EventStream, SendBytes
from scrapersky.logging import get_logger
from scrapersky.models import Actor, restrict_to_tenant

POLL_SECONDS = 1.0

log = get_logger(__name__)

Parts = Mapping[str, str]
"""HTML by element id."""


@dataclass(frozen=True)
class LiveContext:
    """Input of a view's render function."""

    show: PageRenderer
    session: AsyncSession
    actor: Actor
    subject: str
    """The row or filter of the page; empty if there is none."""


RenderView = Callable[[LiveContext], Awaitable[Parts]]


@dataclass(frozen=True)
class LiveView:
    """The live parts of one kind of page."""

    name: str
    parts: RenderView
    operator: bool = False
    """Whether it shows data of all tenants, for operators only."""


@dataclass(frozen=True)
class Subscription:
    """A page on the shared stream of its browser."""

    address: str
    """Address used by the page: `/live/job?subject=…`."""
    view: LiveView
    subject: str


FindChanges = Callable[[PageRenderer, Parts], Awaitable[Parts]]
"""Returns the parts that differ from those sent before."""


def stream_view(show: PageRenderer, view: LiveView, subject: str) -> EventStream:
    """Stream all parts, then the changed ones, while the page is open."""

    async def find_news(shown: PageRenderer, sent: Parts) -> Parts:
        return await _find_changes(shown, view, subject, sent)

    return _build_stream(show, find_news)


def stream_views(show: PageRenderer, subscriptions: Sequence[Subscription]) -> EventStream:
    """Stream the parts of several pages, keyed by address and element: `/live/alerts#firing`."""

    # Views remember their previous poll in the request's state, so each needs a separate state.
    scope = show.request.scope
    requests = [Request({**scope, "state": {**scope["state"]}}) for _ in subscriptions]

    async def find_news(shown: PageRenderer, sent: Parts) -> Parts:
        news = dict[str, str]()
        for each, request in zip(subscriptions, requests, strict=True):
            start = f"{each.address}#"
            mine = {k.removeprefix(start): v for k, v in sent.items() if k.startswith(start)}
            own = replace(shown, request=request)
            found = await _find_changes(own, each.view, each.subject, mine)
            news |= {f"{start}{name}": html for name, html in found.items()}
        return news

    return _build_stream(show, find_news)


def _build_stream(show: PageRenderer, find_news: FindChanges) -> EventStream:
    context, shown = show.context, show

    async def still_allowed() -> bool:
        nonlocal shown
        actor = await identify_again(show.request, context)
        if actor is not None:
            shown = replace(show, actor=actor)  # the user's role may have changed
        return actor is not None

    async def tell(say: SendBytes) -> None:
        ends, sent = monotonic() + MAX_STREAM_SECONDS, dict[str, str]()
        quiet_since = monotonic()
        while monotonic() < ends:
            news = await find_news(shown, sent)
            if news:
                await say(f"event: parts\ndata: {json.dumps(news)}\n\n".encode())
                sent.update(news)
                quiet_since = monotonic()
            elif monotonic() - quiet_since > context.settings.events_heartbeat_seconds:
                await say(HEARTBEAT)
                quiet_since = monotonic()
            await asyncio.sleep(POLL_SECONDS)

    return EventStream(
        tell, settings=context.settings, stopping=context.stopping, still_allowed=still_allowed
    )


async def _find_changes(show: PageRenderer, view: LiveView, subject: str, sent: Parts) -> Parts:
    """Return the changed parts; nothing while the database is down. The page itself reports a
    longer interruption.
    """
    try:
        parts = await render_parts(show, view, subject)
    except Exception as error:
        log.warning("live view could not be rendered", view=view.name, error=str(error))
        return {}
    return {name: html for name, html in parts.items() if sent.get(name) != html}


async def render_parts(show: PageRenderer, view: LiveView, subject: str) -> Parts:
    actor = show.actor
    assert actor is not None
    async with show.context.database.reading() as session:
        if not (view.operator and actor.is_operator):
            restrict_to_tenant(session, actor.tenant_id)
        return await view.parts(LiveContext(show, session, actor, subject))
