"""Users: make them, change what they may do, let them in no more."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Select, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts.names import name_of
from scrapersky.accounts.sessions import end_of_user
from scrapersky.accounts.sign_in import Proven
from scrapersky.db.base import uuid7
from scrapersky.errors import Conflict, NotFound
from scrapersky.models import Actor, Role, User, Via, record
from scrapersky.settings import Settings


async def create_user(session: AsyncSession, actor: Actor, *, name: str, role: Role) -> User:
    name = name_of("A user", name)
    made: User | None = await session.scalar(
        insert(User)
        .values(id=uuid7(), tenant_id=actor.tenant_id, name=name, role=role)
        .on_conflict_do_nothing(index_elements=[User.tenant_id, User.issuer, User.name])
        .returning(User)
    )
    if made is None:
        raise Conflict(f"There is a user {name} already.")
    record(session, actor, "user.create", made.id, name=name, role=role)
    return made


def users_of(actor: Actor) -> Select[User]:
    return select(User).where(User.tenant_id == actor.tenant_id)


async def get_user(session: AsyncSession, actor: Actor, user_id: UUID) -> User:
    """Locked, so that of two changes at once the second sees the first."""
    wanted = users_of(actor).where(User.id == user_id).with_for_update()
    user = await session.scalar(wanted)
    if user is None:
        raise NotFound(f"There is no user {user_id}.")
    return user


async def user_known_as(session: AsyncSession, actor: Actor, text: str) -> UUID:
    """For people, who know users by name; those made here come first, others need their id."""
    try:
        wanted = or_(User.id == UUID(text), User.name == text)
    except ValueError:
        wanted = User.name == text
    found = (await session.scalars(users_of(actor).where(wanted))).all()
    here = [each for each in found if each.issuer is None] or found
    if not here:
        raise NotFound(f"There is no user {text}.")
    if len(here) > 1:
        raise Conflict(f"Several users are called {text}; name one by id.")
    return here[0].id


async def set_role(session: AsyncSession, actor: Actor, user_id: UUID, role: Role) -> User:
    """Takes effect with the next request, for the user's keys too."""
    user = await get_user(session, actor, user_id)
    _refuse_for_oneself(actor, user)
    if user.issuer is not None:
        raise Conflict(f"The role of {user.name} comes with the token; change it at its issuer.")
    record(session, actor, "user.set_role", user.id, before=user.role, role=role)
    user.role = role
    return await _stored(session, user)


async def deactivate(
    session: AsyncSession, actor: Actor, settings: Settings, user_id: UUID
) -> User:
    """Keys, tokens and sessions open nothing from the next request on; what they made stays."""
    user = await get_user(session, actor, user_id)
    if user.id == settings.scheduler_system_user_id:
        raise Conflict("The schedulers act as this user, so it has to stay.")
    _refuse_for_oneself(actor, user)
    if user.deactivated_at is None:
        user.deactivated_at = func.now()
    await end_of_user(session, actor, user.id)
    record(session, actor, "user.deactivate", user.id)
    return await _stored(session, user)


async def reactivate(session: AsyncSession, actor: Actor, user_id: UUID) -> User:
    user = await get_user(session, actor, user_id)
    user.deactivated_at = None
    record(session, actor, "user.reactivate", user.id)
    return await _stored(session, user)


async def set_password(
    session: AsyncSession, actor: Actor, user_id: UUID, password_hash: str
) -> User:
    """By somebody else; whoever was signed in with the old one is signed out."""
    user = await get_user(session, actor, user_id)
    if user.id == actor.user_id and actor.via is not Via.CLI:
        raise Conflict("Your own password is changed with the current one, on your account's page.")
    if user.issuer is not None:
        raise Conflict(f"{user.name} comes by token, and signs in at whoever issues it.")
    return await _with_password(session, actor, user, password_hash)


async def change_own_password(
    session: AsyncSession, actor: Actor, proven: Proven, password_hash: str
) -> User:
    """All other sessions of this person end."""
    user = await get_user(session, actor, actor.user_id)
    if user.password_hash != proven.password_hash:
        raise Conflict("Your password was changed by somebody else just now.")
    return await _with_password(session, actor, user, password_hash)


async def _with_password(
    session: AsyncSession, actor: Actor, user: User, password_hash: str
) -> User:
    user.password_hash = password_hash
    ended = await end_of_user(session, actor, user.id)
    record(session, actor, "user.set_password", user.id, sessions_ended=ended)
    return await _stored(session, user)


def _refuse_for_oneself(actor: Actor, user: User) -> None:
    """Or the last admin could lock everybody out. On the command line one can always come back."""
    if user.id == actor.user_id and actor.via is not Via.CLI:
        raise Conflict("You cannot do this to yourself; ask another admin.")


async def _stored(session: AsyncSession, user: User) -> User:
    await session.flush()
    await session.refresh(user)
    return user
