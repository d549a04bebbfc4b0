"""Rows as JSON Lines: an object per line, its keys the columns' names."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence

from scrapersky.http.exports.columns import Chunks, Column, Counts, Row, closing, slices_of
from scrapersky.http.exports.values import as_json

_encode = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=as_json
).encode


async def write_jsonl(
    chunks: Chunks, columns: Sequence[Column], *, counts: Counts | None = None
) -> AsyncGenerator[bytes, None]:
    counts = counts or Counts()
    names = [column.name for column in columns]
    async with closing(chunks):
        async for chunk in chunks:
            for rows in slices_of(chunk):
                counts.rows += len(rows)
                yield "".join(_line(row, names) for row in rows).encode("utf-8", "replace")


def _line(row: Row, names: Sequence[str]) -> str:
    values = dict(zip(names, row, strict=True))
    try:
        return f"{_encode(values)}\n"
    except ValueError:  # not-a-number, for which JSON has no word
        return f"{_encode(as_json(values))}\n"
