"""A CSV file as the body of a request."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Annotated, Any, BinaryIO

from fastapi import Depends, HTTPException, Request

from scrapersky.http.auth import FILE_TYPES, declared_type
from scrapersky.http.intake.columns import ListKind
from scrapersky.http.intake.rows import Given, refuse_too_many, rows_in


async def _csv_file(request: Request) -> BinaryIO:
    """All of it, before anything is asked of the database: nobody holds a connection while a slow
    client sends. How much that may be is MAX_REQUEST_BYTES, on a `ListRoute`."""
    if declared_type(request) not in FILE_TYPES:
        raise HTTPException(
            415,
            "Send the file itself as the body, with `Content-Type: text/csv`: "
            "curl --data-binary @file.csv -H 'Content-Type: text/csv'.",
        )
    return io.BytesIO(await request.body())


CsvFile = Annotated[BinaryIO, Depends(_csv_file)]


def given_in(file: BinaryIO, kind: ListKind, column: str | None) -> Iterator[Given]:
    return refuse_too_many(rows_in(file, kind, column))


def describe_file(example: str) -> dict[str, Any]:
    """For a route's declaration: what its body is."""
    as_text = {"schema": {"type": "string"}, "example": example}
    as_bytes = {"schema": {"type": "string", "format": "binary"}}
    content = {"text/csv": as_text, "application/octet-stream": as_bytes}
    return {"requestBody": {"required": True, "content": content}}
