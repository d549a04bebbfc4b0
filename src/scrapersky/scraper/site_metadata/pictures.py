"""The icon and the logo that a page names as its own."""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from scrapersky.scraper.page_facts.document import Document, attribute, inside
from scrapersky.scraper.page_facts.model import PageFacts
from scrapersky.scraper.site_metadata.model import Organisation

MAX_PICTURES = 60
"""A logo stands among the first; the last may be those of partners."""
ANCESTORS_LOOKED_AT = 4

_HEADER = "header, nav, [role=banner], [id*=header i], [class*=header i]"
_ICONS = ("icon", "apple-touch-icon", "apple-touch-icon-precomposed")
_NOT_OURS = ("partner", "sponsor", "client", "payment", "customer", "footer", "badge", "kunden")
_SOURCES = ("src", "data-src", "data-lazy-src", "data-original")


def favicon_of(document: Document) -> str | None:
    """What the page names; a /favicon.ico that it does not name may not be there."""
    links = [
        (attribute(node, "rel").lower().split(), attribute(node, "href"))
        for node in document.tree.css("link[rel][href]")
    ]
    for icon in _ICONS:
        for words, href in links:
            if icon in words and (url := document.absolute(href)):
                return url
    return None


def logo_of(document: Document, facts: PageFacts, organisation: Organisation | None) -> str | None:
    """As structured data states it, else the picture that is called so, else the shared one."""
    if organisation is not None and organisation.logo:
        return organisation.logo
    if picture := _called_logo(document):
        return picture
    shared = facts.open_graph.image
    return shared if shared and "logo" in shared.rpartition("/")[2].lower() else None


def _called_logo(document: Document) -> str | None:
    header = inside(document.tree, _HEADER)
    pictures = document.tree.css("img")
    in_header = [node for node in pictures if node.mem_id in header]
    for node in (*in_header[:MAX_PICTURES], *pictures[:MAX_PICTURES]):
        if _is_logo(node) and (url := _source(document, node)):
            return url
    return None


def _is_logo(node: LexborNode) -> bool:
    own = _naming(node) + attribute(node, "alt").lower() + _file(node)
    around = _around(node)
    if any(word in own + around for word in _NOT_OURS):
        return False
    return "logo" in own or "logo" in around


def _naming(node: LexborNode) -> str:
    return f"{attribute(node, 'class')} {attribute(node, 'id')} ".lower()


def _file(node: LexborNode) -> str:
    names = (attribute(node, name)[-200:] for name in _SOURCES)
    return " ".join(name.rpartition("/")[2].lower() for name in names)


def _around(node: LexborNode) -> str:
    names: list[str] = []
    parent = node.parent
    while parent is not None and len(names) < ANCESTORS_LOOKED_AT and parent.tag != "body":
        names.append(_naming(parent))
        parent = parent.parent
    return "".join(names)


def _source(document: Document, node: LexborNode) -> str | None:
    for name in _SOURCES:
        value = attribute(node, name)
        if value and not value.startswith("data:") and (url := document.absolute(value)):
            return url
    return None
