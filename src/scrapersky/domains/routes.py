"""Domains: list and look."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends
from sqlalchemy import select

from scrapersky.domains.listing import DOMAINS
from scrapersky.domains.schemas import DomainOut
from scrapersky.errors import NotFound
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.http.errors import problem_responses
from scrapersky.http.lists import Asked, Listed
from scrapersky.models import Domain

router = APIRouter(prefix="/domains", tags=["domains"], responses=problem_responses(401, 403, 422))


@router.get("", summary="Domains, newest first")
async def list_domains(
    actor: Viewer, session: Reading, asked: Annotated[Asked, Depends(DOMAINS.asked)]
) -> Listed[DomainOut]:
    return (await DOMAINS.show(session, actor, asked)).listed(DomainOut.model_validate)


@router.get("/{domain_id}", summary="One domain", responses=problem_responses(404))
async def get_domain(actor: Viewer, session: Reading, domain_id: UUID) -> DomainOut:
    found = await session.scalar(
        select(Domain).where(Domain.id == domain_id, Domain.tenant_id == actor.tenant_id)
    )
    if found is None:
        raise NotFound(f"There is no domain {domain_id}.")
    return DomainOut.model_validate(found)
