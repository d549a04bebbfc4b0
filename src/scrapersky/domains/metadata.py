"""Stage: read a site's home page and store its metadata, contacts and promising links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.businesses.resolution import resolve_site
from scrapersky.contacts.erasure_filter import remove_erased
from scrapersky.contacts.page_parser import ParsedPage, read_home_page
from scrapersky.contacts.store import store_page
from scrapersky.db.base import uuid7
from scrapersky.errors import InvalidInput, Rejected, RetryLater
from scrapersky.leads.build import lock_lead, refresh_leads
from scrapersky.models import (
    PAGE_STATUSES,
    ContactKind,
    Domain,
    Page,
    PageCuration,
    get_system_user_id,
)
from scrapersky.models.domains import METADATA_STATUSES, SUBMISSION_STATUSES, UNSCHEDULED_CURATIONS
from scrapersky.models.stage_names import METADATA_STAGE, PAGE_STAGE, SUBMISSION_STAGE
from scrapersky.pages.classification import classify_urls
from scrapersky.pages.selection import queue_best_pages
from scrapersky.pipeline.stage import Stage, Tools
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.scraper.contacts.phone_numbers import parse_phone
from scrapersky.scraper.contacts.phone_regions import guess_regions
from scrapersky.scraper.html.model import PageLink
from scrapersky.scraper.http.addresses import AddressRules
from scrapersky.scraper.http.fetch_errors import HostClosed
from scrapersky.scraper.http.urls import Site, normalise_site, url_digest
from scrapersky.scraper.pages.classification import classify, is_worth_reading
from scrapersky.scraper.site.metadata import SiteVisit, visit_site
from scrapersky.scraper.site.model import Organisation, SiteMetadata, SiteState
from scrapersky.settings import Pace, Settings

NEVER_SUBMITTED = "pending"
UNSCANNABLE_STATES = (SiteState.DEAD, SiteState.PARKED)


async def store_site(
    session: AsyncSession,
    domain: Domain,
    metadata: SiteMetadata,
    *,
    home: ParsedPage | None,
    links: Sequence[PageLink],
    pages_per_site: int,
) -> None:
    if home is not None:
        home = replace(
            home, facts=replace(home.facts, links=())
        )  # the promising ones are in `links`
    read: dict[str, Any] = {"metadata": metadata, "home": home, "links": tuple(links)}
    clean = await remove_erased(session, domain.tenant_id, read)
    metadata, home, links = clean["metadata"], clean["home"], clean["links"]
    _write_metadata(domain, metadata, home)
    _write_contacts(domain, home)
    await session.flush()
    await resolve_site(session, domain)
    await lock_lead(session, domain)
    if home is not None:
        await _store_home(session, domain, home)
        await _add_pages(session, domain, {link.url: link.text for link in links})
        if pages_per_site:
            await queue_best_pages(session, domain.id, limit=pages_per_site)
    _queue_sitemaps(session, domain)
    await session.flush()
    await refresh_leads(session, [domain.id])


def _write_metadata(domain: Domain, metadata: SiteMetadata, home: ParsedPage | None) -> None:
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
    domain.meta_json = _drop_empty(
        {
            "status_code": metadata.status_code,
            "charset": metadata.charset,
            "schema_types": list(metadata.schema_types),
            "organisation": _build_organisation(metadata),
            "site_name": home.facts.open_graph.site_name if home else None,
        }
    )


def _build_organisation(metadata: SiteMetadata) -> Mapping[str, Any] | None:
    """Return the organisation as its page states it, plus a one-line address and the number as
    E.164.
    """
    organisation = metadata.organisation
    if organisation is None:
        return None
    stated = _drop_empty(asdict(organisation))
    parts = _drop_empty(asdict(organisation.address)) if organisation.address else {}
    lines = [
        parts.get("street"),
        " ".join(filter(None, (parts.get("postal_code"), parts.get("locality")))),
        parts.get("region"),
        parts.get("country"),
    ]
    return _drop_empty(
        {
            **stated,
            "address": parts,
            "type": organisation.types[0] if organisation.types else None,
            "address_text": ", ".join(line for line in lines if line),
            "telephone_e164": _parse_telephone(metadata, organisation),
        }
    )


def _parse_telephone(metadata: SiteMetadata, organisation: Organisation) -> str | None:
    if organisation.telephone is None:
        return None
    country = organisation.address.country if organisation.address else None
    url = metadata.final_url or metadata.url
    regions = guess_regions(metadata.language, url, country, None)
    return parse_phone(organisation.telephone, regions=regions)


def _drop_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "", (), [], {})}


def _write_contacts(domain: Domain, home: ParsedPage | None) -> None:
    contacts = home.contacts.contacts if home is not None else ()
    by_kind = {
        kind: [each.value for each in contacts if each.kind == kind.value] for kind in ContactKind
    }
    domain.email_addresses = by_kind[ContactKind.EMAIL]
    domain.phone_numbers = by_kind[ContactKind.PHONE]
    domain.social_links = by_kind[ContactKind.SOCIAL]


async def _store_home(session: AsyncSession, domain: Domain, home: ParsedPage) -> None:
    """Store the home page as a page that was read, so that it is not fetched twice."""
    await _add_pages(session, domain, {home.final_url: None})
    page = await session.scalar(
        select(Page)
        .where(Page.domain_id == domain.id, Page.url_digest == url_digest(home.final_url))
        # A lock holder is processing this page and may wait for rows that we hold: skip, never
        # wait.
        .with_for_update(skip_locked=True)
    )
    if page is None or page.page_processing_status == PAGE_STATUSES.processing:
        return
    await store_page(session, page, home)
    page.page_processing_status, page.page_processing_error = PAGE_STATUSES.done, None
    if page.page_curation_status != PageCuration.SKIPPED:
        page.page_curation_status = PageCuration.COMPLETE


async def _add_pages(session: AsyncSession, domain: Domain, urls: Mapping[str, str | None]) -> None:
    """Insert pages and ignore URLs that are already stored."""
    if not urls:
        return
    kinds = await classify_urls(list(urls), auto_queue=False)
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
    statement = insert(Page).values(rows)
    await session.execute(
        statement.on_conflict_do_nothing(index_elements=[Page.domain_id, Page.url_digest])
    )


def _queue_sitemaps(session: AsyncSession, domain: Domain) -> None:
    """Queue the sitemap submission, unless one was requested or the site is not scannable."""
    is_wanted = domain.sitemap_analysis_status in (NEVER_SUBMITTED, SUBMISSION_STATUSES.failed)
    if not is_wanted or domain.sitemap_curation_status in UNSCHEDULED_CURATIONS:
        return
    if domain.site_state in UNSCANNABLE_STATES:
        domain.next_scan_at = func.now() + domain.scan_interval
        domain.next_scan_why = f"Postponed because the home page is {domain.site_state}."
        return
    domain.sitemap_analysis_status = SUBMISSION_STATUSES.queued
    domain.sitemap_analysis_due_at = func.now()
    domain.sitemap_analysis_attempts, domain.sitemap_analysis_error = 0, None
    wake_after_commit(session, SUBMISSION_STAGE)


MAX_LINKS = 50
"""Maximum number of links from the home page that are stored as pages."""


@dataclass(frozen=True)
class HomePageResult:
    """The result of fetching and parsing a home page."""

    metadata: SiteMetadata
    home: ParsedPage | None
    """None when the site redirects elsewhere, is parked or returned no page."""
    links: tuple[PageLink, ...]
    pages_per_site: int
    """How many pages are queued automatically; 0 leaves the selection to people."""


def read(domain: Domain) -> str:
    return domain.domain


async def work(name: str, tools: Tools) -> HomePageResult:
    settings = tools.settings
    try:
        visit = await visit_site(
            _parse_site(name, settings),
            fetch=tools.fetch,
            max_retries=0,  # the queue retries
            user_agent=settings.fetch_user_agent,
            read=partial(
                read_home_page,
                decode_obfuscated=settings.decode_obfuscated,
                parser=tools.parser,
            ),
        )
    except HostClosed as error:
        if not error.requested_by_host:
            raise
        raise RetryLater(str(error), after=timedelta(seconds=max(error.seconds_left, 1))) from error
    return HomePageResult(
        visit.metadata,
        home=_build_home_page(visit),
        links=_select_links(visit),
        pages_per_site=settings.pages_per_site if settings.auto_queue_pages else 0,
    )


def _parse_site(name: str, settings: Settings) -> Site:
    try:
        return normalise_site(name, AddressRules.from_settings(settings))
    except InvalidInput as error:
        raise Rejected(str(error)) from error


def _build_home_page(visit: SiteVisit) -> ParsedPage | None:
    page, facts, contacts = visit.page, visit.facts, visit.contacts
    if page is None or facts is None or contacts is None:
        return None
    return ParsedPage(page.url, page.final_url, page.status, facts, contacts, page.truncated)


def _select_links(visit: SiteVisit) -> tuple[PageLink, ...]:
    """Return the site's own links that are worth reading, most promising first."""
    if visit.facts is None or visit.metadata.state is not SiteState.OK:
        return ()
    candidates = [
        (classify(link.url, link_text=link.text, language=visit.facts.language), link)
        for link in visit.facts.links
        if link.same_site
    ]
    worth = [(kind.priority, link) for kind, link in candidates if is_worth_reading(kind)]
    return tuple(_take_best(worth))


def _take_best(worth: Sequence[tuple[int, PageLink]]) -> list[PageLink]:
    return [link for _, link in sorted(worth, key=lambda each: each[0])][:MAX_LINKS]


async def store(session: AsyncSession, domain: Domain, result: HomePageResult) -> None:
    await store_site(
        session,
        domain,
        result.metadata,
        home=result.home,
        links=result.links,
        pages_per_site=result.pages_per_site,
    )


async def store_failure(session: AsyncSession, domain: Domain, sentence: str) -> None:
    """Mark the site as dead and keep its other metadata."""
    domain.site_state, domain.site_state_reason = SiteState.DEAD, sentence


STAGE = Stage(
    name=METADATA_STAGE,
    does="Read a site's home page and store its technology, organisation and state.",
    model=Domain,
    status="status",
    words=METADATA_STATUSES,
    prefix="DOMAIN_SCHEDULER",
    pace=Pace(batch_size=50, max_instances=3, concurrency=16, timeout_seconds=60),
    feeds=(SUBMISSION_STAGE, PAGE_STAGE),
    read=read,
    work=work,
    store=store,
    stores_separately=True,
    gave_up=store_failure,
)
