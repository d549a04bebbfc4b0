"""Site metadata as values: state, technologies, organisation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scrapersky.scraper.http.urls import get_origin


class SiteState(StrEnum):
    """What answered when the home page was asked for."""

    OK = "ok"
    PARKED = "parked"
    """The name is for sale, or its registrar shows a page of its own."""
    REDIRECTED = "redirected"
    """It leads to another site."""
    BLOCKED = "blocked"
    """It does not let programs in."""
    DISALLOWED = "disallowed"
    """Its robots.txt forbids reading the home page, so it was not read."""
    JAVASCRIPT_ONLY = "javascript_only"
    """There is nothing to read without running its scripts."""
    UNDER_CONSTRUCTION = "under_construction"
    EMPTY = "empty"
    """Nothing on it, or only the server's own page."""
    DEAD = "dead"
    """The name or the home page does not exist, or never answers."""


@dataclass(frozen=True)
class Technology:
    """Something that the site is made with."""

    name: str
    category: str
    version: str | None = None
    evidence: str = ""
    """What gave it away."""


@dataclass(frozen=True)
class SiteAddress:
    """The parts of a postal address, as the page states them."""

    street: str | None = None
    postal_code: str | None = None
    locality: str | None = None
    region: str | None = None
    country: str | None = None


@dataclass(frozen=True)
class Organisation:
    """Whose site it is, in the words of its own structured data."""

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
    """What the home page says of its site; None where it says nothing.

    Where the page is not the site's own (parked, blocked, empty, dead) only the state, its reason
    and what the headers give away are filled in: a title of such a page is not the site's title.
    """

    url: str
    """What was asked for."""
    state: SiteState
    reason: str
    """A sentence for people."""
    final_url: str | None = None
    """Where the page came from; None when nothing answered."""
    status_code: int | None = None
    redirected_to: str | None = None
    """The address on another site that it leads to."""
    blocked_by: str | None = None
    """Whose check keeps programs out, where that can be told."""
    title: str | None = None
    description: str | None = None
    language: str | None = None
    favicon_url: str | None = None
    logo_url: str | None = None
    cms: str | None = None
    """What its pages are made with: a content management system, else a builder or shop system."""
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
        """Scheme and host that really answered."""
        return get_origin(self.final_url) if self.final_url else None

    @property
    def is_wordpress(self) -> bool:
        return self._uses("WordPress")

    @property
    def has_elementor(self) -> bool:
        return self._uses("Elementor")

    def _uses(self, name: str) -> bool:
        return any(each.name == name for each in self.tech_stack)
