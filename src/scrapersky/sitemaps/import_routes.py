"""Ask for the import of a sitemap into pages."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, Field

from scrapersky.http.auth import Curator
from scrapersky.http.context import Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.jobs.schemas import EXAMPLE_ID
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
