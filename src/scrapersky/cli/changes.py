"""`scrapersky changes`: what is new, changed or gone on a site."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from scrapersky.cli.options import AsJson
from scrapersky.cli.output import note
from scrapersky.cli.session import Opened, run_opened
from scrapersky.errors import InvalidInput
from scrapersky.models import Domain
from scrapersky.sitemaps import service
from scrapersky.sitemaps.changes import Change, Place, changes_of
from scrapersky.sitemaps.schemas import change_out

AT_ONCE = 1_000
SIGNS = {"new": "+", "changed": "~", "gone": "-"}
_AGO = re.compile(r"(\d{1,5})\s*([hdw])\Z")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def changes(
    domain: Annotated[str, typer.Argument(help="A domain that was scanned.")],
    since: Annotated[
        str, typer.Option(help="A date (2026-11-01), a time, or how long ago: 12h, 7d, 4w.")
    ] = "7d",
    as_json: AsJson = False,
) -> int:
    """List the URLs that are new (+), changed (~) or gone (-) on a site."""

    async def command(everything: Opened) -> None:
        moment = moment_of(since)
        found = await _domain(everything, domain)
        count = 0
        async for change in _feed(everything, found, moment):
            count += 1
            sys.stdout.write(_json_line(change) if as_json else _line(change))
        note(f"{count:,} changes since {moment:%Y-%m-%d %H:%M} UTC. {found.next_scan_why or ''}")

    return run_opened(command)


def moment_of(text: str) -> datetime:
    """A moment as people write it; times without a zone are UTC."""
    if ago := _AGO.match(text.strip().lower()):
        return datetime.now(UTC) - int(ago[1]) * _UNITS[ago[2]]
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput(
            f"{text!r} is no moment; write for example 2026-11-01, 12h, 7d or 4w."
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


async def _domain(everything: Opened, name: str) -> Domain:
    site = service.site_of(name, everything.settings)
    async with everything.database.reading() as session:
        return await service.domain_named(session, everything.actor, site.key)


async def _feed(everything: Opened, domain: Domain, since: datetime) -> AsyncIterator[Change]:
    after: Place | None = None
    while True:
        async with everything.database.reading() as session:
            page = await changes_of(session, domain.id, since=since, after=after, limit=AT_ONCE)
        for change in page:
            yield change
        if len(page) < AT_ONCE:
            return
        after = Place(page[-1].at, page[-1].id)


def _line(change: Change) -> str:
    return f"{SIGNS[change.kind]} {change.at:%Y-%m-%d %H:%M} {change.url}\n"


def _json_line(change: Change) -> str:
    return json.dumps(change_out(change).model_dump(mode="json"), ensure_ascii=False) + "\n"
