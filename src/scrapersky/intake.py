"""Intake: classify mixed domains, sitemaps and pages, and import each through its feature."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from scrapersky.domains.service import DOMAIN_IMPORT as DOMAINS
from scrapersky.errors import InvalidInput
from scrapersky.http.application import Context
from scrapersky.http.auth import Curator
from scrapersky.http.body_limits import LargeBodyRoute
from scrapersky.http.context import Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.lists.imports import (
    Importer,
    ImportResult,
    ImportRow,
    ImportRowStatus,
    InputRow,
    import_rows,
)
from scrapersky.lists.imports.rows import MAX_INPUT_CHARACTERS, ImportContext
from scrapersky.lists.imports.schemas import JobRowOut, QueueField
from scrapersky.lists.imports.sites import SiteParser
from scrapersky.pages.service import PAGE_IMPORT as PAGES
from scrapersky.scraper.http.urls import Site
from scrapersky.settings import Settings
from scrapersky.sitemaps.service import SITEMAP_IMPORT as SITEMAPS

MAX_ENTRIES = 1_000
TOO_MANY_MESSAGE = (
    f"At most {MAX_ENTRIES:,} entries are allowed here. Save a longer list as a CSV file and "
    "import it."
)
EMPTY_MESSAGE = "Nothing to import. Enter a domain, for example example.com."

_SEPARATOR = re.compile(r"[,;]\s+|[,;](?=https?://)|[,;]\s*\Z", re.IGNORECASE)
"""A comma or semicolon that certainly ends an entry. Any other comma may be part of a path."""
_PADDING = " \t,;"
_BARE_NAME = re.compile(r"([^/,;]+)[,;](.*)", re.DOTALL)
_SITEMAP_PATH = re.compile(r"\.xml(\.gz)?\Z|sitemap[^/]*\.(txt|gz)\Z|sitemap[^/]*\.txt\.gz\Z")
_TRACKING_PARAM = re.compile(r"utm_\w+|gclid|gbraid|wbraid|fbclid|msclkid\Z", re.IGNORECASE)


class EntryKind(StrEnum):
    DOMAIN = "domain"
    SITEMAP = "sitemap"
    PAGE = "page"


def parse_entries(text: str) -> list[str]:
    """Split a text into entries, one per line or separated by commas or semicolons.

    Raise `InvalidInput` when there are no entries or more than `MAX_ENTRIES`.
    """
    entries: list[str] = []
    for line in text.splitlines():
        entries += [each for each in _split_line(line) if each]
        if len(entries) > MAX_ENTRIES:
            raise InvalidInput(TOO_MANY_MESSAGE)
    if not entries:
        raise InvalidInput(EMPTY_MESSAGE)
    return entries


def _split_line(line: str) -> Iterator[str]:
    """Split `a.example,b.example/x,y` into `a.example` and `b.example/x,y`: no domain contains a
    comma.
    """
    for part in _SEPARATOR.split(line):
        rest = part
        while bare := _BARE_NAME.fullmatch(rest):
            yield bare[1].strip(_PADDING)
            rest = bare[2]
        yield rest.strip(_PADDING)


def classify_entry(text: str, reader: SiteParser) -> EntryKind:
    """Classify an entry by its URL. Raise `InvalidInput` with the reason when it is none of the
    kinds.
    """
    site = reader.parse(text)
    if _is_home_page(site):
        return EntryKind.DOMAIN
    path = urlsplit(site.path).path.lower()
    return EntryKind.SITEMAP if _SITEMAP_PATH.search(path) else EntryKind.PAGE


def _is_home_page(site: Site) -> bool:
    """Return whether the path is the root. Tracking parameters of advertisements are ignored."""
    parts = urlsplit(site.path)
    parameters = parse_qsl(parts.query, keep_blank_values=True)
    return parts.path == "/" and all(_TRACKING_PARAM.match(name) for name, _ in parameters)


IMPORTERS: Mapping[EntryKind, Importer] = {
    EntryKind.DOMAIN: DOMAINS,
    EntryKind.SITEMAP: SITEMAPS,
    EntryKind.PAGE: PAGES,
}


@dataclass(frozen=True)
class StartedEntry:
    """The kind of one entry and the result of importing it."""

    row: ImportRow
    kind: EntryKind | None
    """None when the entry is invalid."""


@dataclass(frozen=True)
class StartEntry:
    """One entry as typed, with its kind."""

    given: InputRow
    kind: EntryKind | None


def classify_entries(text: str, settings: Settings) -> list[StartEntry]:
    """Classify every entry of a text without storing anything."""
    reader = SiteParser.from_settings(settings)
    return [_build_entry(line, each, reader) for line, each in enumerate(parse_entries(text), 1)]


def _build_entry(line: int, text: str, reader: SiteParser) -> StartEntry:
    try:
        return StartEntry(InputRow(line, text), classify_entry(text, reader))
    except InvalidInput as error:
        return StartEntry(InputRow(line, text, str(error)), None)


async def start_entries(import_context: ImportContext, text: str) -> list[StartedEntry]:
    """Import the valid entries and queue their work. Return the results in input order."""
    entries = classify_entries(text, import_context.settings)
    started = [_reject_entry(each) for each in entries if each.kind is None]
    for kind, trade in IMPORTERS.items():
        inputs = [each.given for each in entries if each.kind is kind]
        if inputs:
            imported = await import_rows(import_context, trade, inputs)
            started += [StartedEntry(row, kind) for row in imported.rows]
    return sorted(started, key=lambda each: each.row.line)


def preview_entries(text: str, settings: Settings) -> list[StartedEntry]:
    """Return what `start_entries` would do, without checking which entries already exist."""
    return [
        _reject_entry(each)
        if each.kind is None
        else StartedEntry(_build_row(each, ImportRowStatus.CREATED), each.kind)
        for each in classify_entries(text, settings)
    ]


def count_results(started: Sequence[StartedEntry]) -> dict[str, int]:
    return ImportResult([each.row for each in started]).counts()


def _reject_entry(entry: StartEntry) -> StartedEntry:
    return StartedEntry(_build_row(entry, ImportRowStatus.INVALID), None)


def _build_row(entry: StartEntry, status: ImportRowStatus) -> ImportRow:
    entry_text = entry.given
    text = entry_text.text[:MAX_INPUT_CHARACTERS].encode("utf-8", "replace").decode()
    return ImportRow(entry_text.line, text, status, error=entry_text.error)


KIND_LABELS: Mapping[EntryKind, str] = {
    EntryKind.DOMAIN: "a domain",
    EntryKind.SITEMAP: "a sitemap",
    EntryKind.PAGE: "a page",
}
KIND_NEXT_STEPS: Mapping[EntryKind, str] = {
    EntryKind.DOMAIN: "its home page is read and its sitemaps are scanned",
    EntryKind.SITEMAP: "it is read, and its URLs become pages",
    EntryKind.PAGE: "it is read for contacts",
}


def describe_entry(started: StartedEntry, *, dry_run: bool = False) -> str:
    row, kind = started.row, started.kind
    if kind is None or row.status is ImportRowStatus.INVALID:
        return row.error or "Invalid entry."
    if row.status is ImportRowStatus.DUPLICATE:
        return row.error or "Duplicate of an earlier entry."
    return f"Taken as {KIND_LABELS[kind]}: {_describe_consequence(started, kind, dry_run=dry_run)}."


def _describe_consequence(started: StartedEntry, kind: EntryKind, *, dry_run: bool) -> str:
    row = started.row
    if row.queued or dry_run:
        return KIND_NEXT_STEPS[kind]
    if row.already_active:
        return "it is already being read"
    if row.status is ImportRowStatus.EXISTS:
        return "it already exists and is left unchanged"
    return "it is stored but not queued"


MAX_TEXT_CHARACTERS = MAX_ENTRIES * 2_500


class StartIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "text": "example.com\nhttps://example.org/sitemap.xml\n"
                    "https://example.net/contact",
                    "queue": True,
                }
            ]
        },
    )

    text: Annotated[
        str,
        Field(
            max_length=MAX_TEXT_CHARACTERS,
            description="Domains, sitemap URLs and page URLs, one per line or "
            f"separated by commas. At most {MAX_ENTRIES:,}.",
        ),
    ]
    queue: QueueField = True
    dry_run: Annotated[
        bool, Field(strict=True, description="Classify the entries without storing anything.")
    ] = False


class StartedOut(JobRowOut):
    """The kind of one entry and the result of importing it."""

    kind: EntryKind | None = Field(description="Detected kind. Null when the entry is invalid.")
    says: str = Field(description="The result in one sentence.")
    id: UUID | None = Field(
        description="ID of the stored domain, sitemap file or page. Null when nothing was stored."
    )


class StartOut(BaseModel):
    accepted: int = Field(description="Entries that are stored: `created` plus `existing`.")
    created: int = Field(description="Accepted entries that are new.")
    existing: int = Field(description="Accepted entries that already existed.")
    duplicates: int = Field(description="Entries that repeat an earlier one.")
    invalid: int = Field(description="Entries that were rejected.")
    queued: int = Field(description="Entries queued for processing.")
    dry_run: bool = Field(description="True when nothing was stored.")
    results: list[StartedOut]


def start_out(started: list[StartedEntry], *, dry_run: bool) -> StartOut:
    results = [_started_out(each, dry_run=dry_run) for each in started]
    return StartOut(**count_results(started), dry_run=dry_run, results=results)


def _started_out(started: StartedEntry, *, dry_run: bool) -> StartedOut:
    row = started.row
    return StartedOut(
        line=row.line,
        input=row.input,
        status=row.status,
        id=row.id,
        queued=row.queued,
        error=row.error,
        job_id=row.job_id,
        already_active=row.already_active,
        kind=started.kind,
        says=describe_entry(started, dry_run=dry_run),
    )


router = APIRouter(
    route_class=LargeBodyRoute,
    tags=["start"],
    responses=problem_responses(400, 401, 403, 415, 422),
)


@router.post("/start", status_code=202, summary="Import domains, sitemaps and pages")
async def start(actor: Curator, context: Context, session: Transaction, body: StartIn) -> StartOut:
    """Classify each entry and import it: a bare name is a domain, a URL that ends like a sitemap is
    a sitemap, any other URL is a page. Invalid entries are reported and the others are stored. A
    domain or page that already exists is left unchanged, unless it was stored without being
    queued. A sitemap is read again.
    """
    if body.dry_run:
        return start_out(preview_entries(body.text, context.settings), dry_run=True)
    import_context = ImportContext(session, actor, context.settings, body.queue)
    return start_out(await start_entries(import_context, body.text), dry_run=False)
