"""Read contacts that attributes mark in the page's text: microdata, RDFa, hCard and h-card."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from scrapersky.scraper.contact_finder.found import Method
from scrapersky.scraper.contact_finder.markup import attributes_of
from scrapersky.scraper.contact_finder.page import Page
from scrapersky.scraper.contact_finder.phone_shapes import MIN_DIGITS
from scrapersky.scraper.contact_finder.structured.statement import (
    PROPERTIES,
    Says,
    Statement,
    short,
)
from scrapersky.scraper.contact_finder.words import words_of

MAX_DEPTH = 200
_MAX_VALUE_CHARACTERS = 2_000
_VOID = words_of("area base br col embed hr img input link meta param source track wbr")
_MARKS = re.compile(r"itemprop|itemscope|property|typeof|class")
_CARDS = frozenset(("vcard", "h-card"))
_CARD_PROPERTIES = {
    "fn": "name", "p-name": "name", "title": "role", "p-job-title": "role", "role": "role",
    "p-role": "role", "email": "email", "u-email": "email", "tel": "tel", "p-tel": "tel",
    "u-tel": "tel", "org": "org", "p-org": "org", "country-name": "country-name",
    "p-country-name": "country-name", "value": "value", "type": "type",
}  # fmt: skip
_ROLES = frozenset(("jobtitle", "contacttype", "role"))
_PEOPLE = ("person", "contactpoint", "physician")
_NAMES = r"\s?=\s?[\"']?[^\"'<>]{0,60}?(?:email|mbox|phone|tel\b|sameas|country)"
_PATTERNS = {
    "itemprop": re.compile("itemprop" + _NAMES),
    "property": re.compile("property" + _NAMES),
    "vcard": re.compile("vcard"),
    "h-card": re.compile("h-card"),
}
MAX_MARKS = 300
_REACH = 100
"""How many tags away the item may begin, and its name and role stand."""


@dataclass
class _Element:
    index: int
    attributes: dict[str, str]
    method: Method
    properties: tuple[str, ...]
    is_item: bool
    kind: str
    item: _Element | None
    """The item it says something about."""
    inside: str = ""
    parts: list[_Element] = field(default_factory=list)


def read_marked(page: Page) -> Iterator[Statement]:
    for first, last in _neighbourhoods(page):
        for element in _Outline(page).elements(first, last):
            for name in element.properties:
                says = PROPERTIES.get(name)
                if says and (element.item is not None or element.method is not Method.HCARD):
                    yield from _statements(page, element, says)


def _neighbourhoods(page: Page) -> Iterator[tuple[int, int]]:
    """Rows of tags around those that mark a contact; most of a page is not worth an outline."""
    places = sorted(
        match.start() for pattern in _patterns_for(page) for match in pattern.finditer(page.lowered)
    )
    if len(places) > MAX_MARKS:
        page.capped["marks"] = None
    indexes = sorted({page.index_of(place) for place in places[:MAX_MARKS]})
    first = last = -1
    for index in indexes:
        if index - _REACH > last:
            if last >= 0:
                yield first, last
            first = max(0, index - _REACH)
        last = index + _REACH
    if last >= 0:
        yield first, last


def _patterns_for(page: Page) -> Iterator[re.Pattern[str]]:
    for word, pattern in _PATTERNS.items():
        if word in page.lowered:
            yield pattern


def _statements(page: Page, element: _Element, says: Says) -> Iterator[Statement]:
    item = element.item
    name, role = _whose(item) if item else (None, None)
    place = page.place_of(element.index)
    parts = [part for part in element.parts if "value" in part.properties] or [element]
    for part in parts:
        value = _value_of(part, says)
        if value:
            yield Statement(says, value, element.method, place, name, role)


def _value_of(element: _Element, says: Says) -> str:
    attributes = element.attributes
    href = attributes.get("href", "")
    if attributes.get("content"):
        return attributes["content"]
    if href and (says is Says.PROFILE or href.lower().startswith(("mailto:", "tel:"))):
        return href
    inside = " ".join(element.inside.split())
    return attributes.get("value") or _full_form(attributes, says) or inside


def _full_form(attributes: dict[str, str], says: Says) -> str:
    """What the words of an `<abbr title="+49 341 …">` stand for, when that is a contact."""
    title = attributes.get("title", "")
    if says is Says.PHONE:
        return title if sum(map(str.isdecimal, title[:60])) >= MIN_DIGITS else ""
    return title if "@" in title else ""


def _whose(item: _Element) -> tuple[str | None, str | None]:
    if item.method is not Method.HCARD and not item.kind.endswith(_PEOPLE):
        return None, None
    name = _first(item, ("name",))
    if name and item.method is Method.HCARD and name == _first(item, ("org",)):
        name = None
    return name, _first(item, tuple(_ROLES))


def _first(item: _Element, names: tuple[str, ...]) -> str | None:
    for part in item.parts:
        if not part.is_item and any(name in names for name in part.properties):
            return short(part.attributes.get("content") or part.inside)
    return None


class _Outline:
    """The marked elements of a page with what they lie in; unclosed ones end with their parent."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._open: list[tuple[str, _Element | None, int]] = []
        self._found: list[_Element] = []

    def elements(self, first: int, last: int) -> list[_Element]:
        for index in range(first, min(last + 1, len(self._page.row.names))):
            name = self._page.row.names[index].lower()
            if name.startswith("/"):
                self._close(name[1:], index)
            else:
                self._start(name, index)
        return self._found

    def _start(self, name: str, index: int) -> None:
        written = self._page.row.attributes[index]
        element = self._element(index, attributes_of(written)) if _MARKS.search(written) else None
        if element is not None:
            self._found.append(element)
            self._attach(element)
        if name not in _VOID and not written.endswith("/>") and len(self._open) < MAX_DEPTH:
            self._open.append((name, element, index))

    def _attach(self, element: _Element) -> None:
        """To its item, and to the property it is a part of."""
        nearest = next((open_ for _, open_, _ in reversed(self._open) if open_), None)
        if element.item is not None:
            element.item.parts.append(element)
        if nearest is not None and nearest is not element.item:
            nearest.parts.append(element)

    def _close(self, closed: str, index: int) -> None:
        if closed not in [name for name, _, _ in self._open[-20:]]:
            return
        while self._open:
            name, element, start = self._open.pop()
            if element is not None and not element.is_item:
                element.inside = self._page.row.text(start, index)[:_MAX_VALUE_CHARACTERS]
            if name == closed:
                return

    def _element(self, index: int, attributes: dict[str, str]) -> _Element | None:
        item = next((e for _, e, _ in reversed(self._open) if e is not None and e.is_item), None)
        if "itemprop" in attributes or "itemscope" in attributes:
            names = tuple(attributes.get("itemprop", "").lower().split())
            kind = attributes.get("itemtype", "").lower()
            is_item = "itemscope" in attributes
            return _Element(index, attributes, Method.MICRODATA, names, is_item, kind, item)
        if "property" in attributes or "typeof" in attributes:
            names = _bare(attributes.get("property", ""))
            kind = attributes.get("typeof", "").lower()
            is_item = "typeof" in attributes
            return _Element(index, attributes, Method.RDFA, names, is_item, kind, item)
        return _card_element(index, attributes, item)


def _card_element(index: int, attributes: dict[str, str], item: _Element | None) -> _Element | None:
    words = attributes.get("class", "").lower().split()
    is_card = not _CARDS.isdisjoint(words)
    if not is_card and (item is None or item.method is not Method.HCARD):
        return None
    names = tuple(_CARD_PROPERTIES[word] for word in words if word in _CARD_PROPERTIES)
    if not names and not is_card:
        return None
    return _Element(index, attributes, Method.HCARD, () if is_card else names, is_card, "", item)


def _bare(properties: str) -> tuple[str, ...]:
    """`schema:email` and `http://schema.org/email` are both email."""
    return tuple(re.split(r"[:/#]", name)[-1] for name in properties.lower().split())
