"""One's own account: the password, and where one is signed in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Response

from scrapersky.accounts.sessions import ends_at, sessions_of
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Context, Reading
from scrapersky.models import Tenant, User, UserSession

BROWSERS = {
    "Edg/": "Edge",
    "OPR/": "Opera",
    "Firefox/": "Firefox",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
    "curl/": "curl",
}
"""The first that fits: most of them also claim to be those after them."""
SYSTEMS = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "Mac OS X": "macOS",
    "Linux": "Linux",
}

router = APIRouter(route_class=PageRoute)


@dataclass(frozen=True)
class Shown:
    session: UserSession
    ends_at: datetime
    is_current: bool

    @property
    def client(self) -> str:
        """`Firefox on Linux`, as far as browsers tell."""
        said = self.session.client
        browser, system = _first(BROWSERS, said), _first(SYSTEMS, said)
        return " on ".join(each for each in (browser, system) if each) or "something else"


def _first(known: dict[str, str], said: str) -> str:
    return next((name for mark, name in known.items() if mark in said), "")


@router.get("/account", response_model=None)
async def account(actor: Viewer, show: Showing, context: Context, session: Reading) -> Response:
    settings = context.settings
    found = await sessions_of(session, actor, settings)
    return show.page(
        "team/account.html",
        title="Your account",
        user=await session.get_one(User, actor.user_id),
        tenant=await session.get_one(Tenant, actor.tenant_id),
        sessions=[
            Shown(each, ends_at(each, settings), each.id == actor.session_id) for each in found
        ],
        hours=settings.session_hours,
        days=settings.session_max_days,
    )
