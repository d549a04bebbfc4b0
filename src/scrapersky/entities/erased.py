"""A person who was erased is not collected again, whoever tells of them."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.entities.describing import Facts
from scrapersky.harvest.suppressing import erased_among


async def without_erased(session: AsyncSession, tenant_id: UUID, facts: Facts) -> Facts:
    emails, phone = facts.get("emails", []), facts.get("phone")
    values = [*emails, *([phone] if phone else [])]
    erased = await erased_among(session, tenant_id, values) if values else set()
    if not erased:
        return facts
    kept = {**facts, "emails": [each for each in emails if each not in erased]}
    if phone in erased:
        kept.pop("phone")
        kept.pop("phone_raw", None)
    return kept
