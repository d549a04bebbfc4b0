"""The two ways to begin a session: a password, or a key or token somebody has anyhow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from fastapi import Request

from scrapersky.accounts import sessions, sign_in
from scrapersky.accounts.session_schemas import SignInIn
from scrapersky.accounts.sign_in_limits import limit_sign_in, remember_device
from scrapersky.errors import InvalidInput
from scrapersky.http.application import AppContext
from scrapersky.http.auth import actor_with
from scrapersky.http.presented import key_or_token_in
from scrapersky.models import Role, User, UserSession
from scrapersky.models.accounts import KEY_PREFIX


@dataclass(frozen=True)
class SignedIn:
    user: User
    session: UserSession
    token: str
    device_token: str | None = None
    """For the device cookie; nothing for those who came with a key or token."""

    @property
    def role(self) -> Role:
        return Role(self.session.role).at_most(Role(self.user.role))


async def begin_session(request: Request, context: AppContext, wanted: SignInIn) -> SignedIn:
    if wanted.name is not None and wanted.password is not None:
        return await _with_password(request, context, wanted, wanted.name)
    given = wanted.api_key
    credentials = key_or_token_in(request) if given is None else given.get_secret_value().strip()
    if not credentials:
        raise InvalidInput("Give a name and a password, or an API key.")
    return await _with_credentials(request, context, credentials)


async def _with_password(
    request: Request, context: AppContext, wanted: SignInIn, name: str
) -> SignedIn:
    assert wanted.password is not None
    password = wanted.password.get_secret_value()
    async with limit_sign_in(request, context.database, name=name, tenant=wanted.tenant):
        proven = await sign_in.prove(context.database, name, password, wanted.tenant)
    async with context.database.transaction() as session:
        user = await sign_in.user_still_proven(session, proven)
        actor = proven.actor_asking(request.state.request_id)
        begun = await sessions.begin(session, actor, context.settings, client=_client(request))
        device_token = await remember_device(session, request, user)
    return SignedIn(user, begun.session, begun.token, device_token)


async def _with_credentials(request: Request, context: AppContext, credentials: str) -> SignedIn:
    request_id = request.state.request_id
    known = await actor_with(credentials, context, request_id)
    actor = replace(known, request_id=request_id)
    until = _end_of_token(context, credentials)
    async with context.database.transaction() as session:
        user = await session.get_one(User, actor.user_id)
        begun = await sessions.begin(
            session, actor, context.settings, client=_client(request), until=until
        )
    return SignedIn(user, begun.session, begun.token)


def _end_of_token(context: AppContext, credentials: str) -> datetime | None:
    """A session does not outlive what it was begun with; a key's end is looked up each time."""
    if context.tokens is None or credentials.startswith(KEY_PREFIX):
        return None
    return context.tokens.claims_of(credentials).expires_at


def _client(request: Request) -> str:
    return request.headers.get("user-agent", "")
