"""`scrapersky user`: create, list, change and deactivate users."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.auth import passwords, service
from scrapersky.auth.schemas import UserOut
from scrapersky.auth.tenants import switch_tenant
from scrapersky.cli.options import AsJson, TenantOption
from scrapersky.cli.output import build_table, format_time, note, out, print_json, print_table
from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.models import Actor, Role, User
from scrapersky.settings import Settings

app = typer.Typer(
    help="Create, list, change and deactivate users, and set passwords.", no_args_is_help=True
)

UserArgument = Annotated[
    str, typer.Argument(metavar="USER", help="User name or id; see `user list`.")
]
UserOperation = Callable[[AsyncSession, Actor, UUID, Settings], Awaitable[User]]


@app.command()
def create(
    name: Annotated[str, typer.Option(help="Name of the user.")],
    role: Annotated[Role, typer.Option(help="Role of the user.")] = Role.VIEWER,
    tenant: TenantOption = None,
) -> int:
    """Create a user and print their id."""

    async def step(session: AsyncSession, context: CommandContext) -> User:
        actor = await switch_tenant(session, context.actor, tenant)
        return await service.create_user(session, actor, name=name, role=role)

    def show(user: User) -> None:
        out.print(str(user.id), highlight=False)
        note(
            f"{user.name} is {user.role}. Set a password with `scrapersky user password`, or "
            "create a key with `scrapersky api-key create --user`."
        )

    return run_in_transaction(step, show)


@app.command("list")
def list_users(tenant: TenantOption = None, as_json: AsJson = False) -> int:
    """List users, oldest first."""

    async def step(session: AsyncSession, context: CommandContext) -> Sequence[User]:
        actor = await switch_tenant(session, context.actor, tenant)
        oldest_first = service.select_users(actor).order_by(User.created_at, User.id)
        return (await session.scalars(oldest_first)).all()

    def show(users: Sequence[User]) -> None:
        if as_json:
            print_json([UserOut.model_validate(each) for each in users])
        else:
            _print_users(users)

    return run_in_transaction(step, show)


def _print_users(users: Sequence[User]) -> None:
    table = build_table("User", "Name", "Issuer", "Role", "Created", "Deactivated")
    for each in users:
        words = (escape(each.name), escape(each.issuer or ""), each.role)
        table.add_row(
            str(each.id), *words, format_time(each.created_at), format_time(each.deactivated_at)
        )
    print_table(table)


@app.command("set-role")
def set_role(
    user: UserArgument,
    role: Annotated[Role, typer.Argument(help="viewer, curator or admin.")],
    tenant: TenantOption = None,
) -> int:
    """Change the role of a user. It also applies to their API keys."""

    async def deed(session: AsyncSession, actor: Actor, user_id: UUID, _: Settings) -> User:
        return await service.set_role(session, actor, user_id, role)

    return _run_operation(deed, user, tenant, lambda changed: f"{changed.name} is {changed.role}.")


@app.command()
def deactivate(user: UserArgument, tenant: TenantOption = None) -> int:
    """Deactivate a user. Rows they created are kept."""

    async def deed(session: AsyncSession, actor: Actor, user_id: UUID, settings: Settings) -> User:
        return await service.deactivate(session, actor, settings, user_id)

    return _run_operation(deed, user, tenant, lambda changed: f"{changed.name} is deactivated.")


@app.command()
def reactivate(user: UserArgument, tenant: TenantOption = None) -> int:
    """Reactivate a user."""

    async def deed(session: AsyncSession, actor: Actor, user_id: UUID, _: Settings) -> User:
        return await service.reactivate(session, actor, user_id)

    return _run_operation(deed, user, tenant, lambda changed: f"{changed.name} is active again.")


@app.command()
def password(user: UserArgument, tenant: TenantOption = None) -> int:
    """Set a user's dashboard password. It is prompted for, or read from standard input."""
    new_password = _read_password()

    async def deed(session: AsyncSession, actor: Actor, user_id: UUID, _: Settings) -> User:
        fresh = await passwords.hash_password(new_password)
        return await service.set_password(session, actor, user_id, fresh)

    return _run_operation(deed, user, tenant, lambda changed: f"Password of {changed.name} set.")


def _read_password() -> str:
    """Prompt twice without echo, or read the first line of a pipe."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    typed: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return typed


def _run_operation(
    operation: UserOperation, user: str, tenant: str | None, sentence: Callable[[User], str]
) -> int:
    async def step(session: AsyncSession, context: CommandContext) -> User:
        actor = await switch_tenant(session, context.actor, tenant)
        user_id = await service.find_user_id(session, actor, user)
        return await operation(session, actor, user_id, context.settings)

    return run_in_transaction(step, lambda changed: note(sentence(changed)))
