"""Site metadata: state, technologies, organisation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scrapersky.scraper.http.urls import get_origin


class SiteState(StrEnum):
    """The state of a site, judged by the response to its home page."""

    OK = "ok"
    PARKED = "parked"
    """The domain is for sale or shows a page of its registrar."""
    REDIRECTED = "redirected"
    """It redirects to another site."""
    BLOCKED = "blocked"
    """It rejects automated requests."""
    DISALLOWED = "disallowed"
    """Its robots.txt disallows the home page, which was therefore not fetched."""
    JAVASCRIPT_ONLY = "javascript_only"
    """It has no content without running its scripts."""
    UNDER_CONSTRUCTION = "under_construction"
    EMPTY = "empty"
    """It has no content, or only the server's default page."""
    DEAD = "dead"
    """The domain or the home page does not exist, or never answers."""


@dataclass(frozen=True)
class Technology:
    """A technology that the site uses."""

    name: str
    category: str
    version: str | None = None
    evidence: str = ""
    """The marker that revealed it."""


@dataclass(frozen=True)
class SiteAddress:
    """A postal address as the page states it."""

    street: str | None = None
    postal_code: str | None = None
    locality: str | None = None
    region: str | None = None
    country: str | None = None


@dataclass(frozen=True)
class Organisation:
    """The owner of the site, according to its structured data."""

    types: tuple[str, ...] = ()
    name: str | None = None
    legal_name: str | None = None
    address: SiteAddress | None = None
    telephone: str | None = None
    email: str | None = None
    opening_hours: tuple[str, ...] = ()
    latitude: float | None = None
    longitude: float | None = None
    same_as: tuple[str, ...] = ()
    url: str | None = None
    logo: str | None = None


@dataclass(frozen=True)
class SiteMetadata:
    """The metadata of a site, read from its home page; None where the page does not state it.

    If the page does not belong to the site (parked, blocked, empty, dead), only the state, its
    reason and what the headers reveal are set: the title of such a page is not the site's title.
    """

    url: str
    """The requested domain or URL."""
    state: SiteState
    reason: str
    """Why the site has this state, as a sentence for users."""
    final_url: str | None = None
    """URL of the page after redirects; None if nothing answered."""
    status_code: int | None = None
    redirected_to: str | None = None
    """URL on another site that it redirects to."""
    blocked_by: str | None = None
    """The service that blocks automated requests, if it can be identified."""
    title: str | None = None
    description: str | None = None
    language: str | None = None
    favicon_url: str | None = None
    logo_url: str | None = None
    cms: str | None = None
    """The content management system, else the site builder or shop system."""
    cms_version: str | None = None
    wordpress_version: str | None = None
    elementor_version: str | None = None
    site_builder: str | None = None
    shop_system: str | None = None
    tech_stack: tuple[Technology, ...] = ()
    organisation: Organisation | None = None
    schema_types: tuple[str, ...] = ()
    has_contact_form: bool = False
    charset: str | None = None

    @property
    def base_url(self) -> str | None:
        """Scheme and host that answered."""
        return get_origin(self.final_url) if self.final_url else None

    @property
    def is_wordpress(self) -> bool:
        return self._uses("WordPress")

    @property
    def has_elementor(self) -> bool:
        return self._uses("Elementor")

    def _uses(self, name: str) -> bool:
        return any(each.name == name for each in self.tech_stack)
