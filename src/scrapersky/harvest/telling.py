"""Tell receivers of contacts that are new."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.harvest.suppressing import is_suppressed
from scrapersky.models import Contact, Domain, Page, WebhookEvent
from scrapersky.models.announced import contact_data
from scrapersky.models.announcing import announce_many, is_heard

CREATED = WebhookEvent.CONTACT_CREATED


async def tell_of_contacts(
    session: AsyncSession, tenant_id: UUID, contact_ids: Collection[UUID]
) -> None:
    """But for those that nobody is to write to."""
    if not contact_ids or not await is_heard(session, tenant_id, CREATED):
        return
    found = await session.execute(
        select(Contact, Domain.domain, Page.url)
        .join(Domain, Domain.id == Contact.domain_id)
        .outerjoin(Page, Page.id == Contact.page_id)
        .where(Contact.id.in_(contact_ids), ~is_suppressed())
        .order_by(Contact.id)
    )
    await announce_many(
        session,
        [
            (tenant_id, CREATED, each.id, contact_data(each, domain=domain, page_url=page_url))
            for each, domain, page_url in found
        ],
    )
