"""Route factories of imports: a JSON list and a CSV file."""

# No `from __future__ import annotations` here: FastAPI resolves string annotations in the module's
# globals, where the dependencies that the factories create locally do not exist.

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, BinaryIO

from fastapi import APIRouter, Body, Depends
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, create_model

from scrapersky.http.application import Context
from scrapersky.http.auth import Curator
from scrapersky.http.body_limits import LargeBodyRoute
from scrapersky.http.context import Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.lists.imports.rows import (
    ImportContext,
    Importer,
    ImportResult,
    import_rows,
    limit_rows,
    parse_list,
    read_csv_rows,
)
from scrapersky.lists.imports.schemas import (
    ColumnParam,
    CsvFile,
    ImportList,
    ImportOut,
    QueueField,
    QueueParam,
    build_response,
    describe_csv_body,
)
from scrapersky.lists.listing import build_dependency

ImportCsv = Callable[[ImportContext, BinaryIO, str | None], Awaitable[ImportResult]]

CSV_DESCRIPTION = (
    "Send the file as the request body. Common delimiters and encodings are detected; a header row "
    "is optional. Rows are handled like those of `direct-submit`."
)


@dataclass(frozen=True)
class ImportBody:
    """Body of a JSON import: a list, and whether to queue its rows."""

    name: str
    """Name of the schema."""
    field: str
    example: str

    def build_model(self) -> type[BaseModel]:
        example: dict[str, Any] = {self.field: [self.example], "queue": True}
        fields: dict[str, Any] = {self.field: (ImportList, ...), "queue": (QueueField, True)}
        config = ConfigDict(extra="forbid", json_schema_extra={"examples": [example]})
        return create_model(self.name, __config__=config, **fields)


def import_routes(
    importer: Importer,
    body: ImportBody,
    *,
    prefix: str,
    tag: str,
    says: str,
    csv_example: str,
    model: type[ImportOut] = ImportOut,
) -> APIRouter:
    """Build the routes `direct-submit` and `import-csv` of a kind of row."""

    def read(wanted: BaseModel) -> tuple[list[Any], bool]:
        given = dict(wanted)
        return given[body.field], given["queue"]

    async def take(asker: ImportContext, file: BinaryIO, column: str | None) -> ImportResult:
        rows = limit_rows(read_csv_rows(file, importer.kind, column))
        return await import_rows(asker, importer, rows)

    router = _build_router(prefix, tag)
    wanted_list = build_dependency(read, "wanted", body.build_model(), Body())

    @router.post(
        "/direct-submit",
        status_code=202,
        summary=f"Import {tag}",
        description=says,
        response_model=model,
    )
    async def direct_submit(
        actor: Curator,
        context: Context,
        session: Transaction,
        wanted: Annotated[tuple[list[Any], bool], Depends(wanted_list)],
    ) -> StreamingResponse:
        texts, queue = wanted
        asker = ImportContext(session, actor, context.settings, queue)
        return build_response(await import_rows(asker, importer, parse_list(texts)), model)

    _add_csv_route(router, take, _read_column, tag, CSV_DESCRIPTION, csv_example, model)
    return router


def _read_column(column: ColumnParam = None) -> str | None:
    return column


def csv_import_route(
    take: ImportCsv,
    read_option: Callable[..., str | None],
    *,
    prefix: str,
    tag: str,
    noun: str,
    says: str,
    example: str,
    model: type[ImportOut] = ImportOut,
) -> APIRouter:
    """Build only the route `import-csv`. `read_option` is the dependency of its own query
    parameter, whose value `take` gets in addition to the file.
    """
    router = _build_router(prefix, tag)
    _add_csv_route(router, take, read_option, noun, says, example, model)
    return router


def _build_router(prefix: str, tag: str) -> APIRouter:
    return APIRouter(
        route_class=LargeBodyRoute,
        prefix=prefix,
        tags=[tag],
        responses=problem_responses(400, 401, 403, 415, 422),
    )


def _add_csv_route(
    router: APIRouter,
    take: ImportCsv,
    read_option: Callable[..., str | None],
    noun: str,
    says: str,
    example: str,
    model: type[ImportOut],
) -> None:
    @router.post(
        "/import-csv",
        status_code=202,
        summary=f"Import {noun} from CSV",
        description=says,
        response_model=model,
        openapi_extra=describe_csv_body(example),
    )
    async def import_csv(
        actor: Curator,
        context: Context,
        file: CsvFile,
        session: Transaction,
        option: Annotated[str | None, Depends(read_option)],
        queue: QueueParam = True,
    ) -> StreamingResponse:
        asker = ImportContext(session, actor, context.settings, queue)
        return build_response(await take(asker, file, option), model)
