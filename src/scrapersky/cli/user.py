"""`scrapersky user`: who may sign in, and what they may do."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts import passwords, users
from scrapersky.accounts.schemas import UserOut
from scrapersky.accounts.tenants import acting_in
from scrapersky.cli.options import AsJson, OfTenant
from scrapersky.cli.output import note, out, print_json, print_table, table, when
from scrapersky.cli.session import Opened, run_in_transaction
from scrapersky.models import Actor, Role, User
from scrapersky.settings import Settings

app = typer.Typer(
    help="Make, list, change or deactivate users; give them passwords.", no_args_is_help=True
)

Known = Annotated[str, typer.Argument(metavar="USER", help="A name or id; see `user list`.")]
Deed = Callable[[AsyncSession, Actor, UUID, Settings], Awaitable[User]]


@app.command()
def create(
    name: Annotated[str, typer.Option(help="To know them by.")],
    role: Annotated[Role, typer.Option(help="What they may do.")] = Role.VIEWER,
    tenant: OfTenant = None,
) -> int:
    """Make a user and print their id."""

    async def step(session: AsyncSession, everything: Opened) -> User:
        actor = await acting_in(session, everything.actor, tenant)
        return await users.create_user(session, actor, name=name, role=role)

    def show(made: User) -> None:
        out.print(str(made.id), highlight=False)
        note(
            f"{made.name} is {made.role}; `scrapersky user password` lets them sign in, "
            "`scrapersky api-key create --user` gives them a key."
        )

    return run_in_transaction(step, show)


@app.command("list")
def list_users(tenant: OfTenant = None, as_json: AsJson = False) -> int:
    """List users, oldest first."""

    async def step(session: AsyncSession, everything: Opened) -> Sequence[User]:
        actor = await acting_in(session, everything.actor, tenant)
        oldest_first = users.users_of(actor).order_by(User.created_at, User.id)
        return (await session.scalars(oldest_first)).all()

    def show(found: Sequence[User]) -> None:
        if as_json:
            print_json([UserOut.model_validate(each) for each in found])
        else:
            _print_users(found)

    return run_in_transaction(step, show)


def _print_users(found: Sequence[User]) -> None:
    made = table("User", "Name", "Issuer", "Role", "Made", "Deactivated")
    for each in found:
        words = (escape(each.name), escape(each.issuer or ""), each.role)
        made.add_row(str(each.id), *words, when(each.created_at), when(each.deactivated_at))
    print_table(made)


@app.command("set-role")
def set_role(
    user: Known,
    role: Annotated[Role, typer.Argument(help="viewer, curator or admin.")],
    tenant: OfTenant = None,
) -> int:
    """Change what a user may do; their keys follow."""

    async def deed(session: AsyncSession, actor: Actor, user_id: UUID, _: Settings) -> User:
        return await users.set_role(session, actor, user_id, role)

    return _do(deed, user, tenant, lambda changed: f"{changed.name} is {changed.role}.")


@app.command()
def deactivate(user: Known, tenant: OfTenant = None) -> int:
    """Let a user in no more; what they made stays."""

    async def deed(session: AsyncSession, actor: Actor, user_id: UUID, settings: Settings) -> User:
        return await users.deactivate(session, actor, settings, user_id)

    return _do(deed, user, tenant, lambda changed: f"{changed.name} is let in no more.")


@app.command()
def reactivate(user: Known, tenant: OfTenant = None) -> int:
    """Let a user in again."""

    async def deed(session: AsyncSession, actor: Actor, user_id: UUID, _: Settings) -> User:
        return await users.reactivate(session, actor, user_id)

    return _do(deed, user, tenant, lambda changed: f"{changed.name} is let in again.")


@app.command()
def password(user: Known, tenant: OfTenant = None) -> int:
    """Give a user a password for the dashboard; it is asked for, or read from standard input."""
    given = _asked_password()

    async def deed(session: AsyncSession, actor: Actor, user_id: UUID, _: Settings) -> User:
        fresh = await passwords.hashed(given)
        return await users.set_password(session, actor, user_id, fresh)

    return _do(deed, user, tenant, lambda changed: f"{changed.name} can sign in with it.")


def _asked_password() -> str:
    """Typed twice and not shown; or the first line of what comes through a pipe."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    typed: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return typed


def _do(deed: Deed, user: str, tenant: str | None, sentence: Callable[[User], str]) -> int:
    async def step(session: AsyncSession, everything: Opened) -> User:
        actor = await acting_in(session, everything.actor, tenant)
        user_id = await users.user_known_as(session, actor, user)
        return await deed(session, actor, user_id, everything.settings)

    return run_in_transaction(step, lambda changed: note(sentence(changed)))
