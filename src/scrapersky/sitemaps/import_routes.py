"""Have sitemaps imported into pages: stored ones, and ones that are handed in."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from scrapersky.http.auth import Curator
from scrapersky.http.context import Context, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.intake import take
from scrapersky.http.intake.answers import (
    ColumnAsked,
    JobIntakeOut,
    Names,
    QueueAsked,
    QueueField,
    as_answer,
)
from scrapersky.http.intake.bodies import CsvFile, describe_file, given_in
from scrapersky.http.intake.rows import listed
from scrapersky.http.intake.taking import Asker
from scrapersky.http.list_bodies import ListRoute
from scrapersky.jobs.schemas import EXAMPLE_ID
from scrapersky.sitemaps.handing_in import HAND_IN, SITEMAPS
from scrapersky.sitemaps.importing import request_import

router = APIRouter(
    route_class=ListRoute,
    tags=["sitemaps"],
    responses=problem_responses(401, 403, 422),
)


class ImportOut(BaseModel):
    sitemap_file_id: UUID = Field(examples=[EXAMPLE_ID])
    sitemap_import_status: str = Field(examples=["Queued"])
    already_active: bool = Field(description="True when its import had been asked for before.")
    pages_url: str = Field(examples=[f"/api/v3/pages?sitemap_file_id={EXAMPLE_ID}"])


@router.post(
    "/sitemap-files/{file_id}/import",
    status_code=202,
    summary="Turn a sitemap's stored URLs into pages",
    responses=problem_responses(404),
)
async def import_file(actor: Curator, session: Transaction, file_id: UUID) -> ImportOut:
    """Answers at once; the import is queued by then. Nothing is downloaded again, pages that are
    there already stay as they are, and what people decided about them is kept. Asking again while
    the import is active changes nothing."""
    file, queued = await request_import(session, actor, file_id)
    return ImportOut(
        sitemap_file_id=file.id,
        sitemap_import_status=file.sitemap_import_status,
        already_active=not queued,
        pages_url=f"/api/v3/pages?sitemap_file_id={file.id}",
    )


class HandInIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"urls": ["https://example.com/sitemap.xml"], "queue": True}]
        },
    )

    urls: Names
    queue: QueueField = True


@router.post(
    "/sitemap-files/direct-submit",
    status_code=202,
    summary="Hand in sitemaps by their addresses",
    responses=problem_responses(400, 415),
    response_model=JobIntakeOut,
)
async def direct_submit(
    actor: Curator, context: Context, session: Transaction, wanted: HandInIn
) -> StreamingResponse:
    """Each is fetched, with its children if it is an index, then its URLs become pages; with
    `queue` false it is only stored. The rest of the site is not looked at. Bad rows are reported,
    good ones are taken; one that is there already is read again."""
    asker = Asker(session, actor, context.settings, wanted.queue)
    return as_answer(await take(asker, HAND_IN, listed(wanted.urls)), JobIntakeOut)


@router.post(
    "/sitemap-files/import-csv",
    status_code=202,
    summary="Hand in a CSV file of sitemaps",
    responses=problem_responses(400, 415),
    response_model=JobIntakeOut,
    openapi_extra=describe_file("site,sitemap\nExample,https://example.com/sitemap.xml\n"),
)
async def import_csv(
    actor: Curator,
    context: Context,
    file: CsvFile,
    session: Transaction,
    queue: QueueAsked = True,
    column: ColumnAsked = None,
) -> StreamingResponse:
    """The file is the body, with any of the usual delimiters and encodings, with a header or
    without. Rows are taken as those of a list are."""
    asker = Asker(session, actor, context.settings, queue)
    return as_answer(await take(asker, HAND_IN, given_in(file, SITEMAPS, column)), JobIntakeOut)
