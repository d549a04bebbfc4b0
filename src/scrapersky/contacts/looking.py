"""Contacts with what people want to see beside them: page, site, evidence, lineage."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from scrapersky.contacts.schemas import ContactDetail, ContactOut, EvidenceOut, LineageOut
from scrapersky.errors import NotFound
from scrapersky.harvest.suppressing import is_suppressed
from scrapersky.models import Actor, Contact, ContactEvidence, Domain, Page, SitemapFile

MAX_EVIDENCE = 200


async def contact_of(session: AsyncSession, actor: Actor, contact_id: UUID) -> Contact:
    found = await session.scalar(
        select(Contact).where(Contact.id == contact_id, Contact.tenant_id == actor.tenant_id)
    )
    if found is None:
        raise NotFound(f"There is no contact {contact_id}.")
    return found


async def shown(session: AsyncSession, contacts: Sequence[Contact]) -> list[ContactOut]:
    """With three statements, however many there are."""
    sites = await _texts(session, Domain.id, Domain.domain, {each.domain_id for each in contacts})
    pages = await _texts(session, Page.id, Page.url, {each.page_id for each in contacts})
    ids = [each.id for each in contacts]
    hushed = set(
        await session.scalars(select(Contact.id).where(Contact.id.in_(ids), is_suppressed(Contact)))
    )
    return [
        ContactOut.model_validate(
            {
                **_columns(each),
                "domain": sites[each.domain_id],
                "page_url": pages.get(each.page_id),
                "suppressed": each.id in hushed,
            }
        )
        for each in contacts
    ]


def _columns(contact: Contact) -> dict[str, Any]:
    return {column.key: getattr(contact, column.key) for column in Contact.__table__.columns}


async def _texts(
    session: AsyncSession,
    key: InstrumentedAttribute[UUID],
    text: InstrumentedAttribute[str],
    wanted: Collection[UUID | None],
) -> dict[UUID | None, str]:
    ids = [each for each in wanted if each is not None]
    found = await session.execute(select(key, text).where(key.in_(ids)))
    return dict(found.all())


async def detail(session: AsyncSession, contact: Contact) -> ContactDetail:
    [seen] = await shown(session, [contact])
    return ContactDetail(
        **seen.model_dump(),
        evidence=await _evidence(session, contact),
        lineage=await _lineage(session, seen),
    )


async def _evidence(session: AsyncSession, contact: Contact) -> list[EvidenceOut]:
    found = await session.execute(
        select(ContactEvidence, Page.url)
        .join(Page, Page.id == ContactEvidence.page_id)
        .where(ContactEvidence.contact_id == contact.id)
        .order_by(ContactEvidence.confidence.desc(), ContactEvidence.id)
        .limit(MAX_EVIDENCE)
    )
    return [
        EvidenceOut(
            page_id=each.page_id,
            page_url=url,
            method=each.method,
            raw=each.raw,
            snippet=each.snippet,
            confidence=each.confidence,
            first_seen_at=each.first_seen_at,
            last_seen_at=each.last_seen_at,
        )
        for each, url in found
    ]


async def _lineage(session: AsyncSession, seen: ContactOut) -> LineageOut:
    found = await session.execute(
        select(SitemapFile.id, SitemapFile.url)
        .join(Page, Page.sitemap_file_id == SitemapFile.id)
        .where(Page.id == seen.page_id)
    )
    file_id, file_url = found.one_or_none() or (None, None)
    return LineageOut(
        page_id=seen.page_id,
        page_url=seen.page_url,
        sitemap_file_id=file_id,
        sitemap_url=file_url,
        domain_id=seen.domain_id,
        domain=seen.domain,
    )
