"""From the answer to the question for a home page to what is known of the site."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from scrapersky.scraper.contact_finder.found import ContactsFound
from scrapersky.scraper.page_facts.document import Document, open_document
from scrapersky.scraper.page_facts.model import PageFacts
from scrapersky.scraper.page_facts.reading import facts_of
from scrapersky.scraper.page_facts.schema import json_ld_of
from scrapersky.scraper.responses import Response
from scrapersky.scraper.site_metadata.evidence import Evidence, gather
from scrapersky.scraper.site_metadata.fingerprints import technologies
from scrapersky.scraper.site_metadata.forwarding import Forwarding, forwarding_of
from scrapersky.scraper.site_metadata.matching import find_technologies
from scrapersky.scraper.site_metadata.model import SiteMetadata, SiteState, Technology
from scrapersky.scraper.site_metadata.organisation import organisation_of
from scrapersky.scraper.site_metadata.pictures import favicon_of, logo_of
from scrapersky.scraper.site_metadata.states import judge

OWN_PAGE = frozenset(
    {
        SiteState.OK,
        SiteState.REDIRECTED,
        SiteState.JAVASCRIPT_ONLY,
        SiteState.UNDER_CONSTRUCTION,
    }
)
"""The page is the site's, so what it says is said of the site."""


@dataclass(frozen=True)
class SiteVisit:
    """What is known of the site, and the page it is known from, for who wants to read on."""

    metadata: SiteMetadata
    page: Response | None = None
    """None when nothing answered, or nothing might be asked."""
    document: Document | None = None
    """The page, decoded and parsed, if it was read in this process."""
    facts: PageFacts | None = None
    forwarding: Forwarding | None = None
    """Where the page sends its visitors."""
    contacts: ContactsFound | None = None
    """None when they were not looked for."""

    @property
    def is_own_page(self) -> bool:
        return self.page is not None and self.metadata.state in OWN_PAGE


def read_site(page: Response, *, asked: str | None = None) -> SiteMetadata:
    """What a home page, already fetched, says of its site; `asked` is the name or URL it is for."""
    return look_at(page, asked=asked).metadata


def look_at(page: Response, *, asked: str | None = None) -> SiteVisit:
    asked = asked or page.url
    document = open_document(page)
    facts = facts_of(document)
    evidence = gather(page.headers, page.final_url, document)
    verdict = judge(page, document, facts, evidence, asked=asked)
    metadata = SiteMetadata(
        url=asked,
        state=verdict.state,
        reason=verdict.reason,
        final_url=page.final_url,
        status_code=page.status,
        redirected_to=verdict.redirected_to,
        blocked_by=verdict.blocked_by,
    )
    if verdict.state in OWN_PAGE:
        metadata = _with_page(metadata, document, facts)
    else:
        evidence = gather(page.headers, page.final_url)
    return SiteVisit(
        _with_technologies(metadata, evidence),
        page,
        document,
        facts,
        forwarding=forwarding_of(document, facts),
    )


def _with_page(metadata: SiteMetadata, document: Document, facts: PageFacts) -> SiteMetadata:
    organisation = organisation_of(document, json_ld_of(document))
    return replace(
        metadata,
        title=facts.title,
        description=facts.description,
        language=facts.language,
        favicon_url=favicon_of(document),
        logo_url=logo_of(document, facts, organisation),
        organisation=organisation,
        schema_types=facts.schema_types,
        has_contact_form=facts.has_contact_form,
        charset=facts.charset,
    )


def _with_technologies(metadata: SiteMetadata, evidence: Evidence) -> SiteMetadata:
    found = find_technologies(evidence)
    builder, shop = _system(found, "builder"), _system(found, "shop")
    cms = _system(found, "cms") or builder or shop
    return replace(
        metadata,
        cms=cms.name if cms else None,
        cms_version=cms.version if cms else None,
        wordpress_version=_version(found, "WordPress"),
        elementor_version=_version(found, "Elementor"),
        site_builder=builder.name if builder else None,
        shop_system=shop.name if shop else None,
        tech_stack=found,
    )


@cache
def _categories() -> dict[str, tuple[str, str | None]]:
    return {each.name: (each.category, each.also) for each in technologies()}


def _system(found: Iterable[Technology], category: str) -> Technology | None:
    """The one of its kind that runs the site: the one that says so itself, else the first."""
    of_kind: Iterator[Technology] = (each for each in found if category in _categories()[each.name])
    surest_first = sorted(of_kind, key=lambda each: not each.evidence.startswith("generator"))
    return next(iter(surest_first), None)


def _version(found: Iterable[Technology], name: str) -> str | None:
    return next((each.version for each in found if each.name == name), None)
