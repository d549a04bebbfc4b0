"""XLSX that other programs open: real dates and numbers, and no formulas."""

from __future__ import annotations

import asyncio
import tempfile
import threading
import zipfile
from datetime import UTC, date, datetime, timedelta, timezone
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook, load_workbook

from scrapersky.errors import InvalidInput
from scrapersky.lists.export import ColumnKind, ExportColumn, ExportCounts, write_xlsx, xlsx
from tests.waiting import PATIENCE_SECONDS

from .rows import COLUMNS, EMPTY, MOMENT, ROW, chunks_of, whole


async def book_of(*rows: tuple[object, ...], columns: Any = COLUMNS, **options: Any) -> Workbook:
    data = await whole(write_xlsx(chunks_of(rows), columns, **options))
    return load_workbook(BytesIO(data))


async def cell(value: object, kind: ColumnKind = ColumnKind.text, **options: Any) -> Any:
    book = await book_of((value,), columns=[ExportColumn("value", "Value", kind)], **options)
    return book.worksheets[0]["A2"]


async def test_values_come_back_with_their_types() -> None:
    (sheet,) = (await book_of(EMPTY, ROW)).worksheets
    headings, empty, row = sheet.iter_rows(values_only=True)

    assert headings == tuple(column.heading for column in COLUMNS)
    assert set(empty) == {None}
    assert row == (
        "Bäckerei Öz",
        3,
        0.5,
        True,
        datetime(2026, 3, 1, 12, 30, 15),
        datetime(1987, 6, 5),
        "+49 341 1; +49 341 2",
    )
    assert sheet["E3"].is_date
    assert sheet["F3"].is_date


async def test_the_headings_stay_in_sight() -> None:
    (sheet,) = (await book_of(ROW)).worksheets

    assert sheet.freeze_panes == "A2"
    assert sheet["A1"].font.bold


@pytest.mark.parametrize(
    "value",
    [
        MOMENT.astimezone(timezone(timedelta(hours=9))),
        MOMENT.replace(tzinfo=None),
        MOMENT.isoformat(),
    ],
)
async def test_times_stand_in_utc_also_those_written_as_text(value: object) -> None:
    assert (await cell(value, ColumnKind.moment)).value == MOMENT.replace(tzinfo=None)


async def test_a_day_written_as_text_is_a_date() -> None:
    found = await cell("2026-03-01", ColumnKind.date)

    assert found.is_date
    assert found.value.isoformat().startswith("2026-03-01")


@pytest.mark.parametrize(
    "value", [date(1899, 1, 1), datetime(1, 1, 1, tzinfo=UTC), "9999-12-31T23:30:00-01:00", "soon"]
)
async def test_a_time_that_excel_does_not_know_is_a_text(value: Any) -> None:
    found = await cell(value, ColumnKind.moment)

    assert (found.data_type, found.value) == ("s", str(value).replace(" ", "T"))


@pytest.mark.parametrize(
    "text", ["=1+1", "+49 341 123", "-2+3", "@SUM(A1)", "＝1+1", "\t=1", " =1"]
)
async def test_a_text_is_never_a_formula_and_stays_as_it_is(text: str) -> None:
    found = await cell(text)

    assert (found.data_type, found.value) == ("s", text)
    assert found.quotePrefix == (text != "+49 341 123")


@pytest.mark.parametrize(
    "text", ["<a & b>", '"quoted"', "  blanks  ", "two\nlines", "]]>", "字 🙂", "a\u2028b", "é"]
)
async def test_texts_come_back_as_they_were(text: str) -> None:
    assert (await cell(text)).value == text


@pytest.mark.parametrize(
    "text", ["<r><t>a & b</t></r>", "<r>", "<r></r>", "<r>" + "x" * 32_760 + "</r>"]
)
async def test_a_text_that_looks_like_the_markup_of_a_cell_is_a_text(text: str) -> None:
    assert (await cell(text)).value == text


async def test_a_text_that_looks_like_markup_when_cut_is_cut_and_counted() -> None:
    counts = ExportCounts()
    text = "<r>" + "x" * 32_760 + "</r>"

    assert (await cell(text + "&", counts=counts)).value == text
    assert counts.cut_cells == 1


async def test_an_address_is_a_text_and_no_link() -> None:
    """A sheet takes 65,530 links at most."""
    found = await cell("https://example.com/contact")

    assert (found.data_type, found.hyperlink) == ("s", None)


async def test_what_xml_forbids_is_dropped() -> None:
    assert (await cell("a\x00b\x0bc\ud800d\ufffee\x1ff\r\ng")).value == "abcdef\ng"


async def test_a_text_that_looks_like_an_escape_is_kept_from_being_one() -> None:
    data = await whole(write_xlsx(chunks_of([("_x0041_ _xyz_",)]), [ExportColumn("a", "A")]))

    sheet = zipfile.ZipFile(BytesIO(data)).read("xl/worksheets/sheet1.xml").decode()
    assert "<t>_x005F_x0041_ _xyz_</t>" in sheet


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("x" * 32_767, 32_767),
        ("x" * 32_768, 32_767),
        ("🙂" * 16_383, 16_383),
        ("🙂" * 16_384, 16_383),
    ],
)
async def test_a_text_too_long_for_a_cell_is_cut_and_counted(text: str, kept: int) -> None:
    counts = ExportCounts()
    found = await cell(text, counts=counts)

    assert found.value == text[:kept]
    assert counts.cut_cells == (len(text) > kept)


async def test_no_digit_of_a_long_number_is_lost() -> None:
    assert (await cell(10**15 + 1, ColumnKind.integer)).value == "1000000000000001"
    assert (await cell(-(10**14), ColumnKind.integer)).value == -(10**14)


async def test_a_number_without_a_value_is_an_empty_cell() -> None:
    assert (await cell(float("inf"), ColumnKind.number)).value is None


async def test_rows_beyond_a_sheet_go_to_the_next() -> None:
    counts = ExportCounts()
    columns = [ExportColumn("n", "N", ColumnKind.integer)]
    rows = [(n,) for n in range(7)]

    book = await book_of(
        *rows, columns=columns, max_sheet_rows=4, sheet_name="Who/what?", counts=counts
    )

    assert book.sheetnames == ["Who what", "Who what 2", "Who what 3"]
    assert [[row[0].value for row in sheet] for sheet in book.worksheets] == [
        ["N", 0, 1, 2],
        ["N", 3, 4, 5],
        ["N", 6],
    ]
    assert (counts.rows, counts.sheets) == (7, 3)


async def test_an_export_of_nothing_has_its_headings() -> None:
    (sheet,) = (await book_of()).worksheets

    assert [cell.value for cell in sheet[1]] == [column.heading for column in COLUMNS]
    assert sheet.max_row == 1


async def test_columns_beyond_z_are_in_their_places() -> None:
    columns = [ExportColumn(f"c{n}", f"C{n}", ColumnKind.integer) for n in range(704)]

    (sheet,) = (await book_of(tuple(range(704)), columns=columns)).worksheets

    assert (sheet["Z2"].value, sheet["AA2"].value, sheet["AAB2"].value) == (25, 26, 703)


def test_more_columns_than_a_sheet_has_are_refused_before_anything_is_written() -> None:
    with pytest.raises(InvalidInput, match="at most 16,384 columns"):
        write_xlsx(chunks_of(), [ExportColumn("x", "X")] * 16_385)


async def test_the_archive_is_whole_and_names_its_types_first() -> None:
    archive = zipfile.ZipFile(BytesIO(await whole(write_xlsx(chunks_of([ROW]), COLUMNS))))

    assert archive.testzip() is None
    assert archive.namelist()[0] == "[Content_Types].xml"


async def test_an_export_that_is_cancelled_while_a_chunk_is_written_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    writing, go_on = threading.Event(), threading.Event()

    class Slow:
        """A value whose text is asked for in the thread that writes it."""

        def __str__(self) -> str:
            writing.set()
            assert go_on.wait(PATIENCE_SECONDS)
            return "slow"

    task = asyncio.create_task(
        whole(write_xlsx(chunks_of([(Slow(),)]), [ExportColumn("value", "Value")]))
    )
    assert await asyncio.to_thread(writing.wait, PATIENCE_SECONDS)
    files = list(tmp_path.rglob("*"))
    task.cancel()
    await asyncio.sleep(0)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert files
    assert list(tmp_path.iterdir()) == []


async def test_an_export_that_is_left_while_it_is_sent_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(xlsx, "BYTES_PER_PIECE", 1_000)
    pieces = write_xlsx(chunks_of([ROW] * 100), COLUMNS)
    while not await anext(pieces):
        pass
    files = list(tmp_path.rglob("*"))
    await pieces.aclose()

    assert files
    assert list(tmp_path.iterdir()) == []
