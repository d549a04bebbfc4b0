"""Parse the head of a page: title, description, language, robots, Open Graph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from scrapersky.scraper.html.document import Document, clean_text, get_attribute, get_header_values
from scrapersky.scraper.html.model import OpenGraph, RobotsMeta

MAX_METAS = 500
MAX_DIRECTIVES = 30
MAX_REFRESH_SECONDS = 10
"""Pages with a longer delay are meant to be read first, or reload themselves as news pages do."""

_LANGUAGE = re.compile(
    r"([A-Za-z]{2,3})(?:[-_][A-Za-z]{4})?(?:[-_]([A-Za-z]{2}|\d{3})\b)?(?![A-Za-z])"
)
_REFRESH = re.compile(r"\s*(\d{1,4})(?:\.\d{0,9})?\s*[;,\s]\s*(?:url\s*=)?\s*[\"']?([^\"']+)", re.I)
_DIRECTIVES_WITH_VALUE = (
    "unavailable_after",
    "max-snippet",
    "max-image-preview",
    "max-video-preview",
)
_GENERAL_AGENTS = ("", "robots", "googlebot")


def parse_metas(document: Document) -> dict[str, str]:
    """Return the `meta` tags by name, property or `http-equiv`; the first of each wins."""
    found: dict[str, str] = {}
    for node in document.tree.css("meta[content]")[:MAX_METAS]:
        attributes = node.attributes
        for key in ("name", "property", "http-equiv", "itemprop"):
            if (name := attributes.get(key)) and (content := attributes.get("content")):
                found.setdefault(name.strip().lower()[:100], content)
    return found


def get_title(document: Document) -> str | None:
    """Return the first title outside of SVG images, which can have titles, too."""
    for node in document.tree.css("head title, title"):
        parent = node.parent
        if (parent is None or parent.tag != "svg") and (title := clean_text(node.text())):
            return title
    return None


def get_h1(document: Document) -> str | None:
    """Return the first heading that has text or an image with alternative text."""
    for node in document.tree.css("h1")[:20]:
        heading = clean_text(node.text(separator=" "))
        if heading := heading or clean_text(get_attribute(node.css_first("img[alt]"), "alt")):
            return heading
    return None


def get_canonical_url(document: Document) -> str | None:
    for node in document.tree.css("link[rel][href]"):
        if "canonical" in get_attribute(node, "rel").lower().split():
            url = document.absolute(get_attribute(node, "href"))
            return url.partition("#")[0] if url else None
    return None


def get_language(document: Document, metas: dict[str, str]) -> str | None:
    """Return the language of the root element, `meta`, header or Open Graph, in that order."""
    root = document.tree.css_first("html")
    candidates = (
        get_attribute(root, "lang"),
        get_attribute(root, "xml:lang"),
        metas.get("content-language", ""),
        *get_header_values(document.headers, "Content-Language"),
        metas.get("og:locale", ""),
    )
    return next(filter(None, map(_parse_language, candidates)), None)


def _parse_language(text: str) -> str | None:
    match = _LANGUAGE.match(text.strip())
    if match is None:
        return None
    region = f"-{match[2].upper()}" if match[2] else ""
    return f"{match[1].lower()}{region}"


def parse_robots_meta(document: Document, metas: dict[str, str]) -> RobotsMeta:
    written = [metas.get("robots", ""), metas.get("googlebot", "")]
    written += get_header_values(document.headers, "X-Robots-Tag")
    found = dict.fromkeys(each for text in written for each in _parse_directives(text))
    return RobotsMeta(tuple(found)[:MAX_DIRECTIVES])


def _parse_directives(text: str) -> Iterator[str]:
    """Yield the directives that apply to all robots or to Googlebot.

    An X-Robots-Tag header can address several user agents; directives for others are skipped.
    """
    agent = ""
    for part in text[:1_000].lower().split(","):
        name, colon, rest = part.strip().partition(":")
        if colon and name.strip() not in _DIRECTIVES_WITH_VALUE:
            agent, part = name.strip(), rest
        if agent in _GENERAL_AGENTS and (directive := clean_text(part, limit=60)):
            yield directive


def parse_open_graph(document: Document, metas: dict[str, str]) -> OpenGraph:
    def get_property(name: str) -> str | None:
        return clean_text(metas.get(f"og:{name}"))

    return OpenGraph(
        title=get_property("title"),
        description=get_property("description"),
        site_name=get_property("site_name"),
        type=get_property("type"),
        url=document.absolute(metas.get("og:url")),
        image=document.absolute(metas.get("og:image") or metas.get("og:image:url")),
        locale=get_property("locale"),
    )


def get_refresh_url(document: Document, metas: dict[str, str]) -> str | None:
    """Return the target of a `meta` refresh, unless it is the page itself."""
    match = _REFRESH.match(metas.get("refresh", "")[:3_000])
    if match is None or int(match[1]) > MAX_REFRESH_SECONDS:
        return None
    url = document.absolute(match[2])
    return url if url and unquote(url) != unquote(document.url) else None
