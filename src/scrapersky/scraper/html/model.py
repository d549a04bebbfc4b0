"""Page facts as values: forms, links, robots directives, Open Graph."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FormKind(StrEnum):
    """What a form is for, as far as its fields and names tell."""

    CONTACT = "contact"
    SEARCH = "search"
    LOGIN = "login"
    NEWSLETTER = "newsletter"
    CHECKOUT = "checkout"
    COMMENT = "comment"
    OTHER = "other"


@dataclass(frozen=True)
class PageForm:
    """One form."""

    kind: FormKind
    action: str | None
    """Where it is sent; None when that is the page itself or no web address."""


@dataclass(frozen=True)
class PageLink:
    """One link to a web address."""

    url: str
    text: str
    """What a person reads, or the alternative text of what a person sees."""
    rel: tuple[str, ...] = ()
    in_nav: bool = False
    """It stands in the page's navigation or header."""
    in_footer: bool = False
    same_site: bool = False
    """It leads to the page's own host or one below it."""


@dataclass(frozen=True)
class RobotsMeta:
    """What the page asks of search engines."""

    directives: tuple[str, ...] = ()
    """As written, in lower case: from `meta` and from the X-Robots-Tag header."""

    @property
    def noindex(self) -> bool:
        return "noindex" in self.directives or "none" in self.directives

    @property
    def nofollow(self) -> bool:
        return "nofollow" in self.directives or "none" in self.directives


@dataclass(frozen=True)
class OpenGraph:
    """How the page wants to be shown where it is shared."""

    title: str | None = None
    description: str | None = None
    site_name: str | None = None
    type: str | None = None
    url: str | None = None
    image: str | None = None
    locale: str | None = None


@dataclass(frozen=True)
class PageFacts:
    """Only what the page states; None and empty mean that it does not."""

    url: str
    title: str | None = None
    h1: str | None = None
    description: str | None = None
    canonical: str | None = None
    robots: RobotsMeta = RobotsMeta()
    language: str | None = None
    """`de` or `de-AT`."""
    schema_types: tuple[str, ...] = ()
    """Without the vocabulary's address: `Bakery`, `WebSite`."""
    forms: tuple[PageForm, ...] = ()
    word_count: int = 0
    """Of the text that a person sees."""
    links: tuple[PageLink, ...] = ()
    """Each target once, in the page's order."""
    links_cut: bool = False
    """There are more links than are listed."""
    open_graph: OpenGraph = OpenGraph()
    refresh_url: str | None = None
    """Where the page sends its visitors by itself, within seconds."""
    charset: str = "utf-8"
    lossy: bool = False
    """Characters are missing: some bytes meant nothing in that charset."""
    cut: str | None = None
    """Why the end of the page was not read, or None when it was."""

    @property
    def form_count(self) -> int:
        return len(self.forms)

    @property
    def has_contact_form(self) -> bool:
        return any(form.kind is FormKind.CONTACT for form in self.forms)
