"""Say what a document is by how it begins."""

from __future__ import annotations

import re

from scrapersky.scraper.sitemap_parser.model import Kind

SNIFF_CHARACTERS = 64 * 1024
"""Licences, warnings of a script and blank lines come before the root, but not more than this."""

_ROOTS = {
    "urlset": Kind.URLSET,
    "url": Kind.URLSET,
    "sitemapindex": Kind.INDEX,
    "sitemap": Kind.INDEX,
    "rss": Kind.RSS,
    "rdf": Kind.RSS,
    "feed": Kind.ATOM,
}
_ROOT = re.compile(
    r"<(?:[A-Za-z_][\w.\-]{0,40}:)?(urlset|sitemapindex|rss|rdf|feed)(?=[\s/>])", re.IGNORECASE
)
_FIRST_TAG = re.compile(r"\s*<(?:[A-Za-z_][\w.\-]{0,40}:)?([A-Za-z_][\w.\-]{0,40})")
_DOCTYPE_HTML = re.compile(r"<!doctype\s+html", re.IGNORECASE)
_URL_LINE = re.compile(r"(?:\A|[\r\n])[^\S\r\n]*+https?://\S", re.IGNORECASE)
_HTML_TAGS = frozenset(
    {"head", "body", "title", "meta", "script", "style", "div", "span", "p", "a", "b", "br"}
    | {"h1", "h2", "h3", "center", "font", "table", "pre", "noscript", "iframe", "form", "main"}
)
_GENERATORS = (
    (re.compile(r"generator=[\"']([^\"'<>]{2,80})[\"']", re.IGNORECASE), None),
    (
        re.compile(r"generat(?:ed|or):? (?:by|with) ([^\n<>]{2,80}?)(?: on |\s*-->|[.\n])", re.I),
        None,
    ),
    (re.compile(r"yoast|wordpress-seo", re.IGNORECASE), "Yoast SEO"),
    (re.compile(r"rank-?math", re.IGNORECASE), "Rank Math"),
    (re.compile(r"wp-sitemap", re.IGNORECASE), "WordPress"),
)


def kind_of(raw: str, clean: str) -> tuple[Kind | None, str | None]:
    """The kind, or None and a sentence why it is no sitemap.

    `raw` is the beginning as it came, `clean` the same without comments and declarations.
    """
    if not raw.strip("\ufeff \t\r\n\0"):
        return None, "It is empty."
    first = _FIRST_TAG.match(clean)
    name = first[1].lower() if first else ""
    if name == "html" or _DOCTYPE_HTML.search(raw[:1024]):
        return None, "It is a page of HTML, not a sitemap."
    if name in _ROOTS:
        return _ROOTS[name], None
    if root := _ROOT.search(clean):
        return _ROOTS[root[1].lower()], None
    if first is None and _URL_LINE.search(clean):
        return Kind.TEXT, None
    return None, _complaint(name)


def _complaint(name: str) -> str:
    if name in _HTML_TAGS:
        return "It is a page of HTML, not a sitemap."
    if name:
        return f"Its root is <{name}>, which no sitemap has."
    return "It is neither XML nor a list of URLs."


def generator_of(raw: str) -> str | None:
    """The program that wrote the document, where its first lines say so."""
    head = raw[:4096].partition("<url>")[0]
    for pattern, name in _GENERATORS:
        if match := pattern.search(head):
            return name or match[1].strip()
    return None
