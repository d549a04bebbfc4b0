"""Store what a home page said of its site, the page itself, and the links worth following."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.entities.sites import note_site
from scrapersky.harvest.erasure_filter import remove_erased
from scrapersky.harvest.kinds import kinds_of
from scrapersky.harvest.leads import hold_lead, refresh_leads
from scrapersky.harvest.picking import queue_right_pages
from scrapersky.harvest.reading import PageRead
from scrapersky.harvest.storing import store_page
from scrapersky.models import (
    PAGE_WORDS,
    ContactKind,
    Domain,
    Page,
    PageCuration,
    SiteState,
    get_system_user_id,
)
from scrapersky.models.domains import NEVER_DUE, SUBMISSION_WORDS
from scrapersky.models.stage_names import SUBMISSION_STAGE
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.scraper.contact_finder.phones import phone_of, regions_of
from scrapersky.scraper.page_facts import PageLink
from scrapersky.scraper.site_metadata import Organisation, SiteMetadata
from scrapersky.scraper.urls import url_digest

NEVER_SUBMITTED = "pending"
NOTHING_THERE = (SiteState.DEAD, SiteState.PARKED)


async def store_site(
    session: AsyncSession,
    domain: Domain,
    metadata: SiteMetadata,
    *,
    home: PageRead | None,
    links: Sequence[PageLink],
    pages_per_site: int,
) -> None:
    if home is not None:
        home = replace(home, facts=replace(home.facts, links=()))  # those worth it are in `links`
    read: dict[str, Any] = {"metadata": metadata, "home": home, "links": tuple(links)}
    clean = await remove_erased(session, domain.tenant_id, read)
    metadata, home, links = clean["metadata"], clean["home"], clean["links"]
    _note(domain, metadata, home)
    _note_contacts(domain, home)
    await session.flush()
    await note_site(session, domain)
    await hold_lead(session, domain)
    if home is not None:
        await _store_home(session, domain, home)
        await _add_pages(session, domain, {link.url: link.text for link in links})
        if pages_per_site:
            await queue_right_pages(session, domain.id, limit=pages_per_site)
    _queue_sitemaps(session, domain)
    await session.flush()
    await refresh_leads(session, [domain.id])


def _note(domain: Domain, metadata: SiteMetadata, home: PageRead | None) -> None:
    domain.metadata_read_at = func.now()
    domain.site_state, domain.site_state_reason = metadata.state, metadata.reason
    domain.redirects_to = metadata.redirected_to
    domain.base_url = metadata.base_url or domain.base_url
    domain.title, domain.description = metadata.title, metadata.description
    domain.language = metadata.language
    domain.favicon_url, domain.logo_url = metadata.favicon_url, metadata.logo_url
    domain.cms, domain.cms_version = metadata.cms, metadata.cms_version
    domain.is_wordpress = metadata.is_wordpress
    domain.wordpress_version = metadata.wordpress_version
    domain.has_elementor = metadata.has_elementor
    domain.site_builder, domain.shop_system = metadata.site_builder, metadata.shop_system
    domain.tech_stack = [asdict(each) for each in metadata.tech_stack]
    domain.has_contact_form = metadata.has_contact_form
    domain.meta_json = _said(
        {
            "status_code": metadata.status_code,
            "charset": metadata.charset,
            "schema_types": list(metadata.schema_types),
            "organisation": _organisation(metadata),
            "site_name": home.facts.open_graph.site_name if home else None,
        }
    )


def _organisation(metadata: SiteMetadata) -> Mapping[str, Any] | None:
    """As its own page states it, with the address as one line and the number as E.164."""
    organisation = metadata.organisation
    if organisation is None:
        return None
    stated = _said(asdict(organisation))
    parts = _said(asdict(organisation.address)) if organisation.address else {}
    lines = [
        parts.get("street"),
        " ".join(filter(None, (parts.get("postal_code"), parts.get("locality")))),
        parts.get("region"),
        parts.get("country"),
    ]
    return _said(
        {
            **stated,
            "address": parts,
            "type": organisation.types[0] if organisation.types else None,
            "address_text": ", ".join(line for line in lines if line),
            "telephone_e164": _telephone(metadata, organisation),
        }
    )


def _telephone(metadata: SiteMetadata, organisation: Organisation) -> str | None:
    if organisation.telephone is None:
        return None
    country = organisation.address.country if organisation.address else None
    url = metadata.final_url or metadata.url
    regions = regions_of(metadata.language, url, country, None)
    return phone_of(organisation.telephone, regions=regions)


def _said(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what the page says nothing of."""
    return {name: value for name, value in values.items() if value not in (None, "", (), [], {})}


def _note_contacts(domain: Domain, home: PageRead | None) -> None:
    found = home.contacts.contacts if home is not None else ()
    by_kind = {
        kind: [each.value for each in found if each.kind == kind.value] for kind in ContactKind
    }
    domain.email_addresses = by_kind[ContactKind.EMAIL]
    domain.phone_numbers = by_kind[ContactKind.PHONE]
    domain.social_links = by_kind[ContactKind.SOCIAL]


async def _store_home(session: AsyncSession, domain: Domain, home: PageRead) -> None:
    """It was read just now, so it need not be read again as a page."""
    await _add_pages(session, domain, {home.final_url: None})
    page = await session.scalar(
        select(Page)
        .where(Page.domain_id == domain.id, Page.url_digest == url_digest(home.final_url))
        # Whoever holds it reads it right now, and waits for what we hold.
        .with_for_update(skip_locked=True)
    )
    if page is None or page.page_processing_status == PAGE_WORDS.processing:
        return
    await store_page(session, page, home)
    page.page_processing_status, page.page_processing_error = PAGE_WORDS.done, None
    if page.page_curation_status != PageCuration.SKIPPED:
        page.page_curation_status = PageCuration.COMPLETE


async def _add_pages(session: AsyncSession, domain: Domain, urls: Mapping[str, str | None]) -> None:
    """Those that are not known yet."""
    if not urls:
        return
    kinds = await kinds_of(list(urls), auto_queue=False)
    rows = [
        {
            "id": uuid7(),
            "tenant_id": domain.tenant_id,
            "created_by": get_system_user_id(session),
            "domain_id": domain.id,
            "url": url,
            "url_digest": url_digest(url),
            "link_text": link_text,
            **{name: values[place] for name, values in kinds.items()},
        }
        for place, (url, link_text) in enumerate(urls.items())
    ]
    rows.sort(key=lambda row: bytes(row["url_digest"]))
    adding = insert(Page).values(rows)
    await session.execute(
        adding.on_conflict_do_nothing(index_elements=[Page.domain_id, Page.url_digest])
    )


def _queue_sitemaps(session: AsyncSession, domain: Domain) -> None:
    """Unless that was asked for before, or there is nothing to look at."""
    is_wanted = domain.sitemap_analysis_status in (NEVER_SUBMITTED, SUBMISSION_WORDS.failed)
    if not is_wanted or domain.sitemap_curation_status in NEVER_DUE:
        return
    if domain.site_state in NOTHING_THERE:
        domain.next_scan_at = func.now() + domain.scan_interval
        domain.next_scan_why = f"Its home page is {domain.site_state}, so it is looked at later."
        return
    domain.sitemap_analysis_status = SUBMISSION_WORDS.queued
    domain.sitemap_analysis_due_at = func.now()
    domain.sitemap_analysis_attempts, domain.sitemap_analysis_error = 0, None
    wake_after_commit(session, SUBMISSION_STAGE)
