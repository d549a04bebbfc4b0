"""Signing in to the dashboard and out of it, one's own sessions and password."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request, Response

from scrapersky.accounts import passwords, sessions, sign_in, users
from scrapersky.accounts.session_schemas import (
    EndedOut,
    OwnSessionOut,
    PasswordChangeIn,
    SessionOut,
    SignInIn,
    WhoOut,
)
from scrapersky.accounts.sign_in_limits import give_device_cookie, limit_password_checks
from scrapersky.accounts.signing_in import begin_session
from scrapersky.errors import Conflict
from scrapersky.http.auth import JSON_TYPE, OPEN, PUBLIC, Viewer, declared_type, has_body
from scrapersky.http.context import Context, Reading, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.idempotency import HOLDS_A_SECRET, SHOWN_ONCE
from scrapersky.http.sessions import csrf_of, give_cookie, take_cookie
from scrapersky.models import User, UserSession

router = APIRouter(prefix="/session", tags=["session"], responses=problem_responses(401, 403, 422))
own_sessions = APIRouter(
    prefix="/sessions", tags=["session"], responses=problem_responses(401, 403, 422)
)


@router.post(
    "",
    status_code=201,
    summary="Sign in to the dashboard",
    dependencies=[PUBLIC, SHOWN_ONCE],
    responses=problem_responses(409, 415),
)
async def begin(
    request: Request, response: Response, context: Context, wanted: SignInIn | None = None
) -> SessionOut:
    """With a name and a password, or with an API key or token, which may also be in the headers.
    The answer sets the cookie `scrapersky_session` (over https `__Host-scrapersky_session`), and
    after a password `scrapersky_device`, which opens nothing: failed attempts of a browser that has
    it are counted by themselves, so that nobody else's keep it out. Too many failed attempts are
    answered 429 with `Retry-After`."""
    if context.settings.auth_mode == OPEN:
        raise Conflict("Nobody has to sign in here: AUTH_MODE is open.")
    _refuse_what_other_pages_can_send(request)
    begun = await begin_session(request, context, wanted or SignInIn())
    give_cookie(request, response, begun.token)
    if begun.device_token is not None:
        give_device_cookie(request, response, begun.device_token)
    return SessionOut(
        user=_who(begun.user),
        role=begun.role,
        csrf_token=csrf_of(begun.token),
        expires_at=sessions.ends_at(begun.session, context.settings),
    )


def _refuse_what_other_pages_can_send(request: Request) -> None:
    """Or any web page could sign a person in as somebody else."""
    if has_body(request) and declared_type(request) != JSON_TYPE:
        raise HTTPException(415, f"Send the body as `Content-Type: {JSON_TYPE}`.")


@router.get("", summary="Who am I")
async def show(request: Request, actor: Viewer, context: Context, session: Reading) -> SessionOut:
    user = await session.get_one(User, actor.user_id)
    row = await session.get(UserSession, actor.session_id) if actor.session_id else None
    return SessionOut(
        user=_who(user),
        role=actor.role,
        csrf_token=getattr(request.state, "csrf", None),
        expires_at=None if row is None else sessions.ends_at(row, context.settings),
    )


def _who(user: User) -> WhoOut:
    return WhoOut(id=user.id, name=user.name, tenant_id=user.tenant_id)


@router.delete("", status_code=204, summary="Sign out", responses=problem_responses(409))
async def end(actor: Viewer, session: Transaction, response: Response) -> None:
    await sessions.end(session, actor)
    take_cookie(response)


@router.post(
    "/password",
    status_code=204,
    summary="Change one's own password",
    dependencies=[HOLDS_A_SECRET],
    responses=problem_responses(409),
)
async def change_password(
    actor: Viewer,
    context: Context,
    session: Transaction,
    wanted: PasswordChangeIn,
) -> None:
    """Whoever is signed in as this person elsewhere is signed out. The first password is given by
    an admin, or on the command line."""
    fresh = await passwords.hashed(wanted.new.get_secret_value())
    async with limit_password_checks(context.database, actor):
        current = wanted.current.get_secret_value()
        proven = await sign_in.prove_oneself(context.database, actor, current)
    await users.change_own_password(session, actor, proven, fresh)


@own_sessions.get("", summary="Where one is signed in")
async def list_own(actor: Viewer, context: Context, session: Reading) -> list[OwnSessionOut]:
    found = await sessions.sessions_of(session, actor, context.settings)
    return [
        OwnSessionOut(
            id=each.id,
            client=each.client,
            created_at=each.created_at,
            last_seen_at=each.last_seen_at,
            expires_at=sessions.ends_at(each, context.settings),
            is_current=each.id == actor.session_id,
        )
        for each in found
    ]


@own_sessions.post("/end-others", summary="Sign out everywhere else")
async def end_others(actor: Viewer, session: Transaction) -> EndedOut:
    """With a key or token: everywhere."""
    return EndedOut(ended=await sessions.end_others(session, actor))
