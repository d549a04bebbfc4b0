"""Look at a domain again now; delete it."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from scrapersky.domains.changing import delete_domain, refresh_domain
from scrapersky.http.auth import Admin, Curator
from scrapersky.http.context import Transaction
from scrapersky.http.errors import problem_responses

router = APIRouter(
    prefix="/domains", tags=["domains"], responses=problem_responses(401, 403, 404, 422)
)


class RefreshOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    domain_id: UUID
    metadata_queued: bool = Field(description="Its home page is read now.")
    sitemaps_queued: bool = Field(description="Its sitemaps are looked for now.")
    active_job_id: UUID | None = Field(description="The scan of it that is under way already.")


class DeletedOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    domain_id: UUID
    deleted_rows: int = Field(description="URLs, contacts and pages of it, by this request.")
    cancelled_jobs: int
    finished: bool = Field(description="False: there is more; ask again until it is true.")


@router.post("/{domain_id}/refresh", status_code=202, summary="Look at a domain again now")
async def refresh(actor: Curator, session: Transaction, domain_id: UUID) -> RefreshOut:
    """Its home page and its sitemaps are queued, however short ago the last look was. What is
    being worked already goes on and is not queued twice."""
    return RefreshOut.model_validate(await refresh_domain(session, actor, domain_id))


@router.delete(
    "/{domain_id}",
    summary="Delete a domain with all that is below it",
    responses={202: {"model": DeletedOut, "description": "There is more to delete: ask again."}},
)
async def remove(
    actor: Admin, session: Transaction, domain_id: UUID, response: Response
) -> DeletedOut:
    """Its jobs end, and its sitemaps, URLs, pages, contacts and lead go with it. A request deletes
    100,000 rows at most; where there are more it answers 202 and the domain is Archived until
    further requests have deleted the rest."""
    deleted = await delete_domain(session, actor, domain_id)
    response.status_code = 200 if deleted.finished else 202
    return DeletedOut.model_validate(deleted)
