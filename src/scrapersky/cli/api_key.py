"""`scrapersky api-key`: create, list, rotate and revoke API keys."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.auth import service
from scrapersky.auth.schemas import ApiKeyOut
from scrapersky.auth.service import find_user_id
from scrapersky.auth.tenants import switch_tenant
from scrapersky.cli.options import AsJson, TenantOption
from scrapersky.cli.output import build_table, format_time, note, out, print_json, print_table
from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.models import ApiKey, Role

app = typer.Typer(help="Create, list, rotate and revoke API keys.", no_args_is_help=True)

KeyId = Annotated[UUID, typer.Argument(help="API key id; see `scrapersky api-key list`.")]
OfUser = Annotated[
    str | None, typer.Option("--user", help="Owner, by name or id. Default: the system user.")
]
Expiry = Annotated[datetime | None, typer.Option("--expires", help="Expiry time in UTC.")]
Grace = Annotated[int, typer.Option(min=0, help="Seconds the old secret stays valid.")]


@app.command()
def create(
    name: Annotated[str, typer.Option(help="Name of the key.")],
    role: Annotated[Role, typer.Option(help="Role of the key.")] = Role.VIEWER,
    user: OfUser = None,
    expires: Expiry = None,
    tenant: TenantOption = None,
) -> int:
    """Create an API key and print its secret. The secret is shown only once."""

    async def step(session: AsyncSession, context: CommandContext) -> tuple[ApiKey, str]:
        actor = await switch_tenant(session, context.actor, tenant)
        user_id = None if user is None else await find_user_id(session, actor, user)
        return await service.create_api_key(
            session, actor, name=name, role=role, user_id=user_id, expires_at=expires
        )

    return run_in_transaction(step, _print_secret_once)


def _print_secret_once(created: tuple[ApiKey, str]) -> None:
    key, secret = created
    out.print(secret, markup=False, highlight=False, soft_wrap=True)
    note(f"API key {key.id}, role {key.role}. The secret is shown only once; save it now.")
    if key.previous_until is not None:
        note(f"The old secret stays valid until {format_time(key.previous_until)}.")


@app.command("list")
def list_keys(tenant: TenantOption = None, as_json: AsJson = False) -> int:
    """List API keys, oldest first."""

    async def step(session: AsyncSession, context: CommandContext) -> Sequence[ApiKey]:
        actor = await switch_tenant(session, context.actor, tenant)
        return await service.list_api_keys(session, actor)

    def show(keys: Sequence[ApiKey]) -> None:
        if as_json:
            print_json([ApiKeyOut.model_validate(each) for each in keys])
        else:
            _print_keys(keys)

    return run_in_transaction(step, show)


def _print_keys(keys: Sequence[ApiKey]) -> None:
    if not keys:
        out.print("No API keys.")
        return
    table = build_table(
        "Key", "Prefix", "Name", "Role", "Created", "Expires", "Last used", "Revoked"
    )
    for each in keys:
        moments = (each.created_at, each.expires_at, each.last_used_at, each.revoked_at)
        words = (each.prefix or "", escape(each.name), each.role)
        table.add_row(str(each.id), *words, *map(format_time, moments))
    print_table(table)


@app.command()
def rotate(key_id: KeyId, grace_seconds: Grace = 0, tenant: TenantOption = None) -> int:
    """Replace the secret of an API key and print the new one. It is shown only once."""

    async def step(session: AsyncSession, context: CommandContext) -> tuple[ApiKey, str]:
        actor = await switch_tenant(session, context.actor, tenant)
        grace = timedelta(seconds=grace_seconds)
        return await service.rotate_api_key(session, actor, key_id, grace=grace)

    return run_in_transaction(step, _print_secret_once)


@app.command()
def revoke(key_id: KeyId, tenant: TenantOption = None) -> int:
    """Revoke an API key."""

    async def step(session: AsyncSession, context: CommandContext) -> ApiKey:
        actor = await switch_tenant(session, context.actor, tenant)
        return await service.revoke_api_key(session, actor, key_id)

    def show(key: ApiKey) -> None:
        out.print(f"API key {key.id} ({escape(key.name)}) revoked.", highlight=False)

    return run_in_transaction(step, show)
