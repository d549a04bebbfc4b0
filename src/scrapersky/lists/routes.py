"""Route factories of a list: bulk curation and export."""

# No `from __future__ import annotations` here: FastAPI resolves string annotations in the module's
# globals, where the dependencies that the factories create locally do not exist.

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import Field, create_model
from starlette.types import Receive, Scope, Send

from scrapersky.http.application import Context
from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.lists.bulk import BulkIn, BulkRequest, build_bulk_request
from scrapersky.lists.curation import MAX_CURATED_ROWS, CurateOut, Curation, curate
from scrapersky.lists.exports import ByteStream, Export, ExportFormat, ExportRequest, stream_export
from scrapersky.lists.listing import ListParameters, build_dependency
from scrapersky.plurals import pluralise


@dataclass(frozen=True)
class CurateRequest:
    """A validated curation request."""

    status: str
    rows: BulkRequest


class CurateIn(BulkIn):
    """Selection of rows and their new status."""

    status: StrEnum


def build_curate_dependency(curation: Curation) -> Callable[..., CurateRequest]:
    """Return a FastAPI dependency that parses a curation request for this list."""
    said = "New status. `Selected` queues the row's next stage." if curation.queues else None
    most: Any = Field(
        default=MAX_CURATED_ROWS,
        ge=1,
        le=MAX_CURATED_ROWS,
        description="Maximum number of rows to change.",
    )
    narrowed: Any = (curation.listing.filter_model | None, Field(default=None))
    model: Any = create_model(
        f"Curate{curation.listing.name}In",
        __base__=CurateIn,
        filter=narrowed,
        status=(_build_decision_type(curation), Field(description=said or "New status.")),
        limit=(int, most),
    )

    def read(wanted: CurateIn) -> CurateRequest:
        rows = build_bulk_request(curation.listing, wanted, but=["status"])
        return CurateRequest(wanted.status.value, rows)

    return build_dependency(read, "wanted", model, Body())


def _build_decision_type(curation: Curation) -> Any:
    """Return an enum of the statuses that users may set; other values get a 422."""
    words = {each.name: each.value for each in curation.words if each in curation.decisions}
    same = len(words) == len(curation.words)
    return curation.words if same else StrEnum(f"{curation.listing.name}Decision", words)


def curation_routes(curation: Curation) -> APIRouter:
    """Build the curation route. Include it before any route with an id in its path."""
    refusals = problem_responses(400, 401, 403, 409, 415, 422)
    router = APIRouter(tags=["curation"], responses=refusals)
    noun = curation.kind.replace("_", " ")
    asked = build_curate_dependency(curation)

    @router.post(
        "/curate",
        name=f"curate_{pluralise(curation.kind)}",
        summary=f"Set the status of {pluralise(noun)}",
    )
    async def curate_rows(
        actor: Curator, session: Transaction, wanted: Annotated[CurateRequest, Depends(asked)]
    ) -> CurateOut:
        """Select rows by id or with the filters of the list. All rows are changed in one
        transaction. Rows that already have the status are not changed. Use `action_id` to undo
        the change.
        """
        return await curate(session, actor, curation, wanted.status, wanted.rows)

    return router


PAGE_PARAMETERS = frozenset(("cursor", "limit", "totals"))
"""List parameters that do not apply to an export of all rows."""
EXPORT_PARAMETERS = ("sort", "format", "columns", "bom")


class ExportResponse(StreamingResponse):
    """Streams an export and stops between two pieces once the client has disconnected.

    Cancelling the generator in the middle of a piece would not return its database connection to
    the pool cleanly. The response starts with the first byte of the file, so that an error before
    it becomes an error response. A piece may be empty.
    """

    def __init__(self, pieces: ByteStream, *, name: str, media_type: str) -> None:
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        super().__init__(pieces, media_type=media_type, headers=headers)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.create_task(_wait_for_disconnect(receive))
        try:
            await self._send(send, gone)
        finally:
            gone.cancel()

    async def _send(self, send: Send, gone: asyncio.Task[None]) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        started = False
        async with aclosing(self._pieces) as pieces:
            async for piece in pieces:
                if gone.done():
                    return
                if not piece:
                    continue
                if not started:
                    await send(start)
                    started = True
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        if not started:
            await send(start)
        await send({"type": "http.response.body", "body": b""})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def build_export_dependency(export: Export) -> Callable[..., ExportRequest]:
    """Return a FastAPI dependency that parses the query string of an export."""
    filters: dict[str, Any] = {
        name: (each.annotation, each)
        for name, each in export.listing.query_model.model_fields.items()
        if name not in PAGE_PARAMETERS
    }
    model: Any = create_model(
        f"{export.listing.name}ExportQuery",
        __base__=ListParameters,
        **{**filters, **_build_export_parameters(export)},
    )

    def read(query: ListParameters) -> ExportRequest:
        given = dict(query.get_values())
        how = {name: given.pop(name, None) for name in EXPORT_PARAMETERS}
        return ExportRequest(given, **how)

    return build_dependency(read, "query", model, Query())


def _build_export_parameters(export: Export) -> dict[str, Any]:
    usual = ",".join(each.name for each in export.usual)
    more = ", ".join(each.name for each in export.more)
    said = f"Comma-separated columns, in this order. Default: {usual}."
    said += f" Also available: {more}." * bool(more)
    bom = "CSV only: start with a byte order mark, so that Excel detects UTF-8."
    return {
        "format": (ExportFormat, Field(ExportFormat.CSV, description="File format.")),
        "columns": (str | None, Field(None, description=said, max_length=2_000)),
        "bom": (bool, Field(False, description=bom)),
    }


def export_routes(export: Export) -> APIRouter:
    """Build the export route. Include it before any route with an id in its path."""
    router = APIRouter(tags=["exports"])
    wanted = build_export_dependency(export)
    noun = export.rows.replace("-", " ")
    files: dict[str, Any] = {each.media_type.partition(";")[0]: {} for each in ExportFormat}
    answers: dict[int | str, dict[str, Any]] = {
        200: {"description": "The file, streamed.", "content": files}
    }

    @router.get(
        "/export",
        name=f"export_{export.rows.replace('-', '_')}",
        summary=f"Export {noun}",
        response_class=StreamingResponse,
        responses={**answers, **problem_responses(401, 403, 422)},
    )
    async def export_rows(
        actor: Viewer, context: Context, asked: Annotated[ExportRequest, Depends(wanted)]
    ) -> StreamingResponse:
        """Stream all matching rows as a file, with the filters and sort orders of the list. If the
        export fails midway, the connection is closed before the end of the response: a response
        that ended normally is complete. An XLSX file is sent when all its rows are written.
        """
        pieces = await stream_export(context.database, export, actor, asked)
        name = f"{export.rows}-{datetime.now(UTC):%Y-%m-%d}.{asked.format}"
        return ExportResponse(pieces, name=name, media_type=asked.format.media_type)

    return router
