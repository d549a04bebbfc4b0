"""`scrapersky export`: to a file, atomically, or to a pipe."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import stat
from pathlib import Path

import pytest
from sqlalchemy import select, text

from scrapersky.cli.export import EXPORTS
from scrapersky.db.session import Database
from scrapersky.lists.exports import ExportFormat
from scrapersky.models import AuditEntry
from tests.cli.conftest import Cli, Invoke, from_database
from tests.contacts.rows import SITE, a_contact, a_domain, a_page, stored

INFO, NUMBER = f"info@{SITE}", "+4930901820"


@pytest.fixture
def _found(url: str) -> None:
    """A bakery's address and number."""
    domain = a_domain(title="Backhaus Berger")
    page = a_page(domain, "/kontakt")
    contacts = [a_contact(domain, INFO, page), a_contact(domain, NUMBER, page, kind="phone")]

    async def make() -> None:
        database = Database(url, pool_size=2)
        await stored(database, domain, page, *contacts)
        await database.close()

    asyncio.run(make())


@pytest.mark.usefixtures("_found")
def test_a_list_is_written_to_a_file_with_its_filter(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "contacts.csv"
    columns = ("--columns", "value,page_url,domain")

    said = invoke("export", "contacts", *columns, "--filter", "kind=email", "-o", str(file))

    assert (said.code, said.out) == (0, ""), said
    page = f"https://{SITE}/kontakt"
    assert list(csv.reader(file.open(newline=""))) == [
        ["Contact", "Page", "Domain"],
        [INFO, page, SITE],
    ]
    assert [each.name for each in tmp_path.iterdir()] == ["contacts.csv"]


@pytest.mark.usefixtures("_found")
@pytest.mark.parametrize("there_before", [True, False])
def test_an_export_is_readable_by_its_owner_alone(
    invoke: Invoke, tmp_path: Path, there_before: bool
) -> None:
    file = tmp_path / "contacts.csv"
    if there_before:
        file.write_text("old")
        file.chmod(0o644)
    before = os.umask(0o022)
    try:
        said = invoke("export", "contacts", "-o", str(file))
    finally:
        os.umask(before)

    assert said.code == 0, said
    assert INFO in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.usefixtures("_found")
def test_an_export_is_in_the_audit_log(invoke: Invoke, url: str, tmp_path: Path) -> None:
    file = str(tmp_path / "c.xlsx")
    wanted = ("--format", "xlsx", "--columns", "value", "--filter", "kind=phone")
    said = invoke("export", "contacts", *wanted, "-o", file)
    [entry] = from_database(url, select(AuditEntry).where(AuditEntry.action == "list.export"))

    assert said.code == 0, said
    assert entry.via == "cli"
    assert entry.details == {
        "kind": "contacts",
        "filter": {"kind": ["phone"]},
        "sort": "-created_at",
        "format": "xlsx",
        "columns": ["value"],
        "rows": 1,
        "complete": True,
    }


@pytest.mark.usefixtures("_found")
def test_without_a_file_it_goes_to_standard_output(invoke: Invoke) -> None:
    either = ("--filter", "kind=email", "--filter", "kind=phone", "--sort", "value")
    said = invoke("export", "contacts", "--format", "jsonl", "--columns", "value", *either)

    assert [json.loads(line)["value"] for line in said.out.splitlines()] == [NUMBER, INFO]
    assert invoke("export", "contacts", "--bom", "-o", "-").out.startswith("\ufeffDomain,")
    assert invoke("export", "leads").out.splitlines()[1].startswith("Backhaus Berger,")


@pytest.mark.usefixtures("_found")
def test_every_list_is_written_in_every_format(invoke: Invoke, tmp_path: Path) -> None:
    for export in EXPORTS:
        for format in ExportFormat:
            file = tmp_path / f"{export.rows}.{format}"

            said = invoke("export", export.rows, "--format", format, "-o", str(file))

            assert said.code == 0, said
            no_rows = export.rows in ("sitemap-files", "jobs")
            assert file.stat().st_size > 0 or (format is ExportFormat.JSONL and no_rows)


MAGIC = {
    "csv": b"Domain,",
    "jsonl": b'{"domain":',
    "json": b'[\n{"domain":',
    "xlsx": b"PK",
    "parquet": b"PAR1",
}


@pytest.mark.usefixtures("_found")
@pytest.mark.parametrize("name", [*ExportFormat, "CSV", "ndjson"])
def test_the_format_is_that_of_the_files_name(invoke: Invoke, tmp_path: Path, name: str) -> None:
    file = tmp_path / f"contacts.{name}"

    said = invoke("export", "contacts", "-o", str(file))

    assert said.code == 0, said
    format = {"CSV": "csv", "ndjson": "jsonl"}.get(name, name)
    assert file.read_bytes().startswith(MAGIC[format])
    assert f"Wrote 2 rows to {file}." in said.err
    assert said.out == ""


@pytest.mark.usefixtures("_found")
def test_a_format_that_contradicts_the_files_name_is_refused(
    invoke: Invoke, tmp_path: Path
) -> None:
    file = tmp_path / "contacts.xlsx"

    said = invoke("export", "contacts", "--format", "csv", "-o", str(file))

    assert said.code != 0
    assert "has the extension of a xlsx file, but --format is csv" in said.err.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("_found")
def test_a_name_that_says_nothing_of_a_format_takes_the_one_given(
    invoke: Invoke, tmp_path: Path
) -> None:
    for arguments, start in (((), MAGIC["csv"]), (("--format", "json"), MAGIC["json"])):
        file = tmp_path / "contacts.data"
        said = invoke("export", "contacts", *arguments, "-o", str(file))
        assert said.code == 0, said
        assert file.read_bytes().startswith(start)


@pytest.mark.usefixtures("_found")
def test_a_json_export_is_one_array_of_all_rows(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapersky.lists.exports.ROWS_PER_COPY", 1)
    said = invoke("export", "contacts", "--format", "json", "--columns", "value")
    assert sorted(each["value"] for each in json.loads(said.out)) == [NUMBER, INFO]
    none = invoke("export", "contacts", "--format", "json", "--filter", "kind=social")
    assert json.loads(none.out) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--columns", "nonsense"), "Unknown column: nonsense. Available columns: domain, kind"),
        (("--filter", "nonsense=1"), "unknown parameter nonsense"),
        (("--filter", "kind"), "kind is not a filter. Write NAME=VALUE"),
        (("--sort", "colour"), "Cannot sort by colour"),
        (("--tenant", "nobody"), "nobody"),
    ],
)
def test_what_cannot_be_leaves_what_was_there(
    invoke: Invoke, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    file = tmp_path / "contacts.csv"
    file.write_text("from yesterday")

    complained = invoke("export", "contacts", *arguments, "-o", str(file))

    assert complained.code != 0
    assert said in complained.err
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [
        ("contacts.csv", "from yesterday")
    ]


@pytest.mark.usefixtures("_found")
def test_what_fails_on_the_way_leaves_no_file(
    invoke: Invoke, tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second part cannot be read: its table has gone by then."""
    monkeypatch.setattr("scrapersky.lists.exports.ROWS_PER_COPY", 1)
    loses = (
        "CREATE FUNCTION lose() RETURNS int LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'gone'; END $$"
    )

    async def break_it() -> None:
        database = Database(url, pool_size=2)
        async with database.transaction() as session:
            await session.execute(text(loses))
            # The older of the two rows, the second by age: whoever reads its raw text fails.
            await session.execute(text("ALTER TABLE contacts RENAME raw TO told"))
            raised = "CASE WHEN kind = 'email' THEN lose()::text ELSE told END"
            await session.execute(text("ALTER TABLE contacts RENAME TO contacts_behind"))
            await session.execute(
                text(f"CREATE VIEW contacts AS SELECT *, {raised} AS raw FROM contacts_behind")
            )
        await database.close()

    asyncio.run(break_it())

    said = invoke("export", "contacts", "--columns", "raw,kind", "-o", str(tmp_path / "c.csv"))

    assert said.code == 1
    assert "gone" in said.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("_found")
async def test_who_has_read_enough_is_not_told_off(cli: Cli) -> None:
    writing = await cli.start("export", "contacts")
    assert writing.stdout is not None
    assert writing.stderr is not None

    writing.stdout._transport.close()  # type: ignore[attr-defined]

    assert await writing.stderr.read() == b""
    assert await writing.wait() == 0
