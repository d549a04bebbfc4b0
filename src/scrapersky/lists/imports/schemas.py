"""Parameters, bodies and responses of import routes."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Annotated, Any, BinaryIO
from uuid import UUID

from fastapi import Depends, HTTPException, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field, WithJsonSchema

from scrapersky.http.auth import FILE_TYPES, get_content_type
from scrapersky.lists.imports.csv_reader import ImportSubject
from scrapersky.lists.imports.rows import (
    MAX_IMPORT_ROWS,
    ImportResult,
    ImportRow,
    ImportRowStatus,
    InputRow,
    limit_rows,
    read_csv_rows,
)

AnyText = Annotated[Any, WithJsonSchema({"type": "string"})]
"""Something else than a text is a bad row, and a bad row does not cost the good ones."""
ImportList = Annotated[list[AnyText], Field(min_length=1, max_length=MAX_IMPORT_ROWS)]
QUEUE_DESCRIPTION = (
    "Whether the work on them begins. Otherwise they are only stored, and wait until somebody asks "
    "for them; handing them in again with `true` does."
)
QueueField = Annotated[bool, Field(strict=True, description=QUEUE_DESCRIPTION)]
QueueParam = Annotated[bool, Query(description=QUEUE_DESCRIPTION)]
ColumnParam = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=200,
        description="The column to read: its name, or its number from 1 on. Left out: the one with "
        "a usual name or, where there is no header, the one that holds addresses.",
    ),
]
ROWS_PER_CHUNK = 1_000


class RowOut(BaseModel):
    """What became of one row."""

    line: int = Field(description="Where it stands in the list, from 1 on.", examples=[2])
    input: str = Field(description="As it was given, cut after 300 characters.")
    status: ImportRowStatus
    id: UUID | None = Field(description="Of the stored row; null where none can be.")
    queued: bool = Field(description="Whether this request had the work on it begin.")
    error: str | None = Field(description="Why it was not taken, or what it repeats.")


class JobRowOut(RowOut):
    job_id: UUID | None = Field(description="The job that works it.")
    already_active: bool = Field(description="True when that job had been asked for before.")


class ImportOut(BaseModel):
    accepted: int = Field(description="Rows that name something that is stored now.")
    created: int = Field(description="Of these: were not there before.")
    existing: int = Field(description="Of these: were there already, and stay as they are.")
    duplicates: int = Field(description="Rows that repeat an earlier one.")
    invalid: int = Field(description="Rows that could not be taken.")
    queued: int = Field(description="The work on so many begins.")
    results: list[RowOut]


class JobImportOut(ImportOut):
    results: list[JobRowOut]  # type: ignore[assignment]


def build_response(taken: ImportResult, model: type[ImportOut] = ImportOut) -> StreamingResponse:
    """Written part by part: rows by the hundred thousand are not made objects of first."""
    fields = JobRowOut.model_fields if model is JobImportOut else RowOut.model_fields
    parts = encode_result(taken, tuple(fields))
    return StreamingResponse(parts, status_code=202, media_type="application/json")


def encode_result(
    taken: ImportResult, fields: tuple[str, ...] = tuple(JobRowOut.model_fields)
) -> Iterator[str]:
    yield json.dumps(taken.counts())[:-1] + ', "results": ['
    for start in range(0, len(taken.rows), ROWS_PER_CHUNK):
        rows = taken.rows[start : start + ROWS_PER_CHUNK]
        lines = ",\n".join(json.dumps(_to_plain(row, fields)) for row in rows)
        yield (",\n" if start else "\n") + lines
    yield "]}\n"


def _to_plain(row: ImportRow, fields: tuple[str, ...]) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in fields}
    return {name: str(each) if isinstance(each, UUID) else each for name, each in values.items()}


async def _read_csv_body(request: Request) -> BinaryIO:
    """All of it, before anything is asked of the database: nobody holds a connection while a slow
    client sends. How much that may be is MAX_REQUEST_BYTES, on a `ListRoute`."""
    if get_content_type(request) not in FILE_TYPES:
        raise HTTPException(
            415,
            "Send the file itself as the body, with `Content-Type: text/csv`: "
            "curl --data-binary @file.csv -H 'Content-Type: text/csv'.",
        )
    return io.BytesIO(await request.body())


CsvFile = Annotated[BinaryIO, Depends(_read_csv_body)]


def read_body_rows(file: BinaryIO, kind: ImportSubject, column: str | None) -> Iterator[InputRow]:
    return limit_rows(read_csv_rows(file, kind, column))


def describe_csv_body(example: str) -> dict[str, Any]:
    """For a route's declaration: what its body is."""
    as_text = {"schema": {"type": "string"}, "example": example}
    as_bytes = {"schema": {"type": "string", "format": "binary"}}
    content = {"text/csv": as_text, "application/octet-stream": as_bytes}
    return {"requestBody": {"required": True, "content": content}}
