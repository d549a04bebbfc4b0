"""A bakery with pages and contacts."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.leads.build import refresh_leads
from scrapersky.models import Contact, ContactEvidence, Domain, Page, SitemapFile
from scrapersky.scraper.http.urls import url_digest
from tests.stage_cases import OWNED

SITE = "backhaus-berger.de"
CONTACTS, SUPPRESSIONS = "/api/v3/contacts", "/api/v3/suppressions"


def a_domain(name: str = SITE, **more: Any) -> Domain:
    return Domain(id=uuid7(), domain=name, **{**OWNED, "meta_json": {}, **more})


def a_page(domain: Domain, path: str, **more: Any) -> Page:
    url = f"https://{domain.domain}{path}"
    known = {"path_depth": 1, "tenant_id": domain.tenant_id, "created_by": domain.created_by}
    return Page(
        id=uuid7(), domain_id=domain.id, url=url, url_digest=url_digest(url), **{**known, **more}
    )


def a_file(domain: Domain) -> SitemapFile:
    url = f"https://{domain.domain}/sitemap.xml"
    known = {"tenant_id": domain.tenant_id, "created_by": domain.created_by}
    return SitemapFile(
        id=uuid7(),
        domain_id=domain.id,
        url=url,
        url_digest=url_digest(url),
        discovery_method="robots_txt",
        status="ok",
        **known,
    )


def a_contact(domain: Domain, value: str, page: Page | None = None, **more: Any) -> Contact:
    known = {
        "id": uuid7(),
        "kind": "email",
        "raw": value,
        "method": "mailto",
        "confidence": 0.95,
        "same_site": value.endswith(domain.domain),
        "email_type": "CORPORATE" if "@" in value else None,
        "tenant_id": domain.tenant_id,
        "created_by": domain.created_by,
        **more,
    }
    page_id = None if page is None else page.id
    return Contact(domain_id=domain.id, page_id=page_id, value=value, **known)


def a_sighting(contact: Contact, page: Page, **more: Any) -> ContactEvidence:
    known = {"method": "mailto", "raw": contact.raw, "confidence": 0.95, **more}
    return ContactEvidence(
        tenant_id=contact.tenant_id, contact_id=contact.id, page_id=page.id, **known
    )


async def store(session: AsyncSession, *rows: Any) -> None:
    """In this order, for later ones point at earlier ones."""
    for each in rows:
        session.add(each)
        await session.flush()


async def stored(database: Database, *rows: Any) -> None:
    """With the leads that they make."""
    async with database.transaction() as session:
        await store(session, *rows)
        await refresh_leads(session, {each.id for each in rows if isinstance(each, Domain)})


async def bakery(database: Database, name: str = SITE, **more: Any) -> UUID:
    """A site of which nothing is known."""
    domain = a_domain(name, **more)
    await stored(database, domain)
    return domain.id
