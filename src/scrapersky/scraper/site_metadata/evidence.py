"""What of an answer gives technologies away, gathered once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from scrapersky.scraper.page_facts.document import (
    Document,
    attribute,
    clean_text,
    header_values,
)
from scrapersky.scraper.urls import host_of

MAX_URLS = 2_000
MAX_PICTURES = 200
MAX_URL_CHARACTERS = 300
MAX_SCRIPT_CHARACTERS = 300_000
"""Of all inline scripts together: some sites put their whole content there."""
MAX_HTML_CHARACTERS = 150_000
END_CHARACTERS = 30_000
SHORT_TEXT_CHARACTERS = 5_000

_LOADED = "script[src], link[href], iframe[src]"
_SCRIPT_TYPES = frozenset({"", "text/javascript", "application/javascript", "module"})
_SCRIPT_URL = re.compile(r"//[a-zA-Z0-9][^\s\"'<>)\\`]{3,300}")
_SCRIPT_FILE = re.compile(r"[\"']([\w./\-]{1,100}/?(?:matomo|piwik)\.(?:js|php))")


@dataclass(frozen=True)
class Evidence:
    """All that fingerprints are compared with."""

    headers: Mapping[str, str]
    """Names in lower case."""
    cookies: tuple[str, ...]
    """`name=` of each that was set."""
    host: str
    document: Document | None = None
    """None when only the headers tell something of the site."""

    @cached_property
    def html(self) -> str:
        """The source; of a long one, where such marks stand: its beginning and its end."""
        html = self.document.html if self.document else ""
        if len(html) <= MAX_HTML_CHARACTERS:
            return html
        return f"{html[:MAX_HTML_CHARACTERS]}\n{html[-END_CHARACTERS:]}"

    @cached_property
    def generators(self) -> tuple[str, ...]:
        if self.document is None:
            return ()
        nodes = self.document.tree.css("meta[name=generator i]")[:20]
        contents = (clean_text(attribute(node, "content"), limit=300) for node in nodes)
        return tuple(filter(None, contents))

    @cached_property
    def urls(self) -> str:
        """What the page loads, one address in each line, in lower case."""
        if self.document is None:
            return ""
        found = dict.fromkeys(_loaded(self.document))
        found.update(dict.fromkeys(_in_scripts(self.document)))
        return "\n".join([*found][:MAX_URLS]).lower()

    @cached_property
    def text(self) -> str:
        """The title and what a person sees, in lower case, if that is not much."""
        if self.document is None or len(self.document.text) > SHORT_TEXT_CHARACTERS:
            return ""
        title = self.document.tree.css_first("title")
        shown = f"{title.text() if title else ''} {self.document.text}"
        return (clean_text(shown, limit=2 * SHORT_TEXT_CHARACTERS) or "").lower()


def gather(headers: Mapping[str, str], url: str, document: Document | None = None) -> Evidence:
    cookies = header_values(headers, "Set-Cookie")
    names = dict.fromkeys(name.lower() for name in headers)
    return Evidence(
        headers={name: ", ".join(header_values(headers, name)) for name in names},
        cookies=tuple(f"{each.partition('=')[0].strip()}=" for each in cookies),
        host=host_of(url),
        document=document,
    )


def _loaded(document: Document) -> Iterator[str]:
    for node in document.tree.css(_LOADED):
        attributes = node.attributes
        if value := attributes.get("src") or attributes.get("href"):
            yield " ".join(value[:MAX_URL_CHARACTERS].split())
    for node in document.tree.css("img")[:MAX_PICTURES]:
        attributes = node.attributes
        if value := attributes.get("data-src") or attributes.get("src"):
            # Pictures tell by where they lie, and most lie in one place.
            yield "".join(value[:MAX_URL_CHARACTERS].rpartition("/")[:2])


def _in_scripts(document: Document) -> Iterator[str]:
    """Scripts load most of what there is to find by themselves."""
    room = MAX_SCRIPT_CHARACTERS
    for script in document.scripts:
        if script.type in _SCRIPT_TYPES and script.text and room > 0:
            text = script.text[:room].replace("\\/", "/")
            room -= len(text)
            yield from _SCRIPT_URL.findall(text)
            yield from _SCRIPT_FILE.findall(text)
