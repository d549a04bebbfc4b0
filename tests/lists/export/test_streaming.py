"""Exports of any size in bounded memory, and exports that clients abort."""

from __future__ import annotations

import gc
import os
import tempfile
import tracemalloc
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from random import randbytes

import pyarrow
import pytest

from scrapersky.lists.export import ExportCounts, write_csv, write_jsonl, write_parquet, write_xlsx

from .rows import COLUMNS, ROW, Row, many_rows

ROWS = 200_000
UNTRACED_ROWS = 160_000
"""Tracing is slow, and whatever is kept for each row is kept for the last ones too."""
MOST_BYTES = 768 * 1024
"""A chunk in the making takes less than half of it."""

Writer = Callable[..., AsyncGenerator[bytes, None]]

every_writer = pytest.mark.parametrize("write", [write_csv, write_jsonl, write_xlsx, write_parquet])


@every_writer
async def test_two_hundred_thousand_rows_pass_through_little_memory(write: Writer) -> None:
    async def traced() -> AsyncGenerator[Sequence[Row], None]:
        # Nothing that compresses well: what is kept should be seen, however small it was packed.
        chunk = [(randbytes(16).hex(), n) for n in range(1_000)]
        for start in range(0, ROWS, len(chunk)):
            if start == UNTRACED_ROWS:
                tracemalloc.start()
            yield chunk

    counts = ExportCounts()
    held_by_arrow = pyarrow.total_allocated_bytes()
    try:
        async for _ in write(traced(), COLUMNS[:2], counts=counts):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert counts.rows == ROWS
    assert 0 < peak < MOST_BYTES
    assert pyarrow.total_allocated_bytes() - held_by_arrow < MOST_BYTES


@pytest.mark.parametrize("write", [write_csv, write_jsonl, write_parquet])
async def test_bytes_come_before_the_rows_are_all_read(write: Writer) -> None:
    read = 0

    async def counted() -> AsyncGenerator[Sequence[Row], None]:
        nonlocal read
        async for chunk in many_rows(20_000):
            read += len(chunk)
            yield chunk

    pieces = write(counted(), COLUMNS)
    size = 0
    while size < 4_000:
        size += len(await anext(pieces))
    await pieces.aclose()

    assert 0 < read < 10_000


@every_writer
async def test_an_export_left_half_way_closes_its_source_and_leaves_nothing(
    write: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    complaints: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", complaints.append)
    files_before = len(os.listdir("/proc/self/fd"))
    closed = False

    async def source() -> AsyncGenerator[Sequence[Row], None]:
        nonlocal closed
        try:
            while True:
                yield [ROW] * 1_000
        finally:
            closed = True

    pieces = write(source(), COLUMNS)
    for _ in range(3):
        await anext(pieces)
    await pieces.aclose()
    del pieces
    gc.collect()

    assert closed
    assert list(tmp_path.iterdir()) == []
    assert complaints == []
    assert len(os.listdir("/proc/self/fd")) <= files_before


@every_writer
async def test_an_error_of_the_source_ends_the_export(write: Writer) -> None:
    async def source() -> AsyncGenerator[Sequence[Row], None]:
        yield [ROW]
        raise ConnectionError("The database went away.")

    with pytest.raises(ConnectionError, match="went away"):
        async for _ in write(source(), COLUMNS):
            pass


@every_writer
async def test_an_export_that_is_never_read_complains_of_nothing(
    write: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaints: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", complaints.append)

    pieces = write(many_rows(10), COLUMNS)
    await pieces.aclose()
    del pieces
    gc.collect()

    assert complaints == []
