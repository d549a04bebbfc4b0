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
from scrapersky.lists.imports.rows import (
    MAX_IMPORT_ROWS,
    ImportResult,
    ImportRow,
    ImportRowStatus,
)

AnyText = Annotated[Any, WithJsonSchema({"type": "string"})]
"""Accepts any value, so that one that is not a string makes its row invalid and not the request."""
ImportList = Annotated[list[AnyText], Field(min_length=1, max_length=MAX_IMPORT_ROWS)]
QUEUE_DESCRIPTION = (
    "Queue the imported rows for processing. With `false` they are only stored; import them "
    "again with `true` to queue them."
)
QueueField = Annotated[bool, Field(strict=True, description=QUEUE_DESCRIPTION)]
QueueParam = Annotated[bool, Query(description=QUEUE_DESCRIPTION)]
ColumnParam = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=200,
        description="Column to import: its name, or its number starting at 1. Default: the column "
        "with a usual name or, without a header, the one that contains addresses.",
    ),
]
ROWS_PER_CHUNK = 1_000


class RowOut(BaseModel):
    """Result of one row."""

    line: int = Field(description="Line or position in the list, starting at 1.", examples=[2])
    input: str = Field(description="The row's input, truncated to 300 characters.")
    status: ImportRowStatus
    id: UUID | None = Field(description="Id of the stored row. Null for an invalid row.")
    queued: bool = Field(description="Whether this request queued the row.")
    error: str | None = Field(description="Why the row is invalid, or which line it duplicates.")


class JobRowOut(RowOut):
    job_id: UUID | None = Field(description="Job that processes the row.")
    already_active: bool = Field(
        description="True if the job was already active before this request."
    )


class ImportOut(BaseModel):
    accepted: int = Field(description="Valid rows: `created` plus `existing`.")
    created: int = Field(description="Rows stored by this request.")
    existing: int = Field(description="Rows that were already stored; they are not changed.")
    duplicates: int = Field(description="Rows that repeat an earlier row of the list.")
    invalid: int = Field(description="Rows that could not be imported.")
    queued: int = Field(description="Rows queued by this request.")
    results: list[RowOut]


class JobImportOut(ImportOut):
    results: list[JobRowOut]  # type: ignore[assignment]


def build_response(taken: ImportResult, model: type[ImportOut] = ImportOut) -> StreamingResponse:
    """Stream the response, so that 100,000s of rows are never held as model objects."""
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
    """Read the whole body before a database connection is taken, because a client may be slow.

    The size is limited by MAX_REQUEST_BYTES, on a `ListRoute`.
    """
    if get_content_type(request) not in FILE_TYPES:
        raise HTTPException(
            415,
            "Send the file as the request body with `Content-Type: text/csv`: "
            "curl --data-binary @file.csv -H 'Content-Type: text/csv'.",
        )
    return io.BytesIO(await request.body())


CsvFile = Annotated[BinaryIO, Depends(_read_csv_body)]


def describe_csv_body(example: str) -> dict[str, Any]:
    """Build the OpenAPI request body of a route that takes a CSV file."""
    as_text = {"schema": {"type": "string"}, "example": example}
    as_bytes = {"schema": {"type": "string", "format": "binary"}}
    content = {"text/csv": as_text, "application/octet-stream": as_bytes}
    return {"requestBody": {"required": True, "content": content}}
