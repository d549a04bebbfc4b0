"""`scrapersky urls` and `scrapersky changes`: the stored URLs of a site, and what changed."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from scrapersky.cli.files import choose_format, note_written, replace_atomically
from scrapersky.cli.options import AsJson
from scrapersky.cli.output import format_count, note
from scrapersky.cli.session import CommandContext, run_with_context
from scrapersky.errors import InvalidInput
from scrapersky.lists.export import ExportCounts
from scrapersky.lists.imports.sites import parse_site
from scrapersky.models import Domain
from scrapersky.sitemaps import service
from scrapersky.sitemaps.changes import ChangeCursor, UrlChange, list_changes
from scrapersky.sitemaps.schemas import change_out, url_out
from scrapersky.sitemaps.url_lists import (
    ListFormat,
    StoredUrl,
    format_csv,
    format_text,
    stream_urls,
)

PAGE_SIZE = 1_000
CHANGE_MARKS = {"new": "+", "changed": "~", "gone": "-"}
_AGE_PATTERN = re.compile(r"(\d{1,5})\s*([hdw])\Z")
_AGE_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def changes(
    domain: Annotated[str, typer.Argument(help="A scanned domain.")],
    since: Annotated[
        str, typer.Option(help="Date (2026-11-01), time or age (12h, 7d, 4w).")
    ] = "7d",
    as_json: AsJson = False,
) -> int:
    """List the new (+), changed (~) and removed (-) URLs of a site."""

    async def command(context: CommandContext) -> None:
        moment = parse_moment(since)
        domain_row = await _find_domain(context, domain)
        count = 0
        async for change in _stream_changes(context, domain_row, moment):
            count += 1
            sys.stdout.write(_format_json_line(change) if as_json else _format_line(change))
        changed = format_count(count, "change")
        note(f"{changed} since {moment:%Y-%m-%d %H:%M} UTC. {domain_row.next_scan_why or ''}")

    return run_with_context(command)


def parse_moment(text: str) -> datetime:
    """Parse a date, time or age. Times without a zone are UTC."""
    if ago := _AGE_PATTERN.match(text.strip().lower()):
        return datetime.now(UTC) - int(ago[1]) * _AGE_UNITS[ago[2]]
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput(
            f"{text!r} is not a time. Write for example 2026-11-01, 12h, 7d or 4w."
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


async def _find_domain(context: CommandContext, name: str) -> Domain:
    site = parse_site(name, context.settings)
    async with context.database.reading() as session:
        return await service.get_domain_by_name(session, context.actor, site.key)


async def _stream_changes(
    context: CommandContext, domain: Domain, since: datetime
) -> AsyncIterator[UrlChange]:
    after: ChangeCursor | None = None
    while True:
        async with context.database.reading() as session:
            page = await list_changes(session, domain.id, since=since, after=after, limit=PAGE_SIZE)
        for change in page:
            yield change
        if len(page) < PAGE_SIZE:
            return
        after = ChangeCursor(page[-1].at, page[-1].id)


def _format_line(change: UrlChange) -> str:
    return f"{CHANGE_MARKS[change.kind]} {change.at:%Y-%m-%d %H:%M} {change.url}\n"


def _format_json_line(change: UrlChange) -> str:
    return json.dumps(change_out(change).model_dump(mode="json"), ensure_ascii=False) + "\n"


OutputFile = Annotated[
    Path | None, typer.Option("--output", "-o", help="Output file; written atomically.")
]


def urls(
    domain: Annotated[str, typer.Argument(help="A scanned domain.")],
    format: Annotated[
        ListFormat | None, typer.Option(help="File format. Default: from the file name, else txt.")
    ] = None,
    output: OutputFile = None,
) -> int:
    """List the URLs in a site's sitemaps."""
    chosen = choose_format(format, output, default=ListFormat.TXT)

    async def command(context: CommandContext) -> None:
        counts = ExportCounts()
        lines = format_urls(context, chosen, await _find_domain_id(context, domain), counts)
        if output is None:
            async for part in lines:
                sys.stdout.write(part)
            return
        with (
            replace_atomically(output) as path,
            path.open("w", encoding="utf-8", newline="") as file,
        ):
            async for part in lines:
                file.write(part)
        note_written(counts.rows, "URL", output)

    return run_with_context(command)


async def _find_domain_id(context: CommandContext, domain: str) -> UUID:
    site = parse_site(domain, context.settings)
    async with context.database.reading() as session:
        return (await service.get_domain_by_name(session, context.actor, site.key)).id


def format_urls(
    context: CommandContext, format: ListFormat, domain_id: UUID, counts: ExportCounts
) -> AsyncIterator[str]:
    write = {ListFormat.TXT: format_text, ListFormat.CSV: format_csv, ListFormat.JSON: format_json}[
        format
    ]
    return write(_count_rows(stream_urls(context.database, domain_id=domain_id), counts))


async def _count_rows(
    batches: AsyncIterator[Sequence[StoredUrl]], counts: ExportCounts
) -> AsyncIterator[Sequence[StoredUrl]]:
    async for rows in batches:
        counts.rows += len(rows)
        yield rows


async def format_json(batches: AsyncIterator[Sequence[StoredUrl]]) -> AsyncIterator[str]:
    """Yield one JSON array with an object per line, without loading all rows."""
    before = "[\n"
    async for rows in batches:
        for row in rows:
            line = json.dumps(url_out(row).model_dump(mode="json"), ensure_ascii=False)
            yield before + line
            before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"
