"""Users: make, list, change their role, let them in no more or again."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from scrapersky.accounts import passwords, users
from scrapersky.accounts.schemas import PasswordIn, RoleIn, UserIn, UserOut
from scrapersky.http.auth import Admin
from scrapersky.http.context import Context, Reading, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.idempotency import HOLDS_A_SECRET
from scrapersky.http.pagination import Cursor, Limit, Page, newest_first
from scrapersky.models import User

router = APIRouter(prefix="/users", tags=["accounts"], responses=problem_responses(401, 403, 422))


@router.post("", status_code=201, summary="Make a user", responses=problem_responses(409))
async def create_user(actor: Admin, session: Transaction, wanted: UserIn) -> UserOut:
    """They sign in with an API key made for them, with a token whose `sub` is their id, or with a
    password once they have one."""
    made = await users.create_user(session, actor, name=wanted.name, role=wanted.role)
    return UserOut.model_validate(made)


@router.get("", summary="Users, newest first")
async def list_users(
    actor: Admin, session: Reading, cursor: Cursor = None, limit: Limit = 50
) -> Page[UserOut]:
    rows, following = await newest_first(
        session,
        users.users_of(actor),
        at=User.created_at,
        key=User.id,
        cursor=cursor,
        limit=limit,
    )
    return Page(items=[UserOut.model_validate(each) for each in rows], next_cursor=following)


@router.post(
    "/{user_id}/role", summary="Change what a user may do", responses=problem_responses(404, 409)
)
async def set_role(actor: Admin, session: Transaction, user_id: UUID, wanted: RoleIn) -> UserOut:
    """With the next request, for their keys too. Whoever comes by token has the token's role."""
    return UserOut.model_validate(await users.set_role(session, actor, user_id, wanted.role))


@router.post(
    "/{user_id}/deactivate",
    summary="Let a user in no more",
    responses=problem_responses(404, 409),
)
async def deactivate(
    actor: Admin, context: Context, session: Transaction, user_id: UUID
) -> UserOut:
    """Their keys, tokens and sessions stop working at once. What they made stays."""
    return UserOut.model_validate(await users.deactivate(session, actor, context.settings, user_id))


@router.post(
    "/{user_id}/reactivate", summary="Let a user in again", responses=problem_responses(404)
)
async def reactivate(actor: Admin, session: Transaction, user_id: UUID) -> UserOut:
    return UserOut.model_validate(await users.reactivate(session, actor, user_id))


@router.post(
    "/{user_id}/password",
    summary="Give a user a password",
    dependencies=[HOLDS_A_SECRET],
    responses=problem_responses(404, 409),
)
async def set_password(
    actor: Admin, session: Transaction, user_id: UUID, wanted: PasswordIn
) -> UserOut:
    """To sign in to the dashboard with. Whoever was signed in as this user is signed out."""
    fresh = await passwords.hashed(wanted.password.get_secret_value())
    return UserOut.model_validate(await users.set_password(session, actor, user_id, fresh))
