"""Keep open pages up to date: render parts again and stream those that changed.

One stream serves all open pages of a browser: with HTTP/1.1 a browser opens six connections per
server, and pages with a connection each would block the seventh. A view renders its parts from a
short-lived session; nothing is held between two polls. A client that reconnects gets all parts, so
nothing is missed.


One stream serves all open pages of a browser: with HTTP/1.1 a browser opens six connections to a
server, and pages that kept one each would block the seventh. A view renders its parts from a
short-lived session; between two looks nothing is held. A client that comes back after a break gets
all parts at once, so nothing is missed.
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
"""HTML by the id of the element it belongs into."""


@dataclass(frozen=True)
class LiveContext:
    """What a view is rendered from."""

    show: PageRenderer
    session: AsyncSession
    actor: Actor
    subject: str
    """Which row or choice the page is about; empty when there is none."""


RenderView = Callable[[LiveContext], Awaitable[Parts]]


@dataclass(frozen=True)
class LiveView:
    """Parts of one kind of page."""

    name: str
    parts: RenderView
    operator: bool = False
    """Whether it shows all tenants together to those who keep the installation running."""


@dataclass(frozen=True)
class Subscription:
    """A page that shares the stream of its browser."""

    address: str
    """As the page names it: `/live/job?subject=…`."""
    view: LiveView
    subject: str


FindChanges = Callable[[PageRenderer, Parts], Awaitable[Parts]]
"""Given what was sent before, what differs now."""


def stream_view(show: PageRenderer, view: LiveView, subject: str) -> EventStream:
    """The parts, and again those that changed, for as long as the page is open."""

    async def find_news(shown: PageRenderer, sent: Parts) -> Parts:
        return await _find_changes(shown, view, subject, sent)

    return _build_stream(show, find_news)


def stream_views(show: PageRenderer, subscriptions: Sequence[Subscription]) -> EventStream:
    """The parts of several pages, each named by its page's address: `/live/alerts#firing`."""

    # A view remembers in its request's state what it saw before: each has a state of its own.
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
            shown = replace(show, actor=actor)  # they may have another role by now
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
    """Nothing while the database is away; the page says so by itself when that lasts."""
    try:
        parts = await render_parts(show, view, subject)
    except Exception as error:
        log.warning("a live page could not be looked after", view=view.name, error=str(error))
        return {}
    return {name: html for name, html in parts.items() if sent.get(name) != html}


async def render_parts(show: PageRenderer, view: LiveView, subject: str) -> Parts:
    actor = show.actor
    assert actor is not None
    async with show.context.database.reading() as session:
        if not (view.operator and actor.is_operator):
            restrict_to_tenant(session, actor.tenant_id)
        return await view.parts(LiveContext(show, session, actor, subject))
