"""List the rows of a kind in the columns that its listing declares for the command line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from rich.markup import escape
from rich.text import Text
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.auth.tenants import switch_tenant
from scrapersky.cli.output import (
    build_table,
    format_status,
    format_time,
    out,
    print_json,
    print_table,
)
from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.lists import CellKind, Column, Listing, ListQuery
from scrapersky.models import Actor
from scrapersky.plurals import pluralise

PrepareRows = Callable[[AsyncSession, Actor, Sequence[Any]], Awaitable[Sequence[Any]]]
RowFormats = Mapping[str, Callable[[Any], str]]
"""Formats of columns that show more than their value, by name; each takes the row."""


def list_rows(
    listing: Listing,
    asked: ListQuery,
    noun: str,
    build: Callable[[Any], BaseModel],
    *,
    as_json: bool,
    tenant: str | None = None,
    prepare: PrepareRows | None = None,
    formats: RowFormats | None = None,
) -> int:
    """Print one page of a list as a table, or as JSON of the schema that `build` returns."""

    async def step(session: AsyncSession, everything: CommandContext) -> Sequence[Any]:
        actor = await switch_tenant(session, everything.actor, tenant)
        rows = (await listing.show(session, actor, asked)).rows
        return rows if prepare is None else await prepare(session, actor, rows)

    def show(rows: Sequence[Any]) -> None:
        if as_json:
            print_json([build(each) for each in rows])
        else:
            print_rows(listing, noun, rows, formats)

    return run_in_transaction(step, show)


def print_rows(
    listing: Listing, noun: str, rows: Sequence[Any], formats: RowFormats | None = None
) -> None:
    if not rows:
        out.print(f"No {pluralise(noun)}.")
        return
    columns = [each for each in listing.all_columns if each.cli]
    right = [each.title for each in columns if each.cell_kind is CellKind.NUMBER]
    made = build_table("ID", *(each.title for each in columns), right=right)
    for row in rows:
        own = {name: escape(each(row)) for name, each in (formats or {}).items()}
        made.add_row(str(row.id), *(own.get(each.name, _format(each, row)) for each in columns))
    print_table(made)


def _format(column: Column, row: Any) -> str | Text:
    value = column.read(row)
    if value is None:
        return ""
    match column.cell_kind:
        case CellKind.STATUS:
            return format_status(value)
        case CellKind.TIME:
            return format_time(value)
        case CellKind.BOOLEAN:
            return "yes" if value else "no"
        case CellKind.ITEMS:
            return escape(", ".join(value))
        case CellKind.NUMBER:
            return f"{round(value, 2):g}" if isinstance(value, float) else f"{value}"
        case _:
            return escape(str(value))
