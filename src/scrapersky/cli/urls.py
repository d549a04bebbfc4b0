"""`scrapersky urls`: the stored URLs of a site, streamed."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from scrapersky.cli.file_formats import choose_format, note_written
from scrapersky.cli.files import replacing
from scrapersky.cli.session import Opened, run_opened
from scrapersky.http.exports import Counts
from scrapersky.sitemaps import service
from scrapersky.sitemaps.schemas import url_out
from scrapersky.sitemaps.url_lists import ListFormat, StoredUrl, all_urls, as_csv, as_text

TO_A_FILE = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write to this file, whole or not at all.")
]


def urls(
    domain: Annotated[str, typer.Argument(help="A domain that was scanned.")],
    format: Annotated[
        ListFormat | None, typer.Option(help="File format; as the output file is named, else txt.")
    ] = None,
    output: TO_A_FILE = None,
) -> int:
    """List the URLs that a site's sitemaps name."""
    chosen = choose_format(format, output, default=ListFormat.TXT)

    async def command(everything: Opened) -> None:
        counts = Counts()
        lines = written(everything, chosen, await _domain_id(everything, domain), counts)
        if output is None:
            async for part in lines:
                sys.stdout.write(part)
            return
        with replacing(output) as path, path.open("w", encoding="utf-8", newline="") as file:
            async for part in lines:
                file.write(part)
        note_written(counts.rows, "URL", output)

    return run_opened(command)


async def _domain_id(everything: Opened, domain: str) -> UUID:
    site = service.site_of(domain, everything.settings)
    async with everything.database.reading() as session:
        return (await service.domain_named(session, everything.actor, site.key)).id


def written(
    everything: Opened, format: ListFormat, domain_id: UUID, counts: Counts
) -> AsyncIterator[str]:
    write = {ListFormat.TXT: as_text, ListFormat.CSV: as_csv, ListFormat.JSON: as_json}[format]
    return write(_count(all_urls(everything.database, domain_id=domain_id), counts))


async def _count(
    handfuls: AsyncIterator[Sequence[StoredUrl]], counts: Counts
) -> AsyncIterator[Sequence[StoredUrl]]:
    async for rows in handfuls:
        counts.rows += len(rows)
        yield rows


async def as_json(handfuls: AsyncIterator[Sequence[StoredUrl]]) -> AsyncIterator[str]:
    """One array, an object per line, however many there are."""
    before = "[\n"
    async for rows in handfuls:
        for row in rows:
            line = json.dumps(url_out(row).model_dump(mode="json"), ensure_ascii=False)
            yield before + line
            before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"
