"""What became of an entry, as a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from scrapersky.http.intake import RowStatus
from scrapersky.starting.reading import Kind
from scrapersky.starting.service import Started

NAMES: Mapping[Kind, str] = {
    Kind.DOMAIN: "a domain",
    Kind.SITEMAP: "a sitemap",
    Kind.PAGE: "a page",
}
BEGINS: Mapping[Kind, str] = {
    Kind.DOMAIN: "its home page is read and its sitemaps are looked for",
    Kind.SITEMAP: "it is read, and its URLs become pages",
    Kind.PAGE: "it is read for contacts",
}


def sentence_of(started: Started, *, dry_run: bool = False) -> str:
    row, kind = started.row, started.kind
    if kind is None or row.status is RowStatus.INVALID:
        return row.error or "It could not be taken."
    if row.status is RowStatus.DUPLICATE:
        return row.error or "It was given before."
    return f"Taken as {NAMES[kind]}: {_consequence(started, kind, dry_run=dry_run)}."


def _consequence(started: Started, kind: Kind, *, dry_run: bool) -> str:
    row = started.row
    if row.queued or dry_run:
        return BEGINS[kind]
    if row.already_active:
        return "it is being read already"
    if row.status is RowStatus.EXISTS:
        return "it was there already, and stays as it is"
    return "it is stored, and waits until somebody asks for it"
