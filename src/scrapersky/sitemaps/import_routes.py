"""Have sitemaps imported into pages: stored ones, and ones that are handed in."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from scrapersky.http.auth import Curator
from scrapersky.http.context import Context, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.jobs.schemas import EXAMPLE_ID
from scrapersky.sitemaps.handing_in import MOST_AT_ONCE, hand_in
from scrapersky.sitemaps.importing import request_import

router = APIRouter(tags=["sitemaps"], responses=problem_responses(401, 403, 422))


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
        json_schema_extra={"examples": [{"urls": ["https://example.com/sitemap.xml"]}]},
    )

    urls: list[Annotated[str, Field(max_length=2048)]] = Field(
        min_length=1, max_length=MOST_AT_ONCE, description="The sitemaps' whole addresses."
    )


class HandedInOut(BaseModel):
    input: str = Field(examples=["https://example.com/sitemap.xml"])
    job_id: UUID | None = Field(description="The job that reads it.", examples=[EXAMPLE_ID])
    already_active: bool = Field(description="True when it had been asked for before.")
    error: str | None = Field(description="Why this line was not taken.")


class HandInOut(BaseModel):
    accepted: int
    results: list[HandedInOut]


@router.post(
    "/sitemap-files/direct-submit",
    status_code=202,
    summary="Hand in sitemaps by their addresses",
    responses=problem_responses(400, 415),
)
async def direct_submit(
    actor: Curator, context: Context, session: Transaction, wanted: HandInIn
) -> HandInOut:
    """Each is fetched first, with its children if it is an index, then its URLs become pages. The
    rest of the site is not looked at. Bad lines are reported, good ones are taken."""
    results = await hand_in(session, actor, context.settings, wanted.urls)
    return HandInOut(
        accepted=sum(each.error is None for each in results),
        results=[HandedInOut(**asdict(each)) for each in results],
    )
