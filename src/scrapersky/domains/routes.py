"""Routes for domains: list, get, curate, export, import, refresh and delete."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select

from scrapersky.domains.listing import CURATION, DOMAINS, EXPORT
from scrapersky.domains.schemas import DomainDetail, DomainOut
from scrapersky.domains.service import DOMAIN_IMPORT, delete_domain, refresh_domain
from scrapersky.errors import NotFound
from scrapersky.http.auth import Admin, Curator, Viewer
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.lists import ListPage, ListQuery, curation_routes, export_routes
from scrapersky.lists.imports.routes import ImportBody, import_routes
from scrapersky.models import Domain

actions_router = APIRouter(
    prefix="/domains", tags=["domains"], responses=problem_responses(401, 403, 404, 422)
)


class DomainRefreshOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    domain_id: UUID
    metadata_queued: bool = Field(description="Whether reading the home page was queued.")
    sitemaps_queued: bool = Field(description="Whether a sitemap scan was queued.")
    active_job_id: UUID | None = Field(description="A scan that is already running or queued.")


class DomainDeletedOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    domain_id: UUID
    deleted_rows: int = Field(description="URLs, contacts and pages deleted by this request.")
    cancelled_jobs: int
    finished: bool = Field(
        description="False while rows remain. Repeat the request until it is true."
    )


@actions_router.post("/{domain_id}/refresh", status_code=202, summary="Rescan a domain")
async def refresh(actor: Curator, session: Transaction, domain_id: UUID) -> DomainRefreshOut:
    """Queue the home page and the sitemaps, regardless of when they were last read. Work that is
    already running continues and is not queued twice.
    """
    return DomainRefreshOut.model_validate(await refresh_domain(session, actor, domain_id))


@actions_router.delete(
    "/{domain_id}",
    summary="Delete a domain",
    responses={202: {"model": DomainDeletedOut, "description": "Rows remain. Repeat the request."}},
)
async def remove(
    actor: Admin, session: Transaction, domain_id: UUID, response: Response
) -> DomainDeletedOut:
    """Cancel the domain's jobs and delete its sitemaps, URLs, pages, contacts and lead. One request
    deletes at most 100,000 rows. When rows remain, the response is 202 and the domain is
    Archived until further requests have deleted the rest.
    """
    deleted = await delete_domain(session, actor, domain_id)
    response.status_code = 200 if deleted.finished else 202
    return DomainDeletedOut.model_validate(deleted)


import_router = import_routes(
    DOMAIN_IMPORT,
    ImportBody("DomainsIn", "domains", "example.com"),
    prefix="/domains",
    tag="domains",
    says="Store a list of domains. Invalid rows are reported and the others are stored. Home pages "
    "are read and sitemaps are scanned, unless `queue` is false. A domain that already exists is "
    "left unchanged, unless it was stored without being queued.",
    csv_example="company,website\nExample,example.com\n",
)

router = APIRouter(prefix="/domains", tags=["domains"], responses=problem_responses(401, 403, 422))
router.include_router(curation_routes(CURATION))
router.include_router(export_routes(EXPORT))


@router.get("", summary="List domains")
async def list_domains(
    actor: Viewer, session: Reading, query: Annotated[ListQuery, Depends(DOMAINS.parse_query)]
) -> ListPage[DomainOut]:
    return (await DOMAINS.show(session, actor, query)).to_page(DomainOut.model_validate)


@router.get("/{domain_id}", summary="Get a domain", responses=problem_responses(404))
async def get_domain(actor: Viewer, session: Reading, domain_id: UUID) -> DomainDetail:
    domain = await session.scalar(
        select(Domain).where(Domain.id == domain_id, Domain.tenant_id == actor.tenant_id)
    )
    if domain is None:
        raise NotFound(f"There is no domain {domain_id}.")
    return DomainDetail.model_validate(domain)
