"""Domains: list and look."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from sqlalchemy import select

from scrapersky.domains.schemas import DomainOut
from scrapersky.errors import NotFound
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.http.errors import problem_responses
from scrapersky.http.pagination import Cursor, Limit, Page, newest_first
from scrapersky.models import Domain

router = APIRouter(prefix="/domains", tags=["domains"], responses=problem_responses(401, 403, 422))


@router.get("", summary="Domains, newest first")
async def list_domains(
    actor: Viewer,
    session: Reading,
    search: Annotated[
        str | None, Query(max_length=253, description="Part of the name.", examples=["bakery"])
    ] = None,
    sitemap_analysis_status: Annotated[str | None, Query(examples=["submitted"])] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[DomainOut]:
    statement = select(Domain).where(Domain.tenant_id == actor.tenant_id)
    if search is not None:
        statement = statement.where(Domain.domain.icontains(search, autoescape=True))
    if sitemap_analysis_status is not None:
        statement = statement.where(Domain.sitemap_analysis_status == sitemap_analysis_status)
    rows, following = await newest_first(
        session, statement, at=Domain.created_at, key=Domain.id, cursor=cursor, limit=limit
    )
    return Page(items=[DomainOut.model_validate(each) for each in rows], next_cursor=following)


@router.get("/{domain_id}", summary="One domain", responses=problem_responses(404))
async def get_domain(actor: Viewer, session: Reading, domain_id: UUID) -> DomainOut:
    found = await session.scalar(
        select(Domain).where(Domain.id == domain_id, Domain.tenant_id == actor.tenant_id)
    )
    if found is None:
        raise NotFound(f"There is no domain {domain_id}.")
    return DomainOut.model_validate(found)
