"""The route that hands out a list as a file; the same for every kind."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import Field, create_model
from starlette.types import Receive, Scope, Send

from scrapersky.http.auth import Viewer
from scrapersky.http.context import Context
from scrapersky.http.errors import problem_responses
from scrapersky.http.lists.export_files import Pieces, export_file
from scrapersky.http.lists.exporting import Export, ExportAsked, Format
from scrapersky.http.lists.listing import Narrowed, with_model

OF_A_PAGE = frozenset(("cursor", "limit", "totals"))
"""What a list takes and a file of all of it has no use for."""
HOW = ("sort", "format", "columns", "bom")


class Download(StreamingResponse):
    """Bytes as they are made. Whoever makes them stops after the next piece once nobody reads any
    more: cut short in the middle of it, they could not give their connection back in order."""

    def __init__(self, pieces: Pieces, *, name: str, media_type: str) -> None:
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        super().__init__(pieces, media_type=media_type, headers=headers)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.create_task(_gone(receive))
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


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def export_asked(export: Export) -> Callable[..., ExportAsked]:
    """A dependency that reads a request's query."""
    filters: dict[str, Any] = {
        name: (each.annotation, each)
        for name, each in export.listing.query_model.model_fields.items()
        if name not in OF_A_PAGE
    }
    model: Any = create_model(
        f"{export.listing.name}ExportQuery", __base__=Narrowed, **{**filters, **_how(export)}
    )

    def read(query: Narrowed) -> ExportAsked:
        given = dict(query.given())
        how = {name: given.pop(name, None) for name in HOW}
        return ExportAsked(given, **how)

    return with_model(read, "query", model, Query())


def _how(export: Export) -> dict[str, Any]:
    usual = ",".join(each.name for each in export.usual)
    more = ", ".join(each.name for each in export.more)
    said = f"Which, in this order, with commas between. Left out: {usual}."
    said += f" There are also {more}." * bool(more)
    bom = "For CSV: begin with the mark by which Excel knows UTF-8."
    return {
        "format": (Format, Field(Format.CSV, description="How to write it.")),
        "columns": (str | None, Field(None, description=said, max_length=2_000)),
        "bom": (bool, Field(False, description=bom)),
    }


def export_routes(export: Export) -> APIRouter:
    """To be included in the feature's router, before any route that takes an id."""
    router = APIRouter(tags=["exports"])
    wanted = export_asked(export)
    noun = export.rows.replace("-", " ")
    files: dict[str, Any] = {each.media_type.partition(";")[0]: {} for each in Format}
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
        actor: Viewer, context: Context, asked: Annotated[ExportAsked, Depends(wanted)]
    ) -> StreamingResponse:
        """With the filters and orders of the list. Should something go wrong on the way, the
        connection is cut: a file that came to its end is whole."""
        pieces = await export_file(context.database, export, actor, asked)
        name = f"{export.rows}-{datetime.now(UTC):%Y-%m-%d}.{asked.format}"
        return Download(pieces, name=name, media_type=asked.format.media_type)

    return router
