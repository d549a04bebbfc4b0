"""`scrapersky api-key`: the keys programs sign in with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts import service
from scrapersky.accounts.schemas import ApiKeyOut
from scrapersky.cli.options import AsJson
from scrapersky.cli.output import note, out, print_json, print_table, table, when
from scrapersky.cli.session import Opened, run_in_transaction
from scrapersky.models import ApiKey, Role

app = typer.Typer(help="Make, list or revoke API keys.", no_args_is_help=True)


@app.command()
def create(
    name: Annotated[str, typer.Option(help="To know it by later.")],
    role: Annotated[Role, typer.Option(help="What it may do.")] = Role.VIEWER,
) -> int:
    """Make a key and print it, this once."""

    async def step(session: AsyncSession, everything: Opened) -> tuple[ApiKey, str]:
        return await service.create_api_key(session, everything.actor, name=name, role=role)

    def show(made: tuple[ApiKey, str]) -> None:
        key, secret = made
        out.print(secret, markup=False, highlight=False, soft_wrap=True)
        note(f"Key {key.id} with the role {key.role}; it is shown this once, keep it.")

    return run_in_transaction(step, show)


@app.command("list")
def list_keys(as_json: AsJson = False) -> int:
    """List keys, oldest first."""

    async def step(session: AsyncSession, everything: Opened) -> Sequence[ApiKey]:
        return await service.list_api_keys(session, everything.actor)

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
    made = table("Key", "Name", "Role", "Made", "Last used", "Revoked")
    for each in keys:
        moments = (each.created_at, each.last_used_at, each.revoked_at)
        made.add_row(str(each.id), escape(each.name), each.role, *map(when, moments))
    print_table(made)


@app.command()
def revoke(key_id: Annotated[UUID, typer.Argument(help="See `scrapersky api-key list`.")]) -> int:
    """Make a key worthless."""

    async def step(session: AsyncSession, everything: Opened) -> ApiKey:
        return await service.revoke_api_key(session, everything.actor, key_id)

    def show(key: ApiKey) -> None:
        out.print(f"Key {key.id} ({escape(key.name)}) is worth nothing any more.", highlight=False)

    return run_in_transaction(step, show)
