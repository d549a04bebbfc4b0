"""JSON Lines: an object per row."""

from __future__ import annotations

import json
from decimal import Decimal
from uuid import UUID

from scrapersky.lists.export import ExportColumn, ExportCounts, write_jsonl

from .rows import COLUMNS, EMPTY, ROW, chunks_of, whole


async def test_a_row_is_an_object_on_a_line_of_its_own() -> None:
    counts = ExportCounts()
    data = await whole(write_jsonl(chunks_of([ROW], [EMPTY]), COLUMNS, counts=counts))
    first, second = (json.loads(line) for line in data.decode().splitlines())

    assert first == {
        "name": "Bäckerei Öz",
        "pages": 3,
        "confidence": 0.5,
        "is_role": True,
        "seen_at": "2026-03-01T12:30:15+00:00",
        "founded": "1987-06-05",
        "phones": ["+49 341 1", "+49 341 2"],
    }
    assert set(second.values()) == {None}
    assert data.endswith(b"\n")
    assert "Bäckerei".encode() in data
    assert counts.rows == 2


async def test_values_json_has_no_word_for_become_what_comes_close() -> None:
    row = (float("nan"), Decimal("1.5"), UUID(int=1), {"a": [float("inf")]}, "=1+1\n", "\ud800")
    columns = [ExportColumn(name, name) for name in "abcdef"]

    data = await whole(write_jsonl(chunks_of([row]), columns))

    assert json.loads(data) == {
        "a": None,
        "b": 1.5,
        "c": "00000000-0000-0000-0000-000000000001",
        "d": {"a": [None]},
        "e": "=1+1\n",
        "f": "?",
    }


async def test_an_export_of_nothing_is_empty() -> None:
    assert await whole(write_jsonl(chunks_of([]), COLUMNS)) == b""
