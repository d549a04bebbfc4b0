"""The two ways to begin a session: a password, or a key or token somebody has anyhow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from fastapi import HTTPException, Request

from scrapersky.accounts import sessions, sign_in
from scrapersky.accounts.session_schemas import SignInIn
from scrapersky.errors import InvalidInput
from scrapersky.http.application import AppContext
from scrapersky.http.auth import actor_with
from scrapersky.http.presented import key_or_token_in
from scrapersky.http.rate_limits import address_of
from scrapersky.models import Role, User, UserSession
from scrapersky.models.accounts import KEY_PREFIX


@dataclass(frozen=True)
class SignedIn:
    user: User
    session: UserSession
    token: str

    @property
    def role(self) -> Role:
        return Role(self.session.role).at_most(Role(self.user.role))


@contextmanager
def attempt(request: Request, context: AppContext, name: str) -> Iterator[None]:
    """Counts as failed unless it ends well; refused when there were too many of that kind."""
    address, name = address_of(request), name.strip().casefold()
    if seconds := context.sign_ins.begin(name, address):
        sentence = f"That were too many failed attempts; try again in {seconds} s."
        raise HTTPException(429, sentence, headers={"Retry-After": str(seconds)})
    yield
    context.sign_ins.succeed(name, address)


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
    with attempt(request, context, name):
        proven = await sign_in.prove(context.database, name, password, wanted.tenant)
    async with context.database.transaction() as session:
        user = await sign_in.user_still_proven(session, proven)
        actor = proven.actor_asking(request.state.request_id)
        begun = await sessions.begin(session, actor, context.settings, client=_client(request))
    return SignedIn(user, begun.session, begun.token)


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
