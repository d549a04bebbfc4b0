"""Import a CSV file of businesses: each row is a place, the file is a finished search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

from sqlalchemy import func
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.errors import InvalidInput
from scrapersky.lists.imports import (
    Importer,
    ImportResult,
    ImportSubject,
    InputRow,
    StoredEntry,
    import_rows,
)
from scrapersky.lists.imports.csv_reader import CsvRecord, open_text, parse_records
from scrapersky.lists.imports.rows import ImportContext, limit_rows
from scrapersky.lists.imports.sites import SiteParser
from scrapersky.models import JOB_STATUSES, Actor, Job, JobType, PlaceSightingState, Provider
from scrapersky.places.search.coverage import build_result
from scrapersky.places.store import (
    PlaceOwner,
    SearchLink,
    link_places,
    queue_deep_scans,
    upsert_places,
)
from scrapersky.scraper.providers.csv import CsvColumns, is_column_name, parse_header, parse_row
from scrapersky.scraper.providers.model import PlaceFacts

PLACE_IMPORT_KIND = ImportSubject("place", ("name",))


class PlaceRowText(str):
    """A row as written, with its parsed place."""

    facts: PlaceFacts
    line: int


@dataclass(frozen=True, slots=True)
class PlaceEntry:
    key: str
    facts: PlaceFacts
    line: int


async def import_places(
    import_context: ImportContext, file: BinaryIO, region: str | None
) -> ImportResult:
    """Import places. Invalid rows are reported and the others are stored. No search is created when
    no row is valid.
    """
    session = import_context.session
    job = await _create_search_job(session, import_context.actor, go_on=import_context.queue)
    trade = Importer(PLACE_IMPORT_KIND, _parse_entry, partial(_store_entries, job), "place.hand_in")
    imported = await import_rows(import_context, trade, limit_rows(_read_rows(file, region)))
    if imported.counts()["accepted"]:
        job.result_data = await build_result(session, job)
    else:
        await session.delete(job)
    return imported


async def _create_search_job(session: AsyncSession, actor: Actor, *, go_on: bool) -> Job:
    job = Job(
        id=uuid7(),
        tenant_id=actor.tenant_id,
        created_by=actor.user_id,
        job_type=JobType.PLACE_SEARCH,
        subject="an imported list",
        params={"provider": Provider.CSV, "go_on": go_on},
        status=JOB_STATUSES.done,
        progress=1.0,
        phase="done",
        started_at=func.now(),
        finished_at=func.now(),
    )
    session.add(job)
    await session.flush()
    return job


def _read_rows(file: BinaryIO, region: str | None) -> Iterator[InputRow]:
    records = parse_records(open_text(file), is_column_name)
    first = next(records, None)
    if first is None:
        raise InvalidInput("The file is empty.")
    columns = parse_header(first.cells)
    rows = (_parse_row(each, columns, region) for each in records)
    second = next(rows, None)
    if second is None:
        raise InvalidInput("The file has a header but no rows.")
    yield second
    yield from rows


def _parse_row(record: CsvRecord, columns: CsvColumns, region: str | None) -> InputRow:
    text = PlaceRowText(" ".join(each.strip() for each in record.cells if each.strip()))
    if record.error is not None:
        return InputRow(record.line, text, record.error)
    read = parse_row(columns, record.cells, region=region)
    if read.facts is None:
        return InputRow(record.line, text, read.wrong)
    text.facts, text.line = read.facts, record.line
    return InputRow(record.line, text)


def _parse_entry(text: str, _: SiteParser) -> PlaceEntry:
    assert isinstance(text, PlaceRowText), "rows come from `_read_rows`"
    return PlaceEntry(text.facts.place_id, text.facts, text.line)


async def _store_entries(
    job: Job, import_context: ImportContext, entries: Sequence[PlaceEntry]
) -> dict[str, StoredEntry]:
    session = import_context.session
    facts = [each.facts for each in entries]
    places = await upsert_places(
        session, PlaceOwner(job.tenant_id, job.created_by), facts, search_id=job.id
    )
    lines = {each.key: each.line for each in entries}
    links = [SearchLink(each, lines[each.place_id], fits=True) for each in places]
    await link_places(session, job, "", links)
    queued = (
        await queue_deep_scans(session, places, without_details=False)
        if import_context.queue
        else set()
    )
    return {
        each.place_id: StoredEntry(
            each.id, each.sighted is PlaceSightingState.NEW, queued=each.id in queued, job_id=job.id
        )
        for each in places
    }
