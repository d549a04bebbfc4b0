"""Read the pages of a tenant."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import NotFound
from scrapersky.models import Actor, Page


async def page(session: AsyncSession, actor: Actor, page_id: UUID) -> Page:
    found = await session.scalar(
        select(Page).where(Page.id == page_id, Page.tenant_id == actor.tenant_id)
    )
    if found is None:
        raise NotFound(f"There is no page {page_id}.")
    return found
