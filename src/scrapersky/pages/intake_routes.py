"""Hand in pages by their addresses: a list, or a CSV file."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict

from scrapersky.http.auth import Curator
from scrapersky.http.context import Context, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.intake import take
from scrapersky.http.intake.answers import (
    ColumnAsked,
    IntakeOut,
    Names,
    QueueAsked,
    QueueField,
    as_answer,
)
from scrapersky.http.intake.bodies import CsvFile, describe_file, given_in
from scrapersky.http.intake.rows import listed
from scrapersky.http.intake.taking import Asker
from scrapersky.http.list_bodies import ListRoute
from scrapersky.pages.intake import HAND_IN, PAGES

router = APIRouter(
    route_class=ListRoute,
    prefix="/pages",
    tags=["pages"],
    responses=problem_responses(400, 401, 403, 415, 422),
)


class PagesIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"urls": ["https://example.com/contact"], "queue": True}]},
    )

    urls: Names
    queue: QueueField = True


@router.post("/direct-submit", status_code=202, summary="Hand in pages", response_model=IntakeOut)
async def direct_submit(
    actor: Curator, context: Context, session: Transaction, wanted: PagesIn
) -> StreamingResponse:
    """Bad rows are reported and the others are kept. Each page is read for contacts, unless `queue`
    is false; its domain is stored too, but not looked at for that. A page that is there already
    stays as it is; one that was never read is read now."""
    asker = Asker(session, actor, context.settings, wanted.queue)
    return as_answer(await take(asker, HAND_IN, listed(wanted.urls)))


@router.post(
    "/import-csv",
    status_code=202,
    summary="Hand in a CSV file of pages",
    response_model=IntakeOut,
    openapi_extra=describe_file("name,url\nContact,https://example.com/contact\n"),
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
    return as_answer(await take(asker, HAND_IN, given_in(file, PAGES, column)))
