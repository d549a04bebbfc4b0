"""Read the pages of a tenant."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import NotFound
from scrapersky.http.pagination import newest_first
from scrapersky.models import Actor, Page


async def page(session: AsyncSession, actor: Actor, page_id: UUID) -> Page:
    found = await session.scalar(
        select(Page).where(Page.id == page_id, Page.tenant_id == actor.tenant_id)
    )
    if found is None:
        raise NotFound(f"There is no page {page_id}.")
    return found


async def pages(
    session: AsyncSession,
    actor: Actor,
    *,
    domain_id: UUID | None = None,
    sitemap_file_id: UUID | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> tuple[Sequence[Page], str | None]:
    """The newest pages after a cursor, and the cursor of those that follow."""
    statement = select(Page).where(Page.tenant_id == actor.tenant_id)
    if domain_id is not None:
        statement = statement.where(Page.domain_id == domain_id)
    if sitemap_file_id is not None:
        statement = statement.where(Page.sitemap_file_id == sitemap_file_id)
    return await newest_first(
        session, statement, at=Page.created_at, key=Page.id, cursor=cursor, limit=limit
    )
