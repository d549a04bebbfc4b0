"""Hand in a list of businesses."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from scrapersky.http.auth import Curator
from scrapersky.http.context import Context, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.intake.answers import JobIntakeOut, QueueAsked, as_answer
from scrapersky.http.intake.bodies import CsvFile, describe_file
from scrapersky.http.intake.taking import Asker
from scrapersky.http.list_bodies import ListRoute
from scrapersky.places.importing import import_places

router = APIRouter(
    route_class=ListRoute,
    prefix="/places",
    tags=["places"],
    responses=problem_responses(400, 401, 403, 415, 422),
)


@router.post(
    "/import-csv",
    status_code=202,
    summary="Hand in a CSV file of businesses",
    response_model=JobIntakeOut,
    openapi_extra=describe_file(
        "name,website,phone,city\nBakery Berger,https://berger.example,+49 341 123456,Leipzig\n"
    ),
)
async def import_csv(
    actor: Curator,
    context: Context,
    file: CsvFile,
    session: Transaction,
    queue: QueueAsked = True,
    region: Annotated[
        str | None,
        Query(pattern="^[A-Za-z]{2}$", description="Where phone numbers without a code are from."),
    ] = None,
) -> StreamingResponse:
    """The file is the body, with any of the usual delimiters and encodings; its first line names
    the columns: name, website, phone, email, address, street, city and the like. Bad rows are
    reported and the others are kept. The list is a search of its own, that every row's `job_id`
    names."""
    asker = Asker(session, actor, context.settings, queue)
    where = region or context.settings.places_region or None
    return as_answer(await import_places(asker, file, region=where), JobIntakeOut)
