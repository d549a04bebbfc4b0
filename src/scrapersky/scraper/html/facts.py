"""Extract the facts of a page: title, language, robots, links, forms, schema types.

    facts = read_page(response)
    facts = read_page("<title>Bread</title>", url="https://bakery.example/")

Use `open_document` to get the parsed page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from selectolax.lexbor import LexborNode

from scrapersky.scraper.html import head
from scrapersky.scraper.html.document import (
    Document,
    clean_text,
    collect_node_ids,
    get_attribute,
    open_document,
)
from scrapersky.scraper.html.forms import parse_forms
from scrapersky.scraper.html.json_ld import list_schema_types, parse_json_ld
from scrapersky.scraper.html.model import (
    PageFacts,
    PageLink,
)
from scrapersky.scraper.http.responses import Response
from scrapersky.scraper.http.urls import MAX_URL_CHARACTERS, clean_url, get_origin, is_same_site

MAX_LINKS = 2_000
MAX_LINK_TEXT_CHARACTERS = 200

_NAV = "nav, header, [role=navigation], [role=banner]"
_FOOTER = "footer, [role=contentinfo]"
_PLAIN_PATH = re.compile(r"(?:/(?!\.)[\w\-.~%+,;=&?]*)+", re.ASCII)
_PLAIN_URL = re.compile(
    rf"https?://[a-z0-9\-]+(?:\.[a-z0-9\-]+)+(?:{_PLAIN_PATH.pattern})?", re.ASCII
)


def parse_links(document: Document) -> tuple[tuple[PageLink, ...], bool]:
    """Return the distinct targets with their first link text, and whether links were left out."""
    tree = document.tree
    in_nav, in_footer = collect_node_ids(tree, _NAV), collect_node_ids(tree, _FOOTER)
    origin = get_origin(document.base_url) if clean_url(document.base_url) else ""
    found: dict[str, PageLink] = {}
    for node in tree.css("a[href], area[href]"):
        attributes = node.attributes
        url = _resolve_target(document, attributes.get("href") or "", origin)
        if url is None or (url in found and found[url].text):
            continue
        if len(found) >= MAX_LINKS and url not in found:
            return tuple(found.values()), True
        found[url] = PageLink(
            url=url,
            text=_get_link_text(node, attributes),
            rel=tuple((attributes.get("rel") or "").lower().split()[:10]),
            in_nav=node.mem_id in in_nav,
            in_footer=node.mem_id in in_footer,
            same_site=_is_same_site_origin("/".join(url.split("/", 3)[:3]), document.url),
        )
    return tuple(found.values()), False


@lru_cache(maxsize=1_024)
def _is_same_site_origin(origin: str, page_url: str) -> bool:
    return is_same_site(page_url, origin)


def _resolve_target(document: Document, href: str, origin: str) -> str | None:
    href = href.strip()
    if not href or href.startswith("#") or len(href) > MAX_URL_CHARACTERS:
        return None
    # Fast path: most links are plain, and full URL resolution takes longer than parsing the page.
    if _PLAIN_URL.fullmatch(href):
        return href
    if origin and not href.startswith("//") and _PLAIN_PATH.fullmatch(href):
        return f"{origin}{href}"
    url = document.absolute(href)
    return url.partition("#")[0] if url else None


def _get_link_text(node: LexborNode, attributes: Mapping[str, str | None]) -> str:
    if text := clean_text(node.text(separator=" "), limit=MAX_LINK_TEXT_CHARACTERS):
        return text
    picture = get_attribute(node.css_first("img[alt]"), "alt")
    for text in (attributes.get("aria-label"), picture, attributes.get("title")):
        if cleaned := clean_text(text, limit=MAX_LINK_TEXT_CHARACTERS):
            return cleaned
    return ""


def read_page(
    page: Response | str | bytes,
    *,
    url: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> PageFacts:
    """Parse a page and extract its facts; never raises, whatever the input.

    URL and headers default to those of a `Response`; pass them for text or bytes.
    """
    return extract_facts(open_document(page, url=url, headers=headers))


def extract_facts(document: Document) -> PageFacts:
    metas = head.parse_metas(document)
    links, links_cut = parse_links(document)
    open_graph = head.parse_open_graph(document, metas)
    return PageFacts(
        url=document.url,
        title=head.get_title(document),
        h1=head.get_h1(document),
        description=clean_text(metas.get("description")) or open_graph.description,
        canonical=head.get_canonical_url(document),
        robots=head.parse_robots_meta(document, metas),
        language=head.get_language(document, metas),
        schema_types=list_schema_types(document, parse_json_ld(document)),
        forms=parse_forms(document),
        word_count=len(document.text.split()),
        links=links,
        links_cut=links_cut,
        open_graph=open_graph,
        refresh_url=head.get_refresh_url(document, metas),
        charset=document.charset,
        lossy=document.lossy,
        cut=document.cut,
    )
