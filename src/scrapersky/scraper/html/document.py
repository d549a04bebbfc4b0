"""Decode and parse a page once, and share the result between all extractors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape

from selectolax.lexbor import LexborHTMLParser, LexborNode

from scrapersky.scraper.html.charset import DecodedPage, decode_page
from scrapersky.scraper.html.sanitize import sanitize_html
from scrapersky.scraper.http.limits import MAX_PAGE_BYTES
from scrapersky.scraper.http.responses import Response
from scrapersky.scraper.http.urls import clean_url

MAX_TEXT_CHARACTERS = 500_000
"""Visible text beyond this length is dropped."""

_HIDDEN = "script, style, textarea, title, iframe, noframes"
_SEPARATOR = "\0"
"""NUL, which HTML parsers never leave in text."""
_SPACE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060\ufeff\ufffe\uffff]+")
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class ScriptElement:
    """The attributes and inline text of a `<script>`."""

    src: str
    type: str
    text: str


@dataclass(frozen=True)
class Document:
    url: str
    base_url: str
    """Base for relative links."""
    html: str
    """The decoded source."""
    tree: LexborHTMLParser = field(repr=False)
    headers: Mapping[str, str]
    charset: str
    lossy: bool
    cut: str | None
    text: str = field(repr=False)
    """The visible text, with a space between elements."""
    noscript: str = field(repr=False)
    """The text shown when JavaScript is disabled."""
    scripts: tuple[ScriptElement, ...] = field(repr=False)

    def absolute(self, href: str | None) -> str | None:
        return clean_url(href, self.base_url) if href and href.strip() else None


def open_document(
    page: Response | str | bytes,
    *,
    url: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Document:
    """Decode and parse a page; URL and headers default to those of a `Response`."""
    cut = None
    if isinstance(page, Response):
        url, headers = url or page.final_url, headers or page.headers
        cut = page.truncated
        page = page.body
    decoded, too_long = _decode(page, headers or {})
    tree = parse_html(decoded.text)
    scripts = tuple(
        ScriptElement(
            src=get_attribute(node, "src").strip(),
            type=get_attribute(node, "type").strip().lower(),
            text=node.text() or "",
        )
        for node in tree.css("script")
    )
    text, noscript = _extract_texts(tree)
    return Document(
        url=url or "",
        base_url=get_base_url(tree, url or ""),
        html=decoded.text,
        tree=tree,
        headers=headers or {},
        charset=decoded.charset,
        lossy=decoded.lossy,
        cut=cut or too_long,
        text=text,
        noscript=noscript,
        scripts=scripts,
    )


def parse_html(html: str) -> LexborHTMLParser:
    """Parse any text in linear time."""
    return LexborHTMLParser(sanitize_html(html).encode("utf-8", "replace"))


def clean_text(text: str | None, *, limit: int = 1_000) -> str | None:
    """Collapse text to one line without invisible characters; None if nothing is left."""
    if not text:
        return None
    return _collapse_whitespace(text[: limit * 10])[:limit].rstrip() or None


def clean_value(value: object, *, limit: int = 1_000) -> str | None:
    """Clean a string from a script; some sites HTML-escape these values."""
    return (
        clean_text(unescape(value[: limit * 10]), limit=limit) if isinstance(value, str) else None
    )


def get_attribute(node: LexborNode | None, name: str) -> str:
    return (node.attributes.get(name) or "") if node is not None else ""


def collect_node_ids(tree: LexborHTMLParser, selector: str) -> set[int]:
    """Return the `mem_id` of all matching elements and their descendants.

    Visits each element once. A selector like `nav a` would check all ancestors of each link.
    """
    ids: set[int] = set()
    for outer in tree.css(selector):
        if outer.mem_id not in ids:
            ids.update(node.mem_id for node in outer.traverse())
    return ids


def get_header_values(headers: Mapping[str, str], name: str) -> list[str]:
    """Return all values of a header, for case-sensitive and case-insensitive mappings."""
    getall = getattr(headers, "getall", None)
    if getall is not None:
        return list(getall(name, []))
    return [value for key, value in headers.items() if key.lower() == name.lower()]


def _decode(page: str | bytes, headers: Mapping[str, str]) -> tuple[DecodedPage, str | None]:
    too_long = f"Only the first {MAX_PAGE_BYTES:,} bytes were read."
    cut = too_long if len(page) > MAX_PAGE_BYTES else None
    if isinstance(page, str):
        text = _LONE_SURROGATES.sub("\ufffd", page[:MAX_PAGE_BYTES])
        return DecodedPage(text, "utf-8"), cut
    content_type = ", ".join(get_header_values(headers, "Content-Type"))
    return decode_page(page[:MAX_PAGE_BYTES], content_type), cut


def get_base_url(tree: LexborHTMLParser, url: str) -> str:
    return clean_url(get_attribute(tree.css_first("base[href]"), "href"), url) or url


def _extract_texts(tree: LexborHTMLParser) -> tuple[str, str]:
    """Return the visible text of the body, and the text inside `<noscript>`."""
    if tree.body is None:
        return "", ""
    without = [piece for node in tree.css("body noscript") for piece in _split_texts(node)]
    hidden = Counter(piece for node in tree.css(_HIDDEN) for piece in _split_texts(node))
    visible = [piece for piece in without if piece not in hidden]
    hidden.update(without)
    texts: list[str] = []
    for piece in _split_texts(tree.body):
        if hidden and hidden[piece] > 0:
            hidden[piece] -= 1
        else:
            texts.append(piece)
    return _join_texts(texts), _join_texts(visible)


def _split_texts(node: LexborNode) -> list[str]:
    """Return the text of each text node; traversing the nodes would take longer than parsing."""
    return (node.text(separator=_SEPARATOR) or "").split(_SEPARATOR)


def _join_texts(pieces: list[str]) -> str:
    return _collapse_whitespace(" ".join(pieces)[:MAX_TEXT_CHARACTERS])


def _collapse_whitespace(text: str) -> str:
    text = " ".join(text.split())
    return text if text.isprintable() else _SPACE.sub(" ", _LONE_SURROGATES.sub("", text)).strip()
