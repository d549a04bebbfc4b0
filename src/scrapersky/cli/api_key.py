"""`scrapersky api-key`: the keys programs sign in with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts import service
from scrapersky.accounts.schemas import ApiKeyOut
from scrapersky.accounts.tenants import acting_in
from scrapersky.accounts.users import user_known_as
from scrapersky.cli.options import AsJson, OfTenant
from scrapersky.cli.output import note, out, print_json, print_table, table, when
from scrapersky.cli.session import Opened, run_in_transaction
from scrapersky.models import ApiKey, Role

app = typer.Typer(help="Make, list, rotate or revoke API keys.", no_args_is_help=True)

KeyId = Annotated[UUID, typer.Argument(help="See `scrapersky api-key list`.")]
OfUser = Annotated[
    str | None, typer.Option("--user", help="Whose it is, by name or id; left out: the system's.")
]
Expiry = Annotated[datetime | None, typer.Option("--expires", help="Worthless from then, in UTC.")]
Grace = Annotated[int, typer.Option(min=0, help="For so long the old secret stays good.")]


@app.command()
def create(
    name: Annotated[str, typer.Option(help="To know it by later.")],
    role: Annotated[Role, typer.Option(help="What it may do.")] = Role.VIEWER,
    user: OfUser = None,
    expires: Expiry = None,
    tenant: OfTenant = None,
) -> int:
    """Make a key and print it, this once."""

    async def step(session: AsyncSession, everything: Opened) -> tuple[ApiKey, str]:
        actor = await acting_in(session, everything.actor, tenant)
        user_id = None if user is None else await user_known_as(session, actor, user)
        return await service.create_api_key(
            session, actor, name=name, role=role, user_id=user_id, expires_at=expires
        )

    return run_in_transaction(step, _show_once)


def _show_once(made: tuple[ApiKey, str]) -> None:
    key, secret = made
    out.print(secret, markup=False, highlight=False, soft_wrap=True)
    note(f"Key {key.id} with the role {key.role}; it is shown this once, keep it.")
    if key.previous_until is not None:
        note(f"The old one is good until {when(key.previous_until)}.")


@app.command("list")
def list_keys(tenant: OfTenant = None, as_json: AsJson = False) -> int:
    """List keys, oldest first."""

    async def step(session: AsyncSession, everything: Opened) -> Sequence[ApiKey]:
        actor = await acting_in(session, everything.actor, tenant)
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
    made = table("Key", "Begins", "Name", "Role", "Made", "Expires", "Last used", "Revoked")
    for each in keys:
        moments = (each.created_at, each.expires_at, each.last_used_at, each.revoked_at)
        words = (each.prefix or "", escape(each.name), each.role)
        made.add_row(str(each.id), *words, *map(when, moments))
    print_table(made)


@app.command()
def rotate(key_id: KeyId, grace_seconds: Grace = 0, tenant: OfTenant = None) -> int:
    """Give a key a new secret and print it, this once."""

    async def step(session: AsyncSession, everything: Opened) -> tuple[ApiKey, str]:
        actor = await acting_in(session, everything.actor, tenant)
        grace = timedelta(seconds=grace_seconds)
        return await service.rotate_api_key(session, actor, key_id, grace=grace)

    return run_in_transaction(step, _show_once)


@app.command()
def revoke(key_id: KeyId, tenant: OfTenant = None) -> int:
    """Make a key worthless."""

    async def step(session: AsyncSession, everything: Opened) -> ApiKey:
        actor = await acting_in(session, everything.actor, tenant)
        return await service.revoke_api_key(session, actor, key_id)

    def show(key: ApiKey) -> None:
        out.print(f"Key {key.id} ({escape(key.name)}) is worth nothing any more.", highlight=False)

    return run_in_transaction(step, show)
