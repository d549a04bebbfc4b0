"""Hands each entry to the feature that takes its kind; bad ones cost no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scrapersky.domains.intake import HAND_IN as DOMAINS
from scrapersky.errors import InvalidInput
from scrapersky.http.intake import Given, Row, RowStatus, Taken, Trade, take
from scrapersky.http.intake.rows import SHOWN_CHARACTERS
from scrapersky.http.intake.sites import SiteReader
from scrapersky.http.intake.taking import Asker
from scrapersky.pages.intake import HAND_IN as PAGES
from scrapersky.settings import Settings
from scrapersky.sitemaps.handing_in import HAND_IN as SITEMAPS
from scrapersky.starting.reading import Kind, entries_of, kind_of

TRADES: Mapping[Kind, Trade] = {
    Kind.DOMAIN: DOMAINS,
    Kind.SITEMAP: SITEMAPS,
    Kind.PAGE: PAGES,
}


@dataclass(frozen=True)
class Started:
    """What one entry was taken for, and what became of it."""

    row: Row
    kind: Kind | None
    """Nothing where it can be none."""


@dataclass(frozen=True)
class Entry:
    """One entry as it was typed."""

    given: Given
    kind: Kind | None


def look_at(text: str, settings: Settings) -> list[Entry]:
    """What each would be taken for; nothing is stored."""
    reader = SiteReader.of(settings)
    return [_entry(line, each, reader) for line, each in enumerate(entries_of(text), 1)]


def _entry(line: int, text: str, reader: SiteReader) -> Entry:
    try:
        return Entry(Given(line, text), kind_of(text, reader))
    except InvalidInput as error:
        return Entry(Given(line, text, str(error)), None)


async def start(asker: Asker, text: str) -> list[Started]:
    """Stores what is good of it and has the work begin; in the order in which it was given."""
    entries = look_at(text, asker.settings)
    started = [_refused(each) for each in entries if each.kind is None]
    for kind, trade in TRADES.items():
        given = [each.given for each in entries if each.kind is kind]
        if given:
            taken = await take(asker, trade, given)
            started += [Started(row, kind) for row in taken.rows]
    return sorted(started, key=lambda each: each.row.line)


def would_start(text: str, settings: Settings) -> list[Started]:
    """As `start` would read it, without looking whether it is there already."""
    return [
        _refused(each) if each.kind is None else Started(_row(each, RowStatus.CREATED), each.kind)
        for each in look_at(text, settings)
    ]


def counts_of(started: Sequence[Started]) -> dict[str, int]:
    return Taken([each.row for each in started]).counts()


def _refused(entry: Entry) -> Started:
    return Started(_row(entry, RowStatus.INVALID), None)


def _row(entry: Entry, status: RowStatus) -> Row:
    given = entry.given
    shown = given.text[:SHOWN_CHARACTERS].encode("utf-8", "replace").decode()
    return Row(given.line, shown, status, error=given.error)
