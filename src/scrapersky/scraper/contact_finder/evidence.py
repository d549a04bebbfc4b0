"""Turn the best sighting of a contact into the contact, with what a person needs to judge it."""

from __future__ import annotations

from scrapersky.scraper.contact_finder.emails import is_example_domain, is_role_address, is_within
from scrapersky.scraper.contact_finder.found import (
    CONFIDENCE,
    MAX_SNIPPET_CHARACTERS,
    OWN_DOMAIN_BONUS,
    PLACEHOLDER_DOMAIN_CONFIDENCE,
    FoundContact,
    Kind,
    Sighting,
    storable,
)
from scrapersky.scraper.contact_finder.page import Page, snippet_of


def contact_of(sighting: Sighting, page: Page) -> FoundContact:
    is_email = sighting.kind is Kind.EMAIL
    domain = sighting.value.rpartition("@")[2] if is_email else ""
    same_site = (page.site is not None and is_within(domain, page.site)) if is_email else None
    return FoundContact(
        kind=sighting.kind,
        value=sighting.value,
        raw=storable(sighting.raw),
        method=sighting.method,
        snippet=storable(_snippet_of(sighting, page)),
        confidence=_confidence_of(sighting, domain, same_site=bool(same_site)),
        name=storable(sighting.name or "") or None,
        role=storable(sighting.role or "") or None,
        is_role_address=is_email and is_role_address(sighting.value),
        same_site=same_site,
    )


def _snippet_of(sighting: Sighting, page: Page) -> str:
    if sighting.said:
        return sighting.said[:MAX_SNIPPET_CHARACTERS]
    if sighting.span is not None:
        return snippet_of(page.text, *sighting.span)
    return page.around(sighting.place) if sighting.place is not None else ""


def _confidence_of(sighting: Sighting, domain: str, *, same_site: bool) -> float:
    if domain and is_example_domain(domain) and not same_site:
        return PLACEHOLDER_DOMAIN_CONFIDENCE
    bonus = OWN_DOMAIN_BONUS if same_site else 0.0
    return round(CONFIDENCE[sighting.method] + bonus, 2)
