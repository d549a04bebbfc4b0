"""Keep out of an event whoever is not to be written to when it is sent, not when it happened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from sqlalchemy import Text, Uuid, column, literal, or_, select, values
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import Skipped
from scrapersky.harvest.suppressing import ways_to_be_suppressed
from scrapersky.models import Contact, ContactKind, WebhookEvent

Data = Mapping[str, Any]
_LISTS = {"other_emails": ContactKind.EMAIL, "other_phones": ContactKind.PHONE}
_SINGLE = {"best_email": ContactKind.EMAIL, "phone": ContactKind.PHONE}


async def without_suppressed(
    session: AsyncSession, tenant_id: UUID, event: str, data: Data
) -> dict[str, Any]:
    """What may be told; `Skipped` where nothing is left to tell."""
    if event == WebhookEvent.CONTACT_CREATED:
        await _refuse_contact(session, tenant_id, data)
    if event == WebhookEvent.LEAD_COMPLETED:
        return await _cleaned_lead(session, tenant_id, data)
    return dict(data)


async def _refuse_contact(session: AsyncSession, tenant_id: UUID, data: Data) -> None:
    """One that is gone may have been erased; its name still stands in the event."""
    there = select(Contact.kind, Contact.value).where(
        Contact.tenant_id == tenant_id, Contact.id == UUID(str(data["id"]))
    )
    contact = (await session.execute(there)).one_or_none()
    if contact is None:
        raise Skipped("The contact is gone by now.")
    kind, value = contact
    told = {(kind, value), (kind, data.get("value"))}
    if await _suppressed(session, tenant_id, told, site=data.get("domain")):
        raise Skipped("The contact is suppressed by now.")


async def _cleaned_lead(session: AsyncSession, tenant_id: UUID, data: Data) -> dict[str, Any]:
    found = set(_told_in(data))
    out = await _suppressed(session, tenant_id, found, site=_host(data.get("website")))
    lists = {
        name: [each for each in data.get(name) or () if (kind, each) not in out]
        for name, kind in _LISTS.items()
    }
    single = {
        name: None if (kind, data.get(name)) in out else data.get(name)
        for name, kind in _SINGLE.items()
    }
    return {**data, **lists, **single}


def _told_in(data: Data) -> Iterator[tuple[str, str]]:
    for name, kind in _LISTS.items():
        yield from ((kind.value, each) for each in data.get(name) or ())
    yield from ((kind.value, data[name]) for name, kind in _SINGLE.items() if data.get(name))


def _host(website: str | None) -> str | None:
    if not website:
        return None
    return urlsplit(website if "://" in website else f"//{website}").hostname


async def _suppressed(
    session: AsyncSession,
    tenant_id: UUID,
    told: Iterable[tuple[str, str | None]],
    *,
    site: str | None,
) -> set[tuple[str, str]]:
    rows = [(kind, value, tenant_id) for kind, value in told if value]
    if not rows:
        return set()
    given = values(
        column("kind", Text), column("value", Text), column("tenant_id", Uuid), name="given"
    ).data(rows)
    ways = ways_to_be_suppressed(given.c, literal(site or "", Text))
    found = await session.execute(select(given.c.kind, given.c.value).where(or_(*ways)))
    return {(kind, value) for kind, value in found}
