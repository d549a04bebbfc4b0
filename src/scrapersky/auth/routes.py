"""Routes for API keys, users, the audit log, and dashboard sessions."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, HTTPException, Query, Request, Response

from scrapersky.auth import audit, passwords, service, sessions, sign_in
from scrapersky.auth import service as users
from scrapersky.auth.schemas import (
    ApiKeyIn,
    ApiKeyOut,
    AuditEntryOut,
    EndedOut,
    NewApiKey,
    OwnSessionOut,
    PasswordChangeIn,
    PasswordIn,
    RoleIn,
    RotationIn,
    SessionOut,
    SignInIn,
    UserIn,
    UserOut,
    WhoOut,
)
from scrapersky.auth.sign_in import begin_session
from scrapersky.auth.sign_in_limits import limit_password_checks, set_device_cookie
from scrapersky.errors import Conflict
from scrapersky.http.application import Context
from scrapersky.http.auth import (
    JSON_TYPE,
    OPEN_MODE,
    PUBLIC,
    Admin,
    Viewer,
    get_content_type,
    has_body,
)
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.idempotency import ACCEPTS_SECRET, RETURNS_SECRET
from scrapersky.http.problems import problem_responses
from scrapersky.http.sessions import build_csrf_token, delete_session_cookie, set_session_cookie
from scrapersky.lists.cursor import CursorPage, CursorParam, LimitParam, fetch_newest_first
from scrapersky.models import ApiKey, User, UserSession

audit_router = APIRouter(
    prefix="/audit", tags=["accounts"], responses=problem_responses(401, 403, 422)
)


@audit_router.get("", summary="List audit log entries")
async def list_entries(
    session: Reading,
    asking: Admin,
    actor: Annotated[
        UUID | None, Query(description="Id of the user who performed the action.")
    ] = None,
    action: Annotated[str | None, Query(examples=["job.cancel"])] = None,
    since: Annotated[datetime | None, Query(examples=["2026-11-01T00:00:00Z"])] = None,
    until: Annotated[datetime | None, Query(examples=["2026-11-02T00:00:00Z"])] = None,
    cursor: CursorParam = None,
    limit: LimitParam = 50,
) -> CursorPage[AuditEntryOut]:
    query = audit.AuditQuery(actor_id=actor, action=action, since=since, until=until)
    entries, following = await audit.list_audit_entries(
        session, asking, query, cursor=cursor, limit=limit
    )
    return CursorPage(
        items=[AuditEntryOut.model_validate(each) for each in entries], next_cursor=following
    )


api_key_router = APIRouter(
    prefix="/api-keys", tags=["accounts"], responses=problem_responses(401, 403, 422)
)


@api_key_router.post(
    "",
    status_code=201,
    summary="Create an API key",
    dependencies=[RETURNS_SECRET],
    responses=problem_responses(404, 409),
)
async def create_key(actor: Admin, session: Transaction, body: ApiKeyIn) -> NewApiKey:
    key = await service.create_api_key(
        session,
        actor,
        name=body.name,
        role=body.role,
        user_id=body.user_id,
        expires_at=body.expires_at,
    )
    return _build_new_key(*key)


@api_key_router.get("", summary="List API keys")
async def list_keys(actor: Admin, session: Reading) -> list[ApiKeyOut]:
    return [ApiKeyOut.model_validate(each) for each in await service.list_api_keys(session, actor)]


@api_key_router.post(
    "/{key_id}/rotate",
    summary="Rotate an API key",
    dependencies=[RETURNS_SECRET],
    responses=problem_responses(404, 409),
)
async def rotate_key(
    actor: Admin, session: Transaction, key_id: UUID, body: RotationIn | None = None
) -> NewApiKey:
    """The previous secret stops working immediately, or after the grace period. The key keeps its
    id, role and expiry.
    """
    grace = timedelta(seconds=body.grace_seconds if body else 0)
    return _build_new_key(*await service.rotate_api_key(session, actor, key_id, grace=grace))


@api_key_router.post(
    "/{key_id}/revoke", summary="Revoke an API key", responses=problem_responses(404)
)
async def revoke_key(actor: Admin, session: Transaction, key_id: UUID) -> ApiKeyOut:
    return ApiKeyOut.model_validate(await service.revoke_api_key(session, actor, key_id))


def _build_new_key(key: ApiKey, secret: str) -> NewApiKey:
    return NewApiKey(**ApiKeyOut.model_validate(key).model_dump(), key=secret)


session_router = APIRouter(
    prefix="/session", tags=["session"], responses=problem_responses(401, 403, 422)
)
own_sessions_router = APIRouter(
    prefix="/sessions", tags=["session"], responses=problem_responses(401, 403, 422)
)


@session_router.post(
    "",
    status_code=201,
    summary="Sign in to the dashboard",
    dependencies=[PUBLIC, RETURNS_SECRET],
    responses=problem_responses(409, 415),
)
async def begin(
    request: Request, response: Response, context: Context, body: SignInIn | None = None
) -> SessionOut:
    """Sign in with a name and password, or with an API key or token, which may also be sent in the
    headers. The response sets the cookie `scrapersky_session` (over https
    `__Host-scrapersky_session`). After a password it also sets `scrapersky_device`, which grants
    no access: failed attempts from a browser with this cookie are counted separately, so that
    other clients cannot lock it out. Too many failed attempts get a 429 with `Retry-After`.
    """
    if context.settings.auth_mode == OPEN_MODE:
        raise Conflict("Sign-in is disabled: AUTH_MODE is open.")
    _require_json_body(request)
    user_session = await begin_session(request, context, body or SignInIn())
    set_session_cookie(request, response, user_session.token)
    if user_session.device_token is not None:
        set_device_cookie(request, response, user_session.device_token)
    return SessionOut(
        user=_build_who(user_session.user),
        role=user_session.role,
        csrf_token=build_csrf_token(user_session.token),
        expires_at=sessions.get_expiry(user_session.session, context.settings),
    )


def _require_json_body(request: Request) -> None:
    """Require JSON; otherwise any web page could sign a user in to another account (login CSRF)."""
    if has_body(request) and get_content_type(request) != JSON_TYPE:
        raise HTTPException(415, f"Send the body as `Content-Type: {JSON_TYPE}`.")


@session_router.get("", summary="Get my session")
async def show(request: Request, actor: Viewer, context: Context, session: Reading) -> SessionOut:
    user = await session.get_one(User, actor.user_id)
    row = await session.get(UserSession, actor.session_id) if actor.session_id else None
    return SessionOut(
        user=_build_who(user),
        role=actor.role,
        csrf_token=getattr(request.state, "csrf", None),
        expires_at=None if row is None else sessions.get_expiry(row, context.settings),
    )


def _build_who(user: User) -> WhoOut:
    return WhoOut(id=user.id, name=user.name, tenant_id=user.tenant_id)


@session_router.delete("", status_code=204, summary="Sign out", responses=problem_responses(409))
async def end(actor: Viewer, session: Transaction, response: Response) -> None:
    await sessions.end_session(session, actor)
    delete_session_cookie(response)


@session_router.post(
    "/password",
    status_code=204,
    summary="Change my password",
    dependencies=[ACCEPTS_SECRET],
    responses=problem_responses(409),
)
async def change_password(
    actor: Viewer,
    context: Context,
    session: Transaction,
    body: PasswordChangeIn,
) -> None:
    """Ends all other sessions of the user. The first password is set by an admin or on the command
    line.
    """
    fresh = await passwords.hash_password(body.new.get_secret_value())
    async with limit_password_checks(context.database, actor):
        current = body.current.get_secret_value()
        proven = await sign_in.verify_current_user(context.database, actor, current)
    await users.change_own_password(session, actor, proven, fresh)


@own_sessions_router.get("", summary="List my sessions")
async def list_own(actor: Viewer, context: Context, session: Reading) -> list[OwnSessionOut]:
    own_sessions = await sessions.list_sessions(session, actor, context.settings)
    return [
        OwnSessionOut(
            id=each.id,
            client=each.client,
            created_at=each.created_at,
            last_seen_at=each.last_seen_at,
            expires_at=sessions.get_expiry(each, context.settings),
            is_current=each.id == actor.session_id,
        )
        for each in own_sessions
    ]


@own_sessions_router.post("/end-others", summary="End my other sessions")
async def end_others(actor: Viewer, session: Transaction) -> EndedOut:
    """With an API key or token, all sessions end."""
    return EndedOut(ended=await sessions.end_other_sessions(session, actor))


user_router = APIRouter(
    prefix="/users", tags=["accounts"], responses=problem_responses(401, 403, 422)
)


@user_router.post("", status_code=201, summary="Create a user", responses=problem_responses(409))
async def create_user(actor: Admin, session: Transaction, body: UserIn) -> UserOut:
    """The user signs in with an API key, with a token whose `sub` is the user's id, or with a
    password once one is set.
    """
    user = await users.create_user(session, actor, name=body.name, role=body.role)
    return UserOut.model_validate(user)


@user_router.get("", summary="List users")
async def list_users(
    actor: Admin, session: Reading, cursor: CursorParam = None, limit: LimitParam = 50
) -> CursorPage[UserOut]:
    rows, following = await fetch_newest_first(
        session,
        users.select_users(actor),
        at=User.created_at,
        key=User.id,
        cursor=cursor,
        limit=limit,
    )
    return CursorPage(items=[UserOut.model_validate(each) for each in rows], next_cursor=following)


@user_router.post(
    "/{user_id}/role", summary="Change a user's role", responses=problem_responses(404, 409)
)
async def set_role(actor: Admin, session: Transaction, user_id: UUID, body: RoleIn) -> UserOut:
    """Takes effect with the next request and also limits the user's API keys. Users who sign in by
    token have the token's role.
    """
    return UserOut.model_validate(await users.set_role(session, actor, user_id, body.role))


@user_router.post(
    "/{user_id}/deactivate",
    summary="Deactivate a user",
    responses=problem_responses(404, 409),
)
async def deactivate(
    actor: Admin, context: Context, session: Transaction, user_id: UUID
) -> UserOut:
    """The user's keys, tokens and sessions stop working immediately. Rows they created are kept."""
    return UserOut.model_validate(await users.deactivate(session, actor, context.settings, user_id))


@user_router.post(
    "/{user_id}/reactivate", summary="Reactivate a user", responses=problem_responses(404)
)
async def reactivate(actor: Admin, session: Transaction, user_id: UUID) -> UserOut:
    return UserOut.model_validate(await users.reactivate(session, actor, user_id))


@user_router.post(
    "/{user_id}/password",
    summary="Set a user's password",
    dependencies=[ACCEPTS_SECRET],
    responses=problem_responses(404, 409),
)
async def set_password(
    actor: Admin, session: Transaction, user_id: UUID, body: PasswordIn
) -> UserOut:
    """Sets the password for signing in to the dashboard and ends the user's sessions."""
    fresh = await passwords.hash_password(body.password.get_secret_value())
    return UserOut.model_validate(await users.set_password(session, actor, user_id, fresh))
