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
OPEN_MODE_USER = "Local user"
OPERATORS_ONLY = "This covers all tenants. Only operators (default tenant) may use it."
PRE_BODY_IDENTITY = "identified_before_body"
JSON_TYPE = "application/json"
FILE_TYPES = ("text/csv", "text/tab-separated-values", "application/octet-stream")
"""Content types of an uploaded list.

A web page cannot send these, or JSON, to another origin without a CORS preflight, which we never
grant. Without a preflight it can send plain text, forms, and bodies without a content type.
"""


async def identify_before_body(request: Request, context: AppContext) -> None:
    actor = await identify(request, context)
    request.scope["state"][PRE_BODY_IDENTITY] = actor


async def identify(request: Request, context: Context) -> Actor:
    """Authenticate the request and set `state.identity`.

    If the caller was identified before the body was read, the route uses that result, once. Later
    calls authenticate again.
    """
    known: Actor | None = request.scope.get("state", {}).pop(PRE_BODY_IDENTITY, None)
    if known is not None:
        return known
    identity = await _authenticate(request, context)
    actor = replace(identity, request_id=request.state.request_id)
    request.state.identity = actor
    return actor


async def identify_again(request: Request, context: AppContext) -> Actor | None:
    """Re-authenticate during a long-lived response; None if access was withdrawn."""
    try:
        return await identify(request, context)
    except (NotSignedIn, NotAllowed):
        return None


async def _authenticate(request: Request, context: AppContext) -> Actor:
    """Authenticate by key or token, or by session cookie only if the request has neither.

    An invalid key or token is rejected even if the cookie is valid.
    """
    if context.settings.auth_mode == OPEN_MODE:
        request.state.user_name = OPEN_MODE_USER
        return replace(context.system, via=RequestChannel.API)
    if credentials := get_credentials(request):
        return await authenticate_credentials(credentials, context, request.state.request_id)
    if token := get_session_token(request):
        return await _authenticate_session(request, context, token)
    raise NotSignedIn(
        "Authentication required. Send an API key or a token as `Authorization: Bearer …`, "
        "or sign in to the dashboard."
    )


async def _authenticate_session(request: Request, context: AppContext, token: str) -> Actor:
    actor = await authenticate_session(
        context.database, context.settings, token, noted=is_user_activity(request)
    )
    verify_csrf_token(request, actor.csrf)
    request.state.csrf, request.state.user_name = actor.csrf, actor.user_name
    return actor.actor


Identity = Annotated[Actor, Depends(identify)]


class RoleRequired:
    """Dependency that requires at least this role and returns the actor."""

    def __init__(self, role: Role, *, operator: bool = False) -> None:
        self.role = role
        self.operator = operator
        """True for routes that span all tenants; only users of the default tenant are operators."""

    async def __call__(self, actor: Identity) -> Actor:
        if not actor.role.includes(self.role):
            raise NotAllowed(f"This requires the role {self.role}. Your role is {actor.role}.")
        if self.operator and not actor.is_operator:
            raise NotAllowed(OPERATORS_ONLY)
        return actor


class PublicRoute:
    """Marks a route that needs no authentication."""

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
    """Authenticate an API key or a token."""
    if context.tokens is None or credentials.startswith(KEY_PREFIX):
        actor = await authenticate_key(context.database, credentials)
    else:
        claims = context.tokens.verify(credentials)
        actor = await authenticate_token(context.database, claims, request_id=request_id)
    return replace(actor, via=RequestChannel.API)


def is_loopback(host: str) -> bool:
    """Return whether the host name or address is a loopback one."""
    host = host.strip("[]").lower().rstrip(".")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_loopback(request: Request) -> None:
    """Reject requests that do not come from this machine or from one of our own pages.

    In open mode any web page a user visits could otherwise post here.
    """
    host = urlsplit(f"//{request.headers.get('host', '')}")
    if not is_loopback(host.hostname or ""):
        raise NotAllowed(
            "Without sign-in this server only answers on loopback addresses. "
            "Set AUTH_MODE=required to serve other hosts."
        )
    if not all(map(is_loopback, _get_forwarded_addresses(request))):
        # Many proxies set the Host header to our own name for every client.
        raise NotAllowed(
            "Without sign-in this server only answers clients on this machine, and a proxy "
            "forwarded this request for another. Set AUTH_MODE=required to serve other clients."
        )
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != host.netloc.lower():
        raise NotAllowed("Without sign-in, requests from other web pages are rejected.")


def _get_forwarded_addresses(request: Request) -> list[str]:
    """Return all forwarded addresses, whether the proxy is trusted or not."""
    return [
        part.strip()
        for value in request.headers.getlist(FORWARDED_FOR)
        for part in value.split(",")
        if part.strip()
    ]


def has_undeclared_body(request: Request) -> bool:
    """Return whether the body is neither JSON nor a file: any web page can send those without a
    preflight.
    """
    return has_body(request) and get_content_type(request) not in (JSON_TYPE, *FILE_TYPES)


def has_body(request: Request) -> bool:
    length = request.headers.get("content-length", "0")
    return length != "0" or "transfer-encoding" in request.headers


def get_content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
