"""Every export is recorded in the audit log once, however it ended."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from starlette.types import Message

from scrapersky.businesses.listing import EXPORT as BUSINESSES
from scrapersky.contacts.listing import EXPORT as CONTACTS
from scrapersky.db.session import Database
from scrapersky.lists import Export
from scrapersky.lists import exports as files
from scrapersky.lists.exports import ByteStream, ExportFormat, ExportRequest, stream_export
from scrapersky.lists.routes import ExportResponse
from scrapersky.models import AuditEntry, Role
from scrapersky.places.budget.listing import EXPORT as LEDGER
from scrapersky.places.listing import EXPORT as PLACES
from tests.app import serving
from tests.auth.accounts import SYSTEM, add_key, asking, signed_in_settings
from tests.conftest import make_settings
from tests.lists.export.test_export import KINDS, NOW, add_contacts, every_format

API = "/api/v3"
EVERY_KIND: dict[str, Export] = {
    **KINDS,
    **{each.rows: each for each in (BUSINESSES, PLACES, LEDGER)},
}
PATHS = {LEDGER.rows: "budget/entries"}
"""Where it is not that of the list's name."""


def path_of(kind: str) -> str:
    return f"{API}/{PATHS.get(kind, kind)}/export"


async def entries(database: Database) -> list[AuditEntry]:
    async with database.reading() as session:
        found = await session.scalars(
            select(AuditEntry).where(AuditEntry.action == "list.export").order_by(AuditEntry.id)
        )
        return list(found)


async def begun(database: Database, **asked: Any) -> ByteStream:
    return await stream_export(database, CONTACTS, SYSTEM, ExportRequest({}, **asked))


@every_format
async def test_an_export_is_noted_with_what_left(
    url: str, database: Database, word: ExportFormat
) -> None:
    await add_contacts(database, 12)
    key_id, secret = await add_key(database, role=Role.VIEWER)
    asked: dict[str, Any] = {
        "format": word,
        "columns": "value,kind",
        "sort": "value",
        "min_confidence": 0.5,
    }
    asked |= {"created_since": NOW.isoformat(), "kind": "email"}
    async with asking(signed_in_settings(url), secret) as client:
        answer = await client.get(f"{API}/contacts/export", params=asked)

    [entry] = await entries(database)
    rows = sum(n % 5 / 4 >= 0.5 for n in range(12))
    assert answer.status_code == 200
    assert (entry.api_key_id, entry.via) == (key_id, "api")
    assert entry.request_id == answer.headers["x-request-id"]
    assert entry.details == {
        "kind": "contacts",
        "filter": {"kind": ["email"], "min_confidence": 0.5, "created_since": str(NOW)},
        "sort": "value",
        "format": word,
        "columns": ["value", "kind"],
        "rows": rows,
        "complete": True,
    }


@pytest.mark.parametrize("kind", EVERY_KIND)
async def test_every_kind_of_list_notes_its_exports(
    url: str, database: Database, kind: str
) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        answer = await client.get(path_of(kind), params={"format": "jsonl"})
    [entry] = await entries(database)

    assert answer.status_code == 200, answer.text
    assert (entry.details["kind"], entry.details["rows"]) == (kind, 0)
    usual = [each.name for each in EVERY_KIND[kind].usual]
    assert (entry.details["columns"], entry.details["complete"]) == (usual, True)


async def test_no_other_list_can_be_exported(url: str) -> None:
    """A new kind of export is to be added above."""
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        paths = (await client.get("/openapi.json")).json()["paths"]
    exported = {each for each in paths if each.endswith("/export")}

    assert exported == {path_of(each) for each in EVERY_KIND}


@every_format
async def test_an_export_that_is_cut_off_is_noted_as_that(
    database: Database, monkeypatch: pytest.MonkeyPatch, word: ExportFormat
) -> None:
    await add_contacts(database, 40)
    monkeypatch.setattr(files, "ROWS_PER_COPY", 10)
    monkeypatch.setattr(files, "ROWS_PER_READ", 10)
    pieces = await begun(database, format=word)
    for _ in range(2):
        await anext(pieces)
    before, held = await entries(database), database.checked_out()
    await pieces.aclose()

    [entry] = await entries(database)
    assert (before, held) == ([], 0)
    assert entry.details["complete"] is False
    assert 10 <= entry.details["rows"] <= 20


async def test_an_export_that_fails_half_way_is_noted_and_fails(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_contacts(database, 40)
    monkeypatch.setattr(files, "ROWS_PER_COPY", 10)
    pieces = await begun(database)
    await anext(pieces)
    with pytest.raises(ConnectionResetError):
        await pieces.athrow(ConnectionResetError("gone"))

    [entry] = await entries(database)
    assert (entry.details["complete"], entry.details["rows"]) == (False, 0)


@every_format
async def test_whoever_hangs_up_leaves_an_entry(
    database: Database, monkeypatch: pytest.MonkeyPatch, word: ExportFormat
) -> None:
    await add_contacts(database, 40)
    monkeypatch.setattr(files, "ROWS_PER_COPY", 10)
    monkeypatch.setattr(files, "ROWS_PER_READ", 10)
    pieces = await begun(database, format=word)
    download = ExportResponse(pieces, name=f"contacts.{word}", media_type=word.media_type)
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await download({"type": "http"}, receive, send)

    [entry] = await entries(database)
    assert entry.details["complete"] is False
    assert {"type": "http.response.body", "body": b""} not in sent


async def test_what_is_refused_is_no_export(url: str, database: Database) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        answer = await client.get(f"{API}/contacts/export", params={"columns": "colour"})

    assert answer.status_code == 422
    assert await entries(database) == []


async def test_a_file_whose_entry_cannot_be_stored_does_not_come_to_its_end(
    database: Database,
) -> None:
    await add_contacts(database, 4)
    nobody = replace(SYSTEM, user_id=uuid4())
    pieces = await stream_export(database, CONTACTS, nobody, ExportRequest({}))

    with pytest.raises(IntegrityError, match="audit_log"):
        _ = [piece async for piece in pieces]
    assert await entries(database) == []


async def test_an_age_stands_in_the_entry_as_it_was_asked(database: Database) -> None:
    asked = ExportRequest({"created_since": timedelta(days=2)})
    pieces = await stream_export(database, CONTACTS, SYSTEM, asked)
    _ = [piece async for piece in pieces]

    [entry] = await entries(database)
    assert entry.details["filter"] == {"created_since": "172800s"}
