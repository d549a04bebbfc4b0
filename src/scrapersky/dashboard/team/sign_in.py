"""The page where people sign in; the only one that everybody sees."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Show
from scrapersky.errors import NotSignedIn
from scrapersky.http.auth import OPEN, PUBLIC, identify
from scrapersky.http.context import AppContext, Context

HERE = "/sign-in"
OVERVIEW = "/"
OUR_PATH = re.compile(r"/(?![/\\])[^\\\s\x00-\x20\x7f]*")
"""A browser takes `//` and `/\\` for another host's address, and leaves out tabs and line ends."""

router = APIRouter(route_class=PageRoute)


@router.get(HERE, dependencies=[PUBLIC], response_model=None)
async def sign_in(
    request: Request,
    context: Context,
    wanted: Annotated[str, Query(alias="next", max_length=4000)] = OVERVIEW,
    tenant: Annotated[str, Query(max_length=200)] = "",
    expired: str = "",
) -> Response:
    following = our_path(wanted)
    if context.settings.auth_mode == OPEN or await _is_signed_in(request, context):
        return RedirectResponse(following, 303)
    show = Show(request, context, None)
    return show.page(
        "team/sign_in.html",
        title="Sign in",
        following=following,
        tenant=tenant,
        has_expired=bool(expired),
    )


async def _is_signed_in(request: Request, context: AppContext) -> bool:
    try:
        await identify(request, context)
    except NotSignedIn:
        return False
    return True


def our_path(text: str) -> str:
    """Where to go on; never to anybody else, and not in a circle."""
    ours = OUR_PATH.fullmatch(text) and text.partition("?")[0] != HERE
    return text if ours else OVERVIEW
