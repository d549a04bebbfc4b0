"""Page facts: forms, links, robots directives, Open Graph."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FormKind(StrEnum):
    """The purpose of a form, judged by its fields and names."""

    CONTACT = "contact"
    SEARCH = "search"
    LOGIN = "login"
    NEWSLETTER = "newsletter"
    CHECKOUT = "checkout"
    COMMENT = "comment"
    OTHER = "other"


@dataclass(frozen=True)
class PageForm:
    kind: FormKind
    action: str | None
    """The submit URL; None for the page itself or a non-HTTP scheme."""


@dataclass(frozen=True)
class PageLink:
    """A link to an HTTP URL."""

    url: str
    text: str
    """The link text, or the alternative text of its image."""
    rel: tuple[str, ...] = ()
    in_nav: bool = False
    """Whether the link is in the page's navigation or header."""
    in_footer: bool = False
    same_site: bool = False
    """Whether the target is the page's host or a subdomain of it."""


@dataclass(frozen=True)
class RobotsMeta:
    """The page's directives for search engines."""

    directives: tuple[str, ...] = ()
    """Directives in lower case, from `meta` and the X-Robots-Tag header."""

    @property
    def noindex(self) -> bool:
        return "noindex" in self.directives or "none" in self.directives

    @property
    def nofollow(self) -> bool:
        return "nofollow" in self.directives or "none" in self.directives


@dataclass(frozen=True)
class OpenGraph:
    """The page's Open Graph properties, used when it is shared."""

    title: str | None = None
    description: str | None = None
    site_name: str | None = None
    type: str | None = None
    url: str | None = None
    image: str | None = None
    locale: str | None = None


@dataclass(frozen=True)
class PageFacts:
    """The facts a page states; None or empty if it does not state them."""

    url: str
    title: str | None = None
    h1: str | None = None
    description: str | None = None
    canonical: str | None = None
    robots: RobotsMeta = RobotsMeta()
    language: str | None = None
    """Language with optional region: `de` or `de-AT`."""
    schema_types: tuple[str, ...] = ()
    """Type names without the vocabulary URL: `Bakery`, `WebSite`."""
    forms: tuple[PageForm, ...] = ()
    word_count: int = 0
    """Number of words in the visible text."""
    links: tuple[PageLink, ...] = ()
    """Distinct targets in page order."""
    links_cut: bool = False
    """Whether links beyond the limit were left out."""
    open_graph: OpenGraph = OpenGraph()
    refresh_url: str | None = None
    """Target of a `meta` refresh with a delay of a few seconds."""
    charset: str = "utf-8"
    lossy: bool = False
    """Whether bytes that are invalid in `charset` were replaced."""
    cut: str | None = None
    """Why the end of the page was not read; None if it was."""

    @property
    def form_count(self) -> int:
        return len(self.forms)

    @property
    def has_contact_form(self) -> bool:
        return any(form.kind is FormKind.CONTACT for form in self.forms)
