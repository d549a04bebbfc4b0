"""What is asked and answered where lists are handed in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field, WithJsonSchema

from scrapersky.http.intake.rows import MOST_ROWS, Row, RowStatus, Taken

AnyText = Annotated[Any, WithJsonSchema({"type": "string"})]
"""Something else than a text is a bad row, and a bad row does not cost the good ones."""
Names = Annotated[list[AnyText], Field(min_length=1, max_length=MOST_ROWS)]
QUEUE_SAYS = (
    "Whether the work on them begins. Otherwise they are only stored, and wait until somebody asks "
    "for them; handing them in again with `true` does."
)
QueueField = Annotated[bool, Field(strict=True, description=QUEUE_SAYS)]
QueueAsked = Annotated[bool, Query(description=QUEUE_SAYS)]
ColumnAsked = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=200,
        description="The column to read: its name, or its number from 1 on. Left out: the one with "
        "a usual name or, where there is no header, the one that holds addresses.",
    ),
]
ROWS_OF_A_PART = 1_000


class RowOut(BaseModel):
    """What became of one row."""

    line: int = Field(description="Where it stands in the list, from 1 on.", examples=[2])
    input: str = Field(description="As it was given, cut after 300 characters.")
    status: RowStatus
    id: UUID | None = Field(description="Of the stored row; null where none can be.")
    queued: bool = Field(description="Whether this request had the work on it begin.")
    error: str | None = Field(description="Why it was not taken, or what it repeats.")


class JobRowOut(RowOut):
    job_id: UUID | None = Field(description="The job that works it.")
    already_active: bool = Field(description="True when that job had been asked for before.")


class IntakeOut(BaseModel):
    accepted: int = Field(description="Rows that name something that is stored now.")
    created: int = Field(description="Of these: were not there before.")
    existing: int = Field(description="Of these: were there already, and stay as they are.")
    duplicates: int = Field(description="Rows that repeat an earlier one.")
    invalid: int = Field(description="Rows that could not be taken.")
    queued: int = Field(description="The work on so many begins.")
    results: list[RowOut]


class JobIntakeOut(IntakeOut):
    results: list[JobRowOut]  # type: ignore[assignment]


def as_answer(taken: Taken, model: type[IntakeOut] = IntakeOut) -> StreamingResponse:
    """Written part by part: rows by the hundred thousand are not made objects of first."""
    fields = JobRowOut.model_fields if model is JobIntakeOut else RowOut.model_fields
    parts = written(taken, tuple(fields))
    return StreamingResponse(parts, status_code=202, media_type="application/json")


def written(taken: Taken, fields: tuple[str, ...] = tuple(JobRowOut.model_fields)) -> Iterator[str]:
    yield json.dumps(taken.counts())[:-1] + ', "results": ['
    for start in range(0, len(taken.rows), ROWS_OF_A_PART):
        rows = taken.rows[start : start + ROWS_OF_A_PART]
        lines = ",\n".join(json.dumps(_plain(row, fields)) for row in rows)
        yield (",\n" if start else "\n") + lines
    yield "]}\n"


def _plain(row: Row, fields: tuple[str, ...]) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in fields}
    return {name: str(each) if isinstance(each, UUID) else each for name, each in values.items()}
