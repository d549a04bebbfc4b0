"""A page tokenized once: visible text, tags, attributes, scripts and links."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from scrapersky.scraper.contacts import markup
from scrapersky.scraper.contacts.emails import find_emails
from scrapersky.scraper.contacts.model import MAX_SNIPPET_CHARACTERS, ContactMatch
from scrapersky.scraper.http.urls import get_host_without_www, get_registrable_domain

MAX_PAGE_CHARACTERS = 1_500_000
MAX_TEXT_CHARACTERS = 300_000
"""Contact details are not buried in more text than this, far beyond a long article."""
MAX_EMAIL_CANDIDATES = 3_000
"""Limit on "@" signs checked in all texts of a page together."""
MAX_MATCHING_TAGS = 2_000
MAX_LINKS = 5_000
MAX_NOSCRIPTS = 200
_SNIPPET_TAGS, _SNIPPET_REACH = 12, 400

_BRACKETED_EMAIL = r"(?:<[\w.+-]{1,64}@[\w.-]{1,253}>)?+"
_HREF = re.compile(
    rf"""href\s{{0,9}}=\s{{0,9}}(?:"([^"<>]*+{_BRACKETED_EMAIL})|'([^'<>]*+{_BRACKETED_EMAIL})|([^\s>"']++))"""
)
"""A URL also ends at an angle bracket, because after a missing closing quote more tags follow. The
exception is `Name <name@example.org>`.
"""
_LOCAL_PREFIXES = ("/", "#", "?", "")
_DATA_NAME = re.compile(r"data-[\w-]+")
_ASCII_LOWERCASE = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class HtmlTag:
    index: int
    name: str
    attributes: dict[str, str]


Link = tuple[str, int]
"""A URL as written, and its position."""


class TokenizedPage:
    """A page split into tags and text. All positions are offsets into `attributes`."""

    def __init__(self, source: str, url: str) -> None:
        self.url = url
        self.capped: dict[str, None] = {}
        self._candidates_left = MAX_EMAIL_CANDIDATES
        if len(source) > MAX_PAGE_CHARACTERS:
            source = source[:MAX_PAGE_CHARACTERS]
            self.capped["page_characters"] = None
        visible = markup.strip_hidden(source)
        self._scripts, self.styles = visible.scripts, visible.styles
        self.row = markup.TagSequence(visible.markup)
        self.attributes = "".join(self.row.attributes)
        """The attributes of all tags as written, concatenated."""
        if _has_at_sign_images(self.attributes):
            self.row.insert_at_signs()
        if visible.capped:
            self.capped["scripts"] = None
        if self.row.is_cut:
            self.capped["tags"] = None

    @cached_property
    def text(self) -> str:
        text = self.row.text()
        if len(text) > MAX_TEXT_CHARACTERS:
            self.capped["text"] = None
        return text[:MAX_TEXT_CHARACTERS]

    @cached_property
    def lowercase_attributes(self) -> str:
        """`attributes` in lower case, with identical offsets."""
        lowered = self.attributes.lower()
        if len(lowered) == len(self.attributes):
            return lowered
        return self.attributes.translate(_ASCII_LOWERCASE)

    @cached_property
    def data_names(self) -> frozenset[str]:
        """Names of all `data-` attributes in the page."""
        return frozenset(_DATA_NAME.findall(self.lowercase_attributes))

    @cached_property
    def host(self) -> str:
        return get_host_without_www(self.url)

    @cached_property
    def site(self) -> str | None:
        return get_registrable_domain(self.host) if self.host else None

    @cached_property
    def language(self) -> str | None:
        for name, written in zip(self.row.names[:5], self.row.attributes, strict=False):
            if name.lower() == "html":
                return markup.parse_attributes(written).get("lang")
        return None

    @cached_property
    def scripts(self) -> tuple[tuple[markup.InlineScript, int], ...]:
        """Inline scripts, each with its position."""
        indexes = (index for index, name in enumerate(self.row.names) if name == "script")
        places = (self._places[index] for index in indexes)
        return tuple(zip(self._scripts, places, strict=False))

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """Links, except those to other pages of the same host."""
        links: list[Link] = []
        own = f"https://{self.host}/", f"https://www.{self.host}/"
        for match in _HREF.finditer(self.attributes.replace("HREF", "href")):
            href = match[match.lastindex or 0].lstrip()
            if self.attributes[match.start() - 1] == ".":
                continue  # `location.href=` in a script
            if (href[:1] in _LOCAL_PREFIXES and href[:2] != "//") or href.startswith(own):
                continue
            if len(links) == MAX_LINKS:
                self.capped["links"] = None
                break
            links.append((markup.unescape_entities(href).strip(), match.start()))
        return tuple(links)

    def find_emails(self, text: str, *, limit: int) -> Iterator[ContactMatch]:
        """Find addresses until the page's budget of `MAX_EMAIL_CANDIDATES` is spent."""
        if "@" not in text:
            return
        if self._candidates_left <= 0:
            self.capped["candidates"] = None
            return
        self._candidates_left -= min(text.count("@"), limit)
        yield from find_emails(text, limit=limit, site=self.site)

    def find_tags(self, word: str) -> Iterator[HtmlTag]:
        """Yield the tags whose attributes contain the word, which must be in lower case."""
        place = self.lowercase_attributes.find(word)
        for _ in range(MAX_MATCHING_TAGS):
            if place < 0:
                return
            index = self.get_tag_index(place)
            yield self.tag(index)
            place = self.lowercase_attributes.find(
                word, self._places[index] + len(self.row.attributes[index])
            )
        self.capped["tags"] = None

    def tag(self, index: int) -> HtmlTag:
        return HtmlTag(
            index,
            self.row.names[index].lower(),
            markup.parse_attributes(self.row.attributes[index]),
        )

    @cached_property
    def _places(self) -> list[int]:
        """Offset of each tag's attributes."""
        return list(accumulate(map(len, self.row.attributes), initial=0))

    def get_tag_index(self, place: int) -> int:
        return bisect_right(self._places, place) - 1

    def get_position(self, index: int) -> int:
        return self._places[index]

    @cached_property
    def noscript_text(self) -> str:
        """The text inside `<noscript>`, which is also part of `text`."""
        names = [name.lower() for name in self.row.names] if "noscript" in self.row.names else []
        starts = [index for index, name in enumerate(names) if name == "noscript"]
        ends = [index for index, name in enumerate(names) if name == "/noscript"]
        pairs = list(zip(starts, ends, strict=False))[:MAX_NOSCRIPTS]
        return "\n".join(self.row.text(start, end) for start, end in pairs if end > start)

    def get_surrounding_text(self, place: int) -> str:
        """Return the visible text around the tag at this position."""
        index = self.get_tag_index(place)
        left = self.row.text(max(-1, index - _SNIPPET_TAGS), index)[-_SNIPPET_REACH:]
        right = self.row.text(index, index + _SNIPPET_TAGS)[:_SNIPPET_REACH]
        return clip_snippet(collapse_whitespace(left), collapse_whitespace(right))


def _has_at_sign_images(attributes: str) -> bool:
    if "alt=" in attributes and any(
        f"alt={quote}{at}" in attributes for quote in "\"'" for at in ("@", "at", "(", "[", "A")
    ):
        return True
    return any(sign in attributes for sign in ('-at"', "-at'", "-at ", "/at.", '"at.', "'at."))


def collapse_whitespace(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def clip_snippet(left: str, right: str) -> str:
    """Join both sides and clip them to snippet length; `right` starts with the contact."""
    right = right[: MAX_SNIPPET_CHARACTERS * 2 // 3].rstrip()
    room = MAX_SNIPPET_CHARACTERS - len(right) - 1
    left = left if len(left) <= room else left[len(left) - room :].partition(" ")[2]
    return f"{left} {right}".strip()


def get_snippet(text: str, start: int, end: int) -> str:
    return clip_snippet(
        collapse_whitespace(text[max(0, start - 150) : start]),
        collapse_whitespace(text[start : end + 100]),
    )
