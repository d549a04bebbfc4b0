"""Who asks: every route names the role it needs, and this is the only place that checks."""

from __future__ import annotations

import hashlib
import ipaddress
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request
from sqlalchemy import func, select, update

from scrapersky.errors import NotAllowed, NotSignedIn
from scrapersky.http.context import AppContext, Context
from scrapersky.models import Actor, ApiKey, Role, User

OPEN = "open"


class RoleRequired:
    """A dependency that lets in those with this role or a higher one, and says who they are."""

    def __init__(self, role: Role) -> None:
        self.role = role

    async def __call__(self, request: Request, context: Context) -> Actor:
        if context.settings.auth_mode == OPEN:
            return await _open_actor(context)
        actor = await _signed_in(request, context)
        if not actor.role.includes(self.role):
            raise NotAllowed(f"This needs the role {self.role}; your key has {actor.role}.")
        return actor


class Public:
    """Marks a route that anybody may call."""

    async def __call__(self) -> None:
        return None


Viewer = Annotated[Actor, Depends(RoleRequired(Role.VIEWER))]
Curator = Annotated[Actor, Depends(RoleRequired(Role.CURATOR))]
Admin = Annotated[Actor, Depends(RoleRequired(Role.ADMIN))]
PUBLIC = Depends(Public())


async def _open_actor(context: AppContext) -> Actor:
    async with context.database.reading() as session:
        user = await session.get_one(User, context.settings.scheduler_system_user_id)
        return Actor(user_id=user.id, tenant_id=user.tenant_id, role=Role.ADMIN)


async def _signed_in(request: Request, context: AppContext) -> Actor:
    digest = hashlib.sha256(_key_in(request).encode()).digest()
    async with context.database.transaction() as session:
        key = await session.scalar(
            select(ApiKey).where(ApiKey.key_hash == digest, ApiKey.revoked_at.is_(None))
        )
        if key is None:
            raise NotSignedIn("The API key is not known, or was revoked.")
        await session.execute(
            update(ApiKey).where(ApiKey.id == key.id).values(last_used_at=func.now())
        )
        return Actor(user_id=key.user_id, tenant_id=key.tenant_id, role=Role(key.role))


def _key_in(request: Request) -> str:
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and credentials.strip():
        return credentials.strip()
    if key := request.headers.get("x-api-key", "").strip():
        return key
    raise NotSignedIn("Send an API key as `Authorization: Bearer KEY`.")


def is_loopback(host: str) -> bool:
    """A name or address that leads to this machine only."""
    host = host.strip("[]").lower().rstrip(".")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refuse_stranger(request: Request) -> None:
    """In open mode any web page a person visits could post here; these rules keep it out."""
    host = urlsplit(f"//{request.headers.get('host', '')}")
    if not is_loopback(host.hostname or ""):
        raise NotAllowed(
            "Without sign-in this server answers on loopback only; "
            "set AUTH_MODE=required to serve other hosts."
        )
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != host.netloc.lower():
        raise NotAllowed("Without sign-in, requests from other web pages are refused.")


def body_is_undeclared(request: Request) -> bool:
    """A body that does not say it is JSON can be sent by any web page without asking."""
    length = request.headers.get("content-length", "0")
    has_body = length != "0" or "transfer-encoding" in request.headers
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return has_body and kind != "application/json"
