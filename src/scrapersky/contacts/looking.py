"""Contacts with what people want to see beside them: page, site, evidence, lineage."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from scrapersky.contacts.schemas import (
    ContactDetail,
    ContactLineage,
    ContactOut,
    ContactStep,
    EvidenceOut,
    FileStep,
    LineageOut,
    PageStep,
)
from scrapersky.errors import NotFound
from scrapersky.harvest.lineage import API, origin_of
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
    origin = await origin_of(session, domain_id=seen.domain_id)
    business = next(iter(origin.businesses), None)
    search = next(iter(origin.searches), None)
    place_id = search.places[0] if search else next((each.id for each in origin.places), None)
    return LineageOut(
        page_id=seen.page_id,
        page_url=seen.page_url,
        sitemap_file_id=file_id,
        sitemap_url=file_url,
        domain_id=seen.domain_id,
        domain=seen.domain,
        business_id=business.id if business else None,
        business_name=business.name if business else None,
        place_id=place_id,
        search_id=search.id if search else None,
        search=search.subject if search else None,
    )


async def lineage(session: AsyncSession, contact: Contact) -> ContactLineage:
    """Every step, with five statements."""
    pages, files = await _seen_on(session, contact)
    origin = await origin_of(session, domain_id=contact.domain_id)
    link = f"{API}/contacts/{contact.id}"
    return ContactLineage(
        contact=ContactStep(id=contact.id, link=link, kind=contact.kind, value=contact.value),
        pages=pages,
        sitemap_files=files,
        **dict(origin),
    )


async def _seen_on(
    session: AsyncSession, contact: Contact
) -> tuple[list[PageStep], list[FileStep]]:
    found = await session.execute(
        select(ContactEvidence.method, Page, SitemapFile)
        .join(Page, Page.id == ContactEvidence.page_id)
        .outerjoin(SitemapFile, SitemapFile.id == Page.sitemap_file_id)
        .where(ContactEvidence.contact_id == contact.id)
        .order_by(ContactEvidence.confidence.desc(), ContactEvidence.id)
        .limit(MAX_EVIDENCE)
    )
    pages: dict[UUID, PageStep] = {}
    files: dict[UUID, FileStep] = {}
    for method, page, file in found:
        pages.setdefault(page.id, _page_step(page)).methods.append(method)
        if file is not None:
            files.setdefault(file.id, _file_step(file))
    return list(pages.values()), list(files.values())


def _page_step(page: Page) -> PageStep:
    return PageStep(
        id=page.id,
        link=f"{API}/pages/{page.id}",
        url=page.url,
        page_type=page.page_type,
        sitemap_file_id=page.sitemap_file_id,
        methods=[],
    )


def _file_step(file: SitemapFile) -> FileStep:
    link = f"{API}/sitemap-files/{file.id}"
    return FileStep(id=file.id, link=link, url=file.url, discovery_method=file.discovery_method)
