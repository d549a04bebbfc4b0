"""Pages that stay true while they are looked at: parts are rendered anew and sent when they differ.

One stream a page. A view renders its parts from a short-lived session; between two looks nothing
is held. A client that comes back after a break gets all parts at once, so nothing is missed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from time import monotonic

from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.rendering import Show
from scrapersky.errors import NotSignedIn
from scrapersky.http.auth import identify
from scrapersky.http.event_stream import HEARTBEAT, LONGEST_SECONDS, EventStream, Say
from scrapersky.logging import get_logger
from scrapersky.models import Actor, keep_to_tenant

LOOK_EVERY_SECONDS = 1.0
KNOWN_FOR_SECONDS = 10.0
"""So often it is asked again whether this one may look."""

log = get_logger(__name__)

Parts = Mapping[str, str]
"""HTML by the id of the element it belongs into."""


@dataclass(frozen=True)
class Looked:
    """What a view is rendered from."""

    show: Show
    session: AsyncSession
    actor: Actor
    subject: str
    """Which row or choice the page is about; empty when there is none."""


View = Callable[[Looked], Awaitable[Parts]]


@dataclass(frozen=True)
class LiveView:
    """Parts of one kind of page."""

    name: str
    parts: View
    operator: bool = False
    """Whether it shows all tenants together to those who keep the installation running."""


def live_stream(show: Show, view: LiveView, subject: str) -> EventStream:
    """The parts, and again those that changed, for as long as the page is open."""
    context = show.context

    async def tell(say: Say) -> None:
        ends, sent = monotonic() + LONGEST_SECONDS, dict[str, str]()
        quiet_since = known_since = monotonic()
        shown: Show | None = show
        while monotonic() < ends:
            if monotonic() - known_since > KNOWN_FOR_SECONDS:
                shown, known_since = await _for_whoever_it_is_now(show), monotonic()
            if shown is None:
                return
            news = await _news(shown, view, subject, sent)
            if news:
                await say(f"event: parts\ndata: {json.dumps(news)}\n\n".encode())
                sent.update(news)
                quiet_since = monotonic()
            elif monotonic() - quiet_since > context.settings.events_heartbeat_seconds:
                await say(HEARTBEAT)
                quiet_since = monotonic()
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    return EventStream(tell, settings=context.settings, stopping=context.stopping)


async def _for_whoever_it_is_now(show: Show) -> Show | None:
    """Nothing for those who are let in no more; others may have another role by now."""
    try:
        return replace(show, actor=await identify(show.request, show.context))
    except NotSignedIn:
        return None
    except Exception as error:
        log.warning("nobody could be looked up", error=str(error))
        return show


async def _news(show: Show, view: LiveView, subject: str, sent: Parts) -> Parts:
    """Nothing while the database is away; the page says so by itself when that lasts."""
    try:
        parts = await rendered(show, view, subject)
    except Exception as error:
        log.warning("a live page could not be looked after", view=view.name, error=str(error))
        return {}
    return {name: html for name, html in parts.items() if sent.get(name) != html}


async def rendered(show: Show, view: LiveView, subject: str) -> Parts:
    actor = show.actor
    assert actor is not None
    async with show.context.database.reading() as session:
        if not (view.operator and actor.is_operator):
            keep_to_tenant(session, actor.tenant_id)
        return await view.parts(Looked(show, session, actor, subject))
