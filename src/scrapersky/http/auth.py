"""Identify the caller of a request and check the role a route requires."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request

from scrapersky.errors import NotAllowed, NotSignedIn
from scrapersky.http.application import AppContext, Context
from scrapersky.http.credentials import (
    authenticate_key,
    authenticate_token,
    get_credentials,
    get_session_token,
)
from scrapersky.http.proxies import FORWARDED_FOR
from scrapersky.http.sessions import authenticate_session, is_user_activity, verify_csrf_token
from scrapersky.models import Actor, RequestChannel, Role
from scrapersky.models.accounts import KEY_PREFIX

OPEN_MODE = "open"
OPEN_MODE_USER = "everybody on this machine"
PRE_BODY_IDENTITY = "identified_before_body"
JSON_TYPE = "application/json"
FILE_TYPES = ("text/csv", "text/tab-separated-values", "application/octet-stream")
"""What a list that is handed in as a file says it is. A web page cannot send these, nor JSON, to
another server without that server's consent, which a browser asks for first and we never give;
what it can send unasked is plain text, forms, and a body of no declared type."""


async def identify_before_body(request: Request, context: AppContext) -> None:
    actor = await identify(request, context)
    request.scope["state"][PRE_BODY_IDENTITY] = actor


async def identify(request: Request, context: Context) -> Actor:
    """Once per request, however many of its parts need to know; kept as `state.identity`. The route
    takes over what was found before its body was read; whoever asks later is told anew."""
    known: Actor | None = request.scope.get("state", {}).pop(PRE_BODY_IDENTITY, None)
    if known is not None:
        return known
    found = await _authenticate(request, context)
    actor = replace(found, request_id=request.state.request_id)
    request.state.identity = actor
    return actor


async def identify_again(request: Request, context: AppContext) -> Actor | None:
    """Who asks, as of now, for an answer that lasts; None when they may no longer look."""
    try:
        return await identify(request, context)
    except (NotSignedIn, NotAllowed):
        return None


async def _authenticate(request: Request, context: AppContext) -> Actor:
    """A key or token that is shown counts, good or not; the cookie, only where there is none."""
    if context.settings.auth_mode == OPEN_MODE:
        request.state.user_name = OPEN_MODE_USER
        return replace(context.system, via=RequestChannel.API)
    if credentials := get_credentials(request):
        return await authenticate_credentials(credentials, context, request.state.request_id)
    if token := get_session_token(request):
        return await _authenticate_session(request, context, token)
    raise NotSignedIn(
        "Send an API key or a token as `Authorization: Bearer …`, or sign in to the dashboard."
    )


async def _authenticate_session(request: Request, context: AppContext, token: str) -> Actor:
    found = await authenticate_session(
        context.database, context.settings, token, noted=is_user_activity(request)
    )
    verify_csrf_token(request, found.csrf)
    request.state.csrf, request.state.user_name = found.csrf, found.user_name
    return found.actor


Identity = Annotated[Actor, Depends(identify)]


class RoleRequired:
    """A dependency that lets in those with this role or a higher one, and says who they are."""

    def __init__(self, role: Role, *, operator: bool = False) -> None:
        self.role = role
        self.operator = operator
        """Whether it concerns all tenants together, and so the default tenant's people only."""

    async def __call__(self, actor: Identity) -> Actor:
        if not actor.role.includes(self.role):
            raise NotAllowed(f"This needs the role {self.role}; you have {actor.role}.")
        if self.operator and not actor.is_operator:
            raise NotAllowed("This concerns all tenants; it is for the default tenant's people.")
        return actor


class PublicRoute:
    """Marks a route that anybody may call."""

    async def __call__(self) -> None:
        return None


Viewer = Annotated[Actor, Depends(RoleRequired(Role.VIEWER))]
Curator = Annotated[Actor, Depends(RoleRequired(Role.CURATOR))]
Admin = Annotated[Actor, Depends(RoleRequired(Role.ADMIN))]
OperatorViewer = Annotated[Actor, Depends(RoleRequired(Role.VIEWER, operator=True))]
OperatorCurator = Annotated[Actor, Depends(RoleRequired(Role.CURATOR, operator=True))]
OperatorAdmin = Annotated[Actor, Depends(RoleRequired(Role.ADMIN, operator=True))]
PUBLIC = Depends(PublicRoute())


async def authenticate_credentials(credentials: str, context: AppContext, request_id: str) -> Actor:
    """Whose API key or token this is."""
    if context.tokens is None or credentials.startswith(KEY_PREFIX):
        actor = await authenticate_key(context.database, credentials)
    else:
        claims = context.tokens.verify(credentials)
        actor = await authenticate_token(context.database, claims, request_id=request_id)
    return replace(actor, via=RequestChannel.API)


def is_loopback(host: str) -> bool:
    """A name or address that leads to this machine only."""
    host = host.strip("[]").lower().rstrip(".")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_loopback(request: Request) -> None:
    """In open mode any web page a person visits could post here; these rules keep it out."""
    host = urlsplit(f"//{request.headers.get('host', '')}")
    if not is_loopback(host.hostname or ""):
        raise NotAllowed(
            "Without sign-in this server answers on loopback only; "
            "set AUTH_MODE=required to serve other hosts."
        )
    if not all(map(is_loopback, _get_forwarded_addresses(request))):
        # Proxies like to send their own name for us as the Host, whoever asks them.
        raise NotAllowed(
            "Without sign-in this server answers this machine only, and a proxy says that the "
            "request is another's; set AUTH_MODE=required to serve others."
        )
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != host.netloc.lower():
        raise NotAllowed("Without sign-in, requests from other web pages are refused.")


def _get_forwarded_addresses(request: Request) -> list[str]:
    """Everybody a proxy names, trusted or not."""
    return [
        part.strip()
        for value in request.headers.getlist(FORWARDED_FOR)
        for part in value.split(",")
        if part.strip()
    ]


def has_undeclared_body(request: Request) -> bool:
    """A body that does not say it is JSON or a file can be sent by any web page without asking."""
    return has_body(request) and get_content_type(request) not in (JSON_TYPE, *FILE_TYPES)


def has_body(request: Request) -> bool:
    length = request.headers.get("content-length", "0")
    return length != "0" or "transfer-encoding" in request.headers


def get_content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
