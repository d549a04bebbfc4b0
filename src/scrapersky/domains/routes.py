"""Domains: list, look and decide."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends
from sqlalchemy import select

from scrapersky.domains.exporting import EXPORT
from scrapersky.domains.listing import CURATION, DOMAINS
from scrapersky.domains.schemas import DomainDetail, DomainOut
from scrapersky.errors import NotFound
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.http.errors import problem_responses
from scrapersky.http.lists import Asked, Listed, curation_routes, export_routes
from scrapersky.models import Domain

router = APIRouter(prefix="/domains", tags=["domains"], responses=problem_responses(401, 403, 422))
router.include_router(curation_routes(CURATION))
router.include_router(export_routes(EXPORT))


@router.get("", summary="Domains, newest first")
async def list_domains(
    actor: Viewer, session: Reading, asked: Annotated[Asked, Depends(DOMAINS.asked)]
) -> Listed[DomainOut]:
    return (await DOMAINS.show(session, actor, asked)).listed(DomainOut.model_validate)


@router.get("/{domain_id}", summary="One domain", responses=problem_responses(404))
async def get_domain(actor: Viewer, session: Reading, domain_id: UUID) -> DomainDetail:
    found = await session.scalar(
        select(Domain).where(Domain.id == domain_id, Domain.tenant_id == actor.tenant_id)
    )
    if found is None:
        raise NotFound(f"There is no domain {domain_id}.")
    return DomainDetail.model_validate(found)
