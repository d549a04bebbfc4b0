"""Route factories of a list: bulk curation and export."""

from __future__ import annotations

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
from scrapersky.lists.export.definition import Export, ExportFormat, ExportRequest
from scrapersky.lists.export.files import ByteStream, stream_export
from scrapersky.lists.listing import ListParameters, build_dependency


@dataclass(frozen=True)
class CurateRequest:
    """Which rows, and what was decided about them."""

    status: str
    rows: BulkRequest


class CurateIn(BulkIn):
    """Which rows, and what they are to be."""

    status: StrEnum


def build_curate_dependency(curation: Curation) -> Callable[..., CurateRequest]:
    """A dependency that reads a decision about rows of this list."""
    said = "What was decided. `Selected` queues the row's next stage." if curation.queues else None
    most: Any = Field(
        default=MAX_CURATED_ROWS, ge=1, le=MAX_CURATED_ROWS, description="Rows at most."
    )
    narrowed: Any = (curation.listing.filter_model | None, Field(default=None))
    model: Any = create_model(
        f"Curate{curation.listing.name}In",
        __base__=CurateIn,
        filter=narrowed,
        status=(_build_decision_type(curation), Field(description=said or "What was decided.")),
        limit=(int, most),
    )

    def read(wanted: CurateIn) -> CurateRequest:
        rows = build_bulk_request(curation.listing, wanted, but=["status"])
        return CurateRequest(wanted.status.value, rows)

    return build_dependency(read, "wanted", model, Body())


def _build_decision_type(curation: Curation) -> Any:
    """The words of the kind that people choose from, as a type: others are refused with a 422."""
    words = {each.name: each.value for each in curation.words if each in curation.decisions}
    same = len(words) == len(curation.words)
    return curation.words if same else StrEnum(f"{curation.listing.name}Decision", words)


def curation_routes(curation: Curation) -> APIRouter:
    """To be included in the feature's router, before any route that takes an id."""
    refusals = problem_responses(400, 401, 403, 409, 415, 422)
    router = APIRouter(tags=["curation"], responses=refusals)
    noun = curation.kind.replace("_", " ")
    asked = build_curate_dependency(curation)

    @router.post("/curate", name=f"curate_{curation.kind}s", summary=f"Decide about many {noun}s")
    async def curate_rows(
        actor: Curator, session: Transaction, wanted: Annotated[CurateRequest, Depends(asked)]
    ) -> CurateOut:
        """By ids or by the filters of the list, all in one transaction. Rows that have the status
        already are left alone. What was done can be undone by `action_id`."""
        return await curate(session, actor, curation, wanted.status, wanted.rows)

    return router


PAGE_PARAMETERS = frozenset(("cursor", "limit", "totals"))
"""What a list takes and a file of all of it has no use for."""
EXPORT_PARAMETERS = ("sort", "format", "columns", "bom")


class ExportResponse(StreamingResponse):
    """Bytes as they are made. Whoever makes them stops after the next piece once nobody reads any
    more: cut short in the middle of it, they could not give their connection back in order."""

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
        async with aclosing(self._pieces) as pieces:
            await send(start)
            async for piece in pieces:
                if gone.done():
                    return
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def build_export_dependency(export: Export) -> Callable[..., ExportRequest]:
    """A dependency that reads a request's query."""
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
    said = f"Which, in this order, with commas between. Left out: {usual}."
    said += f" There are also {more}." * bool(more)
    bom = "For CSV: begin with the mark by which Excel knows UTF-8."
    return {
        "format": (ExportFormat, Field(ExportFormat.CSV, description="How to write it.")),
        "columns": (str | None, Field(None, description=said, max_length=2_000)),
        "bom": (bool, Field(False, description=bom)),
    }


def export_routes(export: Export) -> APIRouter:
    """To be included in the feature's router, before any route that takes an id."""
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
        summary=f"All {noun} that fit, as a file",
        response_class=StreamingResponse,
        responses={**answers, **problem_responses(401, 403, 422)},
    )
    async def export_rows(
        actor: Viewer, context: Context, asked: Annotated[ExportRequest, Depends(wanted)]
    ) -> StreamingResponse:
        """With the filters and orders of the list. Should something go wrong on the way, the
        connection is cut: a file that came to its end is whole."""
        pieces = await stream_export(context.database, export, actor, asked)
        name = f"{export.rows}-{datetime.now(UTC):%Y-%m-%d}.{asked.format}"
        return ExportResponse(pieces, name=name, media_type=asked.format.media_type)

    return router
