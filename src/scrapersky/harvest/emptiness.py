"""Say why no contact is known of a site."""

from __future__ import annotations

from dataclasses import dataclass

from scrapersky.models import Domain, LocalBusiness, SiteState, WhyEmpty
from scrapersky.models.domains import METADATA_WORDS

BY_STATE = {
    SiteState.DEAD: WhyEmpty.DOES_NOT_ANSWER,
    SiteState.PARKED: WhyEmpty.PARKED,
    SiteState.REDIRECTED: WhyEmpty.REDIRECTED,
    SiteState.BLOCKED: WhyEmpty.BLOCKED,
    SiteState.DISALLOWED: WhyEmpty.ROBOTS,
    SiteState.UNDER_CONSTRUCTION: WhyEmpty.NOTHING_PUBLISHED,
    SiteState.JAVASCRIPT_ONLY: WhyEmpty.NEEDS_JAVASCRIPT,
    SiteState.EMPTY: WhyEmpty.NOTHING_PUBLISHED,
}


@dataclass(frozen=True)
class PagesOfSite:
    """How the pages worth reading stand, counted."""

    under_way: int = 0
    read: int = 0
    with_form: int = 0
    forbidden: int = 0
    by_robots: int = 0


def why_empty(domain: Domain, pages: PagesOfSite) -> tuple[WhyEmpty, str]:
    if domain.status == METADATA_WORDS.failed:
        return WhyEmpty.DOES_NOT_ANSWER, domain.error or "Its home page could not be read."
    if domain.site_state in BY_STATE:
        state = SiteState(domain.site_state)
        return BY_STATE[state], domain.site_state_reason or f"Its home page is {state}."
    if domain.metadata_read_at is None and not pages.read:
        return WhyEmpty.NOT_READ_YET, "Its home page has not been read yet."
    if pages.under_way:
        return WhyEmpty.NOT_READ_YET, f"{pages.under_way} of its pages are still to be read."
    return _of_what_was_read(domain, pages)


def _of_what_was_read(domain: Domain, pages: PagesOfSite) -> tuple[WhyEmpty, str]:
    if domain.has_contact_form or pages.with_form:
        return WhyEmpty.ONLY_A_FORM, "It has a contact form, and no address or number."
    if pages.by_robots and pages.by_robots >= pages.read:
        return WhyEmpty.ROBOTS, "Its robots.txt does not let us read the pages worth reading."
    if pages.forbidden and pages.forbidden >= pages.read:
        return WhyEmpty.BLOCKED, "It refuses us the pages worth reading."
    read = max(pages.read, 1)
    looked = f"{read} page was" if read == 1 else f"{read} pages were"
    return WhyEmpty.NOTHING_PUBLISHED, f"{looked} read, and none has an address or a number."


def why_without_site(business: LocalBusiness) -> tuple[WhyEmpty, str]:
    """Of a business that has no site of its own, or none that anybody told us of."""
    if business.profiles:
        return WhyEmpty.ONLY_SOCIAL, business.website_note or "Only its profiles are known."
    return WhyEmpty.NO_WEBSITE, business.website_note or "Nobody names a website of it."
