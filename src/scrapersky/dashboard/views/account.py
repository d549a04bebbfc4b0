"""The sign-in page, and the user's account with its sessions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from scrapersky.auth.sessions import get_expiry, list_sessions
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import PageRenderer, Renderer
from scrapersky.errors import NotSignedIn
from scrapersky.http.application import AppContext, Context
from scrapersky.http.auth import OPEN_MODE, PUBLIC, Viewer, identify
from scrapersky.http.context import Reading
from scrapersky.models import Tenant, User, UserSession

BROWSERS = {
    "Edg/": "Edge",
    "OPR/": "Opera",
    "Firefox/": "Firefox",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
    "curl/": "curl",
}
"""The first match wins: most browsers also claim to be those below them."""
SYSTEMS = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "Mac OS X": "macOS",
    "Linux": "Linux",
}

account_router = APIRouter(route_class=PageRoute)


@dataclass(frozen=True)
class SessionLine:
    session: UserSession
    ends_at: datetime
    is_current: bool

    @property
    def client(self) -> str:
        """`Firefox on Linux`, from the user agent."""
        client = self.session.client
        browser, system = _match_marker(BROWSERS, client), _match_marker(SYSTEMS, client)
        return " on ".join(each for each in (browser, system) if each) or "Unknown browser"


def _match_marker(known: dict[str, str], client: str) -> str:
    return next((name for mark, name in known.items() if mark in client), "")


@account_router.get("/account", response_model=None)
async def account(actor: Viewer, show: Renderer, context: Context, session: Reading) -> Response:
    settings = context.settings
    active = await list_sessions(session, actor, settings)
    return show.page(
        "team/account.html",
        title="Your account",
        user=await session.get_one(User, actor.user_id),
        tenant=await session.get_one(Tenant, actor.tenant_id),
        sessions=[
            SessionLine(each, get_expiry(each, settings), each.id == actor.session_id)
            for each in active
        ],
        hours=settings.session_hours,
        days=settings.session_max_days,
    )


SIGN_IN_PATH = "/sign-in"
OVERVIEW_PATH = "/"
LOCAL_PATH = re.compile(r"/(?![/\\])[^\\\s\x00-\x20\x7f]*")
"""Browsers treat `//` and `/\\` as another host and strip tabs and line breaks."""

sign_in_router = APIRouter(route_class=PageRoute)


@sign_in_router.get(SIGN_IN_PATH, dependencies=[PUBLIC], response_model=None)
async def sign_in(
    request: Request,
    context: Context,
    target: Annotated[str, Query(alias="next", max_length=4000)] = OVERVIEW_PATH,
    tenant: Annotated[str, Query(max_length=200)] = "",
    expired: str = "",
) -> Response:
    following = sanitize_next_path(target)
    if context.settings.auth_mode == OPEN_MODE or await _has_session(request, context):
        return RedirectResponse(following, 303)
    show = PageRenderer(request, context, None)
    return show.page(
        "team/sign_in.html",
        title="Sign in",
        following=following,
        tenant=tenant,
        has_expired=bool(expired),
    )


async def _has_session(request: Request, context: AppContext) -> bool:
    try:
        await identify(request, context)
    except NotSignedIn:
        return False
    return True


def sanitize_next_path(text: str) -> str:
    """Return a safe local path to continue at after sign-in; never another host or the sign-in
    page.
    """
    ours = LOCAL_PATH.fullmatch(text) and text.partition("?")[0] != SIGN_IN_PATH
    return text if ours else OVERVIEW_PATH
