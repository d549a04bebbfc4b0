"""What the text in a website field turned out to be."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class WebsiteKind(StrEnum):
    """What the website that a business names really is."""

    OWN = "own"
    PROFILE = "profile"
    DIRECTORY = "directory"
    MARKETPLACE = "marketplace"
    SITE_BUILDER = "site_builder"
    """A page on a builder's shared host, of which only that page is the business's."""
    UNUSABLE = "unusable"
    """A phone number, an e-mail address, a text."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Website:
    """`reason` is a sentence for people; nothing where there is nothing to explain."""

    kind: WebsiteKind
    url: str | None = None
    """Where it is, without wrappers and tracking; nothing where there is no address in it."""
    site_key: str | None = None
    """Of a site of its own: its name in our one spelling, the one of `domains`."""
    profile: str | None = None
    """The first of `profiles`."""
    profiles: tuple[str, ...] = ()
    """All that the field named, beside a site of its own as well."""
    reason: str | None = None
    suggested: str | None = None
    """A domain that may be the site, such as that of an e-mail address; nobody said that it is."""
    email: str | None = None
    """An address that stood in the field."""
    phone: str | None = None
    """A number that stood there instead of a website, as it is written."""
    ask: str | None = None
    """A short link: only whoever made it knows where it leads, so that has to be asked."""
