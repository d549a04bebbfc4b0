"""Exports of every kind of row with any filter, order and columns, restricted to the tenant."""

from __future__ import annotations

import csv
import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from io import BytesIO, StringIO
from typing import Any
from uuid import UUID

import httpx
import openpyxl
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, update

from scrapersky.contacts.listing import EXPORT as CONTACTS
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.domains.listing import EXPORT as DOMAINS
from scrapersky.jobs.listing import EXPORT as JOBS
from scrapersky.leads.listing import EXPORT as LEADS
from scrapersky.lists import Export
from scrapersky.lists import exports as files
from scrapersky.lists.export import write_csv, write_jsonl
from scrapersky.lists.exports import ExportFormat, ExportRequest, ExportRun, stream_export
from scrapersky.models import Actor, Contact, Domain, Job, Lead, Role
from scrapersky.pages.listing import EXPORT as PAGES
from scrapersky.sitemaps.listing import EXPORT as SITEMAP_FILES
from tests.app import serving
from tests.auth.accounts import SYSTEM, add_key, add_tenant, asking, signed_in_settings
from tests.conftest import make_settings
from tests.contacts.rows import a_contact, a_domain, a_file, a_page, stored

API = "/api/v3"
KINDS = {each.rows: each for each in (DOMAINS, SITEMAP_FILES, PAGES, CONTACTS, LEADS, JOBS)}
NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)

every_format = pytest.mark.parametrize("word", list(ExportFormat))


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


def records(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(data.decode(), newline="")))


def as_table(word: ExportFormat, data: bytes) -> list[list[Any]]:
    """Heading or names, then the rows, whatever the format."""
    if word is ExportFormat.CSV:
        return list(csv.reader(StringIO(data.decode(), newline="")))
    if word is ExportFormat.JSONL:
        found = [json.loads(line) for line in data.decode().splitlines()]
        return [list(found[0]), *(list(each.values()) for each in found)]
    if word is ExportFormat.JSON:
        found = json.loads(data)
        return [list(found[0]), *(list(each.values()) for each in found)]
    if word is ExportFormat.XLSX:
        sheet = openpyxl.load_workbook(BytesIO(data)).worksheets[0]
        return [list(row) for row in sheet.iter_rows(values_only=True)]
    read = pyarrow.parquet.read_table(BytesIO(data))
    return [read.column_names, *(list(each.values()) for each in read.to_pylist())]


async def exported(
    database: Database, export: Export, *, actor: Actor = SYSTEM, **asked: Any
) -> bytes:
    given = asked.pop("given", {})
    pieces = await stream_export(database, export, actor, ExportRequest(given, **asked))
    return b"".join([piece async for piece in pieces])


async def values(database: Database, **asked: Any) -> list[str]:
    """Of the contacts, in order."""
    lines = (await exported(database, CONTACTS, columns="value,kind", **asked)).decode()
    return [line.partition(",")[0] for line in lines.split("\r\n")[1:-1]]


@pytest.fixture
async def one_of_each(database: Database) -> Domain:
    """A row in every list."""
    domain = a_domain("bakery.example", title="=Bakery", created_at=NOW)
    page = a_page(domain, "/contact", title="Write, or call")
    contact = a_contact(domain, "post@bakery.example", page, name="Öz", created_at=NOW)
    job = Job(id=uuid7(), job_type="sitemap", subject="bakery.example", domain_id=domain.id)
    job.tenant_id, job.created_by, job.params = domain.tenant_id, domain.created_by, {}
    await stored(database, domain, a_file(domain), page, contact, job)
    return domain


async def add_contacts(
    database: Database, count: int, name: str = "many.example", **more: Any
) -> list[UUID]:
    """Each some milliseconds later than the one before, four at the same moment."""
    domain = a_domain(name)
    rows = [
        {
            "id": uuid7(),
            "domain_id": domain.id,
            "kind": "email",
            "value": f"{n:06}@{name}",
            "method": "mailto",
            "confidence": n % 5 / 4,
            "name": None if n % 3 else f"Name {n % 7}",
            "created_at": NOW + timedelta(milliseconds=n // 4),
            "tenant_id": domain.tenant_id,
            "created_by": domain.created_by,
            **more,
        }
        for n in range(count)
    ]
    await stored(database, domain)
    async with database.transaction() as session:
        await session.execute(insert(Contact), rows)
    return [each["id"] for each in rows]


# What comes out


@every_format
@pytest.mark.usefixtures("one_of_each")
async def test_every_list_is_had_in_every_format(
    client: httpx.AsyncClient, word: ExportFormat
) -> None:
    people = word in (ExportFormat.CSV, ExportFormat.XLSX)
    for kind, export in KINDS.items():
        answer = await client.get(f"{API}/{kind}/export", params={"format": word})

        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == word.media_type
        said = answer.headers["content-disposition"]
        assert said == f'attachment; filename="{kind}-{datetime.now(UTC):%Y-%m-%d}.{word}"'
        head, row = as_table(word, answer.content)
        assert head == [each.heading if people else each.name for each in export.usual]
        assert any("bakery.example" in str(each) for each in row)


@every_format
@pytest.mark.usefixtures("one_of_each")
async def test_every_column_there_is_can_be_had(database: Database, word: ExportFormat) -> None:
    for export in KINDS.values():
        names = [each.name for each in (*export.usual, *export.more)]

        data = await exported(database, export, format=word, columns=",".join(reversed(names)))

        head, _ = as_table(word, data)
        assert len(set(names)) == len(names) == len(head)
        if word in (ExportFormat.JSONL, ExportFormat.JSON, ExportFormat.PARQUET):
            assert head == list(reversed(names))


@pytest.mark.usefixtures("one_of_each")
async def test_contacts_come_with_their_site_and_page(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"{API}/contacts/export")

    [row] = records(answer.content)
    assert (row["Domain"], row["Contact"]) == ("bakery.example", "post@bakery.example")
    assert (row["Name"], row["Page"]) == ("Öz", "https://bakery.example/contact")


@pytest.mark.usefixtures("one_of_each")
async def test_a_mark_for_excel_is_had_when_asked_for(client: httpx.AsyncClient) -> None:
    plain = await client.get(f"{API}/domains/export")
    marked = await client.get(f"{API}/domains/export", params={"bom": "true"})

    assert marked.content == b"\xef\xbb\xbf" + plain.content
    assert "'=Bakery" in plain.text


async def test_a_list_without_rows_is_a_file_without_rows(database: Database) -> None:
    assert await exported(database, CONTACTS, columns="id,kind") == b"Id,Kind\r\n"
    assert await exported(database, CONTACTS, format=ExportFormat.JSONL) == b""
    assert await exported(database, CONTACTS, format=ExportFormat.JSON) == b"[]\n"
    assert (
        len(
            as_table(
                ExportFormat.XLSX, await exported(database, CONTACTS, format=ExportFormat.XLSX)
            )
        )
        == 1
    )


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("columns=value,nonsense", "Unknown column: nonsense. Available columns: domain, kind,"),
        ("columns=", "Unknown column: (empty name)"),
        ("format=pdf", "format"),
        ("sort=nonsense", "sort"),
        ("limit=5", "unknown parameter limit"),
        ("kind=nonsense", "kind"),
    ],
)
async def test_what_cannot_be_is_refused_with_what_can(
    client: httpx.AsyncClient, query: str, said: str
) -> None:
    answer = await client.get(f"{API}/contacts/export?{query}")

    assert answer.status_code == 422
    assert said in answer.json()["detail"]


# Which rows, in which order


@pytest.mark.parametrize("size", [1, 3, 100])
async def test_each_row_is_there_once_in_the_order_of_the_list(
    database: Database, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    await add_contacts(database, 11)
    monkeypatch.setattr(files, "ROWS_PER_COPY", size)
    for sort in [f"{way}{name}" for name in CONTACTS.listing.sorts for way in ("", "-")]:
        order = CONTACTS.listing.order(sort)
        async with database.reading() as session:
            statement = CONTACTS.listing.statement({}, SYSTEM)
            listed = [each.value for each in await order.page(session, statement, None, 100)]

        assert await values(database, sort=sort) == listed, sort


async def test_rows_without_a_value_stand_where_the_list_has_them(
    client: httpx.AsyncClient, database: Database
) -> None:
    sites = [a_domain(f"{n}.example", last_scan=None if n % 2 else NOW) for n in range(4)]
    await stored(database, *sites)

    for sort in ("last_scan", "-last_scan"):
        listed = (await client.get(f"{API}/domains", params={"sort": sort})).json()["items"]
        file = await client.get(f"{API}/domains/export", params={"sort": sort})
        assert [each["Domain"] for each in records(file.content)] == [
            each["domain"] for each in listed
        ]


async def test_the_filters_of_the_list_choose_the_rows(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_contacts(database, 30)
    monkeypatch.setattr(files, "ROWS_PER_COPY", 4)
    for chosen in (
        {"search": "00001"},
        {"kind": ["email"]},
        {"kind": ["phone"]},
        {"value": ["000003@many.example", "000005@many.example"]},
        {"domain": "www.MANY.example"},
        {"has_name": True},
        {"min_confidence": 0.5},
        {"created_since": NOW + timedelta(milliseconds=3)},
    ):
        async with database.reading() as session:
            found = await session.scalars(CONTACTS.listing.statement(chosen, SYSTEM))
            listed = sorted(each.value for each in found)

        for sort in ("-created_at", "value"):
            assert sorted(await values(database, given=chosen, sort=sort)) == listed, chosen


@every_format
async def test_nobody_has_rows_of_another_tenant(
    database: Database, url: str, word: ExportFormat
) -> None:
    other = await add_tenant(database, "other")
    owned = {"tenant_id": other.tenant_id, "created_by": other.user_id}
    for owner in ({}, owned):
        domain = a_domain("shared.example", **owner)
        page = a_page(domain, "/")
        mine = "theirs" if owner else "ours"
        await stored(database, domain, page, a_contact(domain, f"{mine}@shared.example", page))
    _, secret = await add_key(database, other, role=Role.VIEWER)

    async with asking(signed_in_settings(url), secret) as client:
        for kind in KINDS:
            for sort in KINDS[kind].listing.sorts:
                params = {"format": word, "sort": sort}
                answer = await client.get(f"{API}/{kind}/export", params=params)
                assert answer.status_code == 200, answer.text
                is_empty = answer.content in (b"", b"[]\n")
                rows = [] if is_empty else as_table(word, answer.content)[1:]
                assert "ours@" not in str(rows)
                assert len(rows) == (kind in ("domains", "pages", "contacts", "leads")), kind


async def test_rows_that_come_and_go_meanwhile_take_nothing_from_the_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await add_contacts(database, 40)
    monkeypatch.setattr(files, "ROWS_PER_COPY", 10)
    for sort in ("created_at", "-created_at", "confidence", "-value"):
        asked = ExportRequest({"domain": "many.example"}, sort=sort, columns="id,value")
        pieces = await stream_export(database, CONTACTS, SYSTEM, asked)
        found = [await anext(pieces), await anext(pieces)]
        async with database.transaction() as session:
            await session.execute(delete(Contact).where(Contact.id == ids.pop()))
            moved = update(Contact).values(confidence=1 - Contact.confidence)
            await session.execute(moved)
        await add_contacts(database, 5, f"{sort}.example")
        found += [piece async for piece in pieces]

        seen = [line.partition(",")[0] for line in b"".join(found).decode().split("\r\n")[1:-1]]
        assert len(seen) == len(set(seen))
        assert {str(each) for each in ids} <= set(seen)


async def test_nothing_is_held_while_nobody_reads(database: Database) -> None:
    await add_contacts(database, 10)
    for word in ExportFormat:
        for sort in ("created_at", "value"):
            asked = ExportRequest({}, sort=sort, format=word)
            pieces = await stream_export(database, CONTACTS, SYSTEM, asked)
            await anext(pieces)
            assert database.checked_out() == 0
            await pieces.aclose()


# The same text, whoever writes it

TEXTS = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12),
    st.text("=+-@＝＋－＠\t\r\n \"',;\u200b\ufeff\u3000019a\\.", max_size=8),
)
ROWS = st.lists(
    st.tuples(
        TEXTS,
        TEXTS,
        st.none() | TEXTS,
        st.floats(0, 1),
        st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
        st.booleans(),
    ),
    max_size=12,
)


@given(ROWS)
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
async def test_the_database_writes_texts_as_our_writers_do(
    database: Database, rows: Sequence[tuple[Any, ...]]
) -> None:
    name = f"{uuid7().hex}.example"
    domain = a_domain(name)
    names = ("name", "role", "note", "confidence", "last_seen_at", "same_site")
    contacts = [
        a_contact(domain, f"{n}@{name}", **dict(zip(names, row, strict=True)))
        for n, row in enumerate(rows)
    ]
    await stored(database, domain, *contacts)
    every = ",".join(each.name for each in (*CONTACTS.usual, *CONTACTS.more))

    for columns in (every, "name", "last_seen_at", "note,role"):
        asked = ExportRequest({"domain": name}, columns=columns)
        exporting = ExportRun(database, CONTACTS, SYSTEM, asked)
        ours = [each async for each in write_csv(exporting.rows(), exporting.fields)]
        theirs = [each async for each in await exporting.as_csv()]
        assert b"".join(theirs) == b"".join(ours)

    ours = [each async for each in write_jsonl(exporting.rows(), exporting.fields)]
    theirs = [each async for each in await exporting.as_jsonl()]
    assert b"".join(theirs) == b"".join(ours)


async def test_lists_and_numbers_are_written_alike_too(database: Database) -> None:
    domain = a_domain("bakery.example", social_links=["=1+1", "https://x.example/a,b"])
    await stored(database, domain)
    async with database.transaction() as session:
        await session.execute(
            update(Lead).values(
                rating=4, other_phones=["+49 30 1", "030 2"], other_emails=["@x", "a"], name='"Oh"'
            )
        )
    for export in (DOMAINS, LEADS):
        exporting = ExportRun(database, export, SYSTEM, ExportRequest({}))
        ours = [each async for each in write_csv(exporting.rows(), exporting.fields)]
        theirs = [each async for each in await exporting.as_csv()]
        assert b"".join(theirs) == b"".join(ours)


# Whom not to write to


@every_format
async def test_who_is_suppressed_is_in_no_export(
    client: httpx.AsyncClient, database: Database, word: ExportFormat
) -> None:
    bakery, gone, under = (a_domain(each) for each in ("a.example.com", "no.com", "x.no.com:81"))
    contacts = [
        a_contact(bakery, "stays@example.com"),
        a_contact(bakery, "hushed@example.com"),
        a_contact(bakery, "under@mail.no.com"),
        a_contact(bakery, "stays@notno.com"),
        a_contact(bakery, "+4930901820", kind="phone"),
        a_contact(bakery, "https://social.example/no.com", kind="social"),
        a_contact(gone, "someone@example.com"),
        a_contact(under, "https://social.example/x", kind="social"),
    ]
    await stored(database, bakery, gone, under, *contacts)
    items = [{"value": each} for each in ("hushed@example.com", "no.com", "+49 30 901820")]
    assert (await client.post(f"{API}/suppressions", json={"items": items})).status_code == 200

    for sort in ("created_at", "value"):
        params = {"format": word, "columns": "value,kind", "sort": sort}
        answer = await client.get(f"{API}/contacts/export", params=params)
        left = sorted(row[0] for row in as_table(word, answer.content)[1:])
        assert left == ["https://social.example/no.com", "stays@example.com", "stays@notno.com"]
    listed = (await client.get(f"{API}/contacts", params={"suppressed": "false"})).json()
    assert sorted(each["value"] for each in listed["items"]) == left


async def test_asking_for_the_suppressed_has_none(
    client: httpx.AsyncClient, database: Database
) -> None:
    domain = a_domain("bakery.example")
    await stored(database, domain, a_contact(domain, "hushed@bakery.example"))
    items = [{"value": "hushed@bakery.example"}]
    await client.post(f"{API}/suppressions", json={"items": items})

    answer = await client.get(f"{API}/contacts/export", params={"suppressed": "true"})

    assert records(answer.content) == []


async def test_a_lead_that_was_made_before_somebody_was_suppressed_is_without_them(
    client: httpx.AsyncClient, database: Database
) -> None:
    await stored(database, a_domain("bakery.example"))
    items = [{"value": each} for each in ("a@x.com", "b@x.com", "+4930901820", "+4930901821")]
    await client.post(f"{API}/suppressions", json={"items": items})
    stale = {
        "best_email": "a@x.com",
        "best_email_why": "Only address found",
        "other_emails": ["c@x.com", "b@x.com", "d@x.com"],
        "phone": "+4930901820",
        "other_phones": ["+4930901821"],
    }
    async with database.transaction() as session:
        await session.execute(update(Lead).values(stale))

    for word in ExportFormat:
        columns = "best_email,best_email_why,other_emails,phone,other_phones,website"
        answer = await client.get(
            f"{API}/leads/export", params={"format": word, "columns": columns}
        )
        [row] = as_table(word, answer.content)[1:]
        assert [each for each in row if each] in (
            ["c@x.com; d@x.com", "bakery.example"],
            [["c@x.com", "d@x.com"], "bakery.example"],
        )


# Who may


async def test_a_viewer_is_enough_and_nobody_is_not(database: Database, url: str) -> None:
    _, secret = await add_key(database, role=Role.VIEWER)
    async with asking(signed_in_settings(url), secret) as client:
        for kind in KINDS:
            assert (await client.get(f"{API}/{kind}/export")).status_code == 200
            bare = await client.get(f"{API}/{kind}/export", headers={"Authorization": ""})
            assert bare.status_code == 401
