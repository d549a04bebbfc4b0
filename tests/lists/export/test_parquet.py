"""Parquet with types, and a clear error if pyarrow is missing."""

from __future__ import annotations

import sys
from datetime import timedelta, timezone
from io import BytesIO
from typing import Any

import pyarrow.parquet
import pytest

from scrapersky.errors import InvalidInput
from scrapersky.lists.export import ColumnKind, ExportColumn, ExportCounts, write_parquet

from .rows import COLUMNS, EMPTY, MOMENT, ROW, chunks_of, whole


async def file_of(*chunks: Any, columns: Any = COLUMNS, **options: Any) -> Any:
    data = await whole(write_parquet(chunks_of(*chunks), columns, **options))
    return pyarrow.parquet.ParquetFile(BytesIO(data))


async def test_values_come_back_with_their_types() -> None:
    counts = ExportCounts()
    table = (await file_of([ROW, EMPTY], counts=counts)).read()
    first, second = table.to_pylist()

    assert tuple(first.values()) == ROW
    assert tuple(second.values()) == EMPTY
    assert {field.name: str(field.type) for field in table.schema} == {
        "name": "string",
        "pages": "int64",
        "confidence": "double",
        "is_role": "bool",
        "seen_at": "timestamp[us, tz=UTC]",
        "founded": "date32[day]",
        "phones": "list<element: string>",
    }
    assert counts.rows == 2


async def test_every_chunk_is_a_row_group() -> None:
    found = await file_of([ROW], [], [ROW, ROW])

    groups = [found.metadata.row_group(n).num_rows for n in range(found.num_row_groups)]
    assert groups == [1, 2]


async def test_an_export_of_nothing_has_its_schema() -> None:
    found = await file_of()

    assert found.metadata.num_rows == 0
    assert found.schema_arrow.names == [column.name for column in COLUMNS]


async def test_values_that_nearly_fit_are_made_to() -> None:
    there = MOMENT.astimezone(timezone(timedelta(hours=2)))
    row = (7, "3", "0.5", 1, there.isoformat(), MOMENT, "one")

    (found,) = (await file_of([row])).read().to_pylist()

    assert tuple(found.values()) == ("7", 3, 0.5, True, MOMENT, MOMENT.date(), ["one"])


async def test_a_text_that_is_no_unicode_is_written_all_the_same() -> None:
    columns = [ExportColumn("a", "A"), ExportColumn("b", "B", ColumnKind.texts)]
    (found,) = (await file_of([("\ud800x", ["\ud800"])], columns=columns)).read().to_pylist()

    assert found == {"a": "?x", "b": ["?"]}


def test_without_pyarrow_the_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(InvalidInput, match=r"scrapersky\[parquet\]"):
        write_parquet(chunks_of([ROW]), COLUMNS)
