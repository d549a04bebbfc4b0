"""A person's own list of businesses: each row is a place, and the list is a search that is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

from sqlalchemy import func
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.errors import InvalidInput
from scrapersky.http.intake import Given, ListKind, Stored, Taken, Trade, take
from scrapersky.http.intake.records import Record, records_of
from scrapersky.http.intake.rows import refuse_too_many
from scrapersky.http.intake.sites import SiteReader
from scrapersky.http.intake.taking import Asker
from scrapersky.http.intake.texts import text_of
from scrapersky.models import JOB_WORDS, Actor, Job, JobType, Provider, Sighted
from scrapersky.places.coverage import result_of
from scrapersky.places.storing import Link, Owner, link, send_on, upsert_places
from scrapersky.scraper.providers.csv_list import Columns, is_column_name, read_header, read_row
from scrapersky.scraper.providers.model import PlaceFacts

PLACES = ListKind("place", ("name",))


class RowText(str):
    """A row as it was written, with the place that it names."""

    facts: PlaceFacts
    line: int


@dataclass(frozen=True, slots=True)
class PlaceEntry:
    key: str
    facts: PlaceFacts
    line: int


async def import_places(asker: Asker, file: BinaryIO, *, region: str | None) -> Taken:
    """Bad rows are reported and the others are kept; a list of which nothing was is no search."""
    session = asker.session
    job = await _as_search(session, asker.actor, go_on=asker.queue)
    trade = Trade(PLACES, _read, partial(_store, job), "place.hand_in")
    taken = await take(asker, trade, refuse_too_many(_given(file, region)))
    if taken.counts()["accepted"]:
        job.result_data = await result_of(session, job)
    else:
        await session.delete(job)
    return taken


async def _as_search(session: AsyncSession, actor: Actor, *, go_on: bool) -> Job:
    job = Job(
        id=uuid7(),
        tenant_id=actor.tenant_id,
        created_by=actor.user_id,
        job_type=JobType.PLACE_SEARCH,
        subject="a list that was handed in",
        params={"provider": Provider.CSV, "go_on": go_on},
        status=JOB_WORDS.done,
        progress=1.0,
        phase="done",
        started_at=func.now(),
        finished_at=func.now(),
    )
    session.add(job)
    await session.flush()
    return job


def _given(file: BinaryIO, region: str | None) -> Iterator[Given]:
    records = records_of(text_of(file), is_column_name)
    first = next(records, None)
    if first is None:
        raise InvalidInput("The file is empty; there is nothing in it to take.")
    columns = read_header(first.cells)
    rows = (_row(each, columns, region) for each in records)
    second = next(rows, None)
    if second is None:
        raise InvalidInput("The file has a header and no rows below it.")
    yield second
    yield from rows


def _row(record: Record, columns: Columns, region: str | None) -> Given:
    text = RowText(" ".join(each.strip() for each in record.cells if each.strip()))
    if record.error is not None:
        return Given(record.line, text, record.error)
    read = read_row(columns, record.cells, region=region)
    if read.facts is None:
        return Given(record.line, text, read.wrong)
    text.facts, text.line = read.facts, record.line
    return Given(record.line, text)


def _read(text: str, _: SiteReader) -> PlaceEntry:
    assert isinstance(text, RowText), "rows come from `_row`"
    return PlaceEntry(text.facts.place_id, text.facts, text.line)


async def _store(job: Job, asker: Asker, entries: Sequence[PlaceEntry]) -> dict[str, Stored]:
    session = asker.session
    facts = [each.facts for each in entries]
    seen = await upsert_places(
        session, Owner(job.tenant_id, job.created_by), facts, search_id=job.id
    )
    lines = {each.key: each.line for each in entries}
    links = [Link(each, lines[each.place_id], fits=True) for each in seen]
    await link(session, job, "", links)
    begun = await send_on(session, seen, without_details=False) if asker.queue else set()
    return {
        each.place_id: Stored(
            each.id, each.sighted is Sighted.NEW, queued=each.id in begun, job_id=job.id
        )
        for each in seen
    }
