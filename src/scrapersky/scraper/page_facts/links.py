"""The links of a page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from selectolax.lexbor import LexborNode

from scrapersky.scraper.page_facts.document import Document, attribute, clean_text, inside
from scrapersky.scraper.page_facts.model import PageLink
from scrapersky.scraper.urls import MAX_URL_CHARACTERS, clean_url, is_same_site, origin_of

MAX_LINKS = 2_000
MAX_TEXT_CHARACTERS = 200

_NAV = "nav, header, [role=navigation], [role=banner]"
_FOOTER = "footer, [role=contentinfo]"
_PLAIN_PATH = re.compile(r"(?:/(?!\.)[\w\-.~%+,;=&?]*)+", re.ASCII)
_PLAIN_URL = re.compile(
    rf"https?://[a-z0-9\-]+(?:\.[a-z0-9\-]+)+(?:{_PLAIN_PATH.pattern})?", re.ASCII
)


def links_of(document: Document) -> tuple[tuple[PageLink, ...], bool]:
    """Each target once, with the first text it is given; and whether there were more."""
    tree = document.tree
    in_nav, in_footer = inside(tree, _NAV), inside(tree, _FOOTER)
    origin = origin_of(document.base_url) if clean_url(document.base_url) else ""
    found: dict[str, PageLink] = {}
    for node in tree.css("a[href], area[href]"):
        attributes = node.attributes
        url = _target(document, attributes.get("href") or "", origin)
        if url is None or (url in found and found[url].text):
            continue
        if len(found) >= MAX_LINKS and url not in found:
            return tuple(found.values()), True
        found[url] = PageLink(
            url=url,
            text=_text(node, attributes),
            rel=tuple((attributes.get("rel") or "").lower().split()[:10]),
            in_nav=node.mem_id in in_nav,
            in_footer=node.mem_id in in_footer,
            same_site=_is_own("/".join(url.split("/", 3)[:3]), document.url),
        )
    return tuple(found.values()), False


@lru_cache(maxsize=1_024)
def _is_own(origin: str, page_url: str) -> bool:
    return is_same_site(page_url, origin)


def _target(document: Document, href: str, origin: str) -> str | None:
    href = href.strip()
    if not href or href.startswith("#") or len(href) > MAX_URL_CHARACTERS:
        return None
    # Most links are plain, and joining URLs by all the rules takes longer than parsing the page.
    if _PLAIN_URL.fullmatch(href):
        return href
    if origin and not href.startswith("//") and _PLAIN_PATH.fullmatch(href):
        return f"{origin}{href}"
    url = document.absolute(href)
    return url.partition("#")[0] if url else None


def _text(node: LexborNode, attributes: Mapping[str, str | None]) -> str:
    if text := clean_text(node.text(separator=" "), limit=MAX_TEXT_CHARACTERS):
        return text
    picture = attribute(node.css_first("img[alt]"), "alt")
    for text in (attributes.get("aria-label"), picture, attributes.get("title")):
        if cleaned := clean_text(text, limit=MAX_TEXT_CHARACTERS):
            return cleaned
    return ""
