"""CSV that can be read back and contains no spreadsheet formulas."""

from __future__ import annotations

import csv
from datetime import timedelta, timezone
from io import StringIO

import pytest

from scrapersky.lists.export import ColumnKind, ExportColumn, ExportCounts, write_csv

from .rows import COLUMNS, EMPTY, MOMENT, ROW, chunks_of, whole

ONE = [ExportColumn("value", "Value"), ExportColumn("end", "End")]


def read(data: bytes) -> list[list[str]]:
    return list(csv.reader(StringIO(data.decode(), newline="")))


async def cell(value: object, kind: ColumnKind = ColumnKind.text) -> str:
    columns = [ExportColumn("value", "Value", kind), ONE[1]]
    data = await whole(write_csv(chunks_of([(value, "end")]), columns))
    (_, (text, end)) = read(data)
    assert end == "end"
    return text


async def test_rows_stand_below_their_headings_in_lines_that_end_in_crlf() -> None:
    counts = ExportCounts()
    data = await whole(write_csv(chunks_of([ROW], [], [EMPTY]), COLUMNS, counts=counts))

    assert data.decode().split("\r\n") == [
        "Name,Pages,Confidence,Role address,Seen at,Founded,Phones",
        "Bäckerei Öz,3,0.5,true,2026-03-01T12:30:15+00:00,1987-06-05,+49 341 1; +49 341 2",
        ",,,,,,",
        "",
    ]
    assert counts.rows == 2


async def test_a_mark_for_excel_stands_first_when_asked_for() -> None:
    with_mark = await whole(write_csv(chunks_of([ROW]), COLUMNS, bom=True))
    without = await whole(write_csv(chunks_of([ROW]), COLUMNS))

    assert with_mark == b"\xef\xbb\xbf" + without


async def test_an_export_of_nothing_has_its_headings() -> None:
    assert await whole(write_csv(chunks_of(), ONE)) == b"Value,End\r\n"


@pytest.mark.parametrize(
    "text", ["a,b", 'say "hi"', "two\nlines", "two\r\nlines", "a\rb", " blanks ", "ü – 字 🙂"]
)
async def test_texts_come_back_as_they_were(text: str) -> None:
    assert await cell(text) == text


async def test_a_time_keeps_its_zone() -> None:
    there = MOMENT.astimezone(timezone(timedelta(hours=2)))

    assert await cell(there, ColumnKind.moment) == "2026-03-01T14:30:15+02:00"


@pytest.mark.parametrize(
    "text",
    [
        '=HYPERLINK("http://evil.example")',
        "=1+1",
        "+1+1",
        "-2+3+cmd|' /C calc'!A0",
        "@SUM(A1)",
        "\t=1+1",
        "\r=1+1",
        "\ttab",
        " =1+1",
        "\u00a0=1+1",
        "\ufeff=1+1",
        "\u200b@SUM(A1)",
        "＝1+1",
        "＋1+1",
        "－1+1",
        "＠SUM(A1)",
        "\u3000＝1+1",
        "+49 341 1;=1+1",
        "+49 341 1\n=1+1",
        "+",
        "-",
    ],
)
async def test_what_could_run_as_a_formula_gets_an_apostrophe(text: str) -> None:
    assert await cell(text) == f"'{text}"


@pytest.mark.parametrize(
    "text",
    ["+49 341 123456", "+493411234", "a=b", "1-2", "'=1", "mail@example.com", "", "   ", "é="],
)
async def test_phone_numbers_and_ordinary_texts_are_left_alone(text: str) -> None:
    assert await cell(text) == text


async def test_a_negative_number_is_a_number_and_no_formula() -> None:
    assert await cell(-5, ColumnKind.integer) == "-5"
    assert await cell(-0.5, ColumnKind.number) == "-0.5"


async def test_a_text_in_a_column_of_numbers_is_made_harmless_too() -> None:
    assert await cell("=1+1", ColumnKind.number) == "'=1+1"


async def test_a_list_is_made_harmless_as_the_cell_it_becomes() -> None:
    assert await cell(["=1+1", "x"], ColumnKind.texts) == "'=1+1; x"
    assert await cell(["+49 1", "030 2"], ColumnKind.texts) == "+49 1; 030 2"


async def test_headings_are_made_harmless() -> None:
    data = await whole(write_csv(chunks_of(), [ExportColumn("x", "=1+1")]))

    assert data == b"'=1+1\r\n"


async def test_a_row_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="longer"):
        await whole(write_csv(chunks_of([("only one",)]), ONE))
