"""Read contacts from microdata, RDFa, hCard and h-card markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from scrapersky.scraper.contacts.markup import parse_attributes
from scrapersky.scraper.contacts.model import (
    KIND_BY_PROPERTY,
    ContactStatement,
    ExtractionMethod,
    StatementKind,
    shorten,
    split_words,
)
from scrapersky.scraper.contacts.page import TokenizedPage
from scrapersky.scraper.contacts.phones import MIN_DIGITS

MAX_DEPTH = 200
_MAX_VALUE_CHARACTERS = 2_000
_VOID_ELEMENTS = split_words("area base br col embed hr img input link meta param source track wbr")
_MARKER_ATTRIBUTES = re.compile(r"itemprop|itemscope|property|typeof|class")
_CARD_CLASSES = frozenset(("vcard", "h-card"))
_CARD_PROPERTIES = {
    "fn": "name", "p-name": "name", "title": "role", "p-job-title": "role", "role": "role",
    "p-role": "role", "email": "email", "u-email": "email", "tel": "tel", "p-tel": "tel",
    "u-tel": "tel", "org": "org", "p-org": "org", "country-name": "country-name",
    "p-country-name": "country-name", "value": "value", "type": "type",
}  # fmt: skip
_ROLE_PROPERTIES = frozenset(("jobtitle", "contacttype", "role"))
_PERSON_TYPES = ("person", "contactpoint", "physician")
_CONTACT_PROPERTY = r"\s?=\s?[\"']?[^\"'<>]{0,60}?(?:email|mbox|phone|tel\b|sameas|country)"
_PATTERNS = {
    "itemprop": re.compile("itemprop" + _CONTACT_PROPERTY),
    "property": re.compile("property" + _CONTACT_PROPERTY),
    "vcard": re.compile("vcard"),
    "h-card": re.compile("h-card"),
}
MAX_MARKERS = 300
_MAX_TAG_DISTANCE = 100
"""Maximum distance, in tags, of an item's start, name and role from the contact."""


@dataclass
class _Element:
    index: int
    attributes: dict[str, str]
    method: ExtractionMethod
    properties: tuple[str, ...]
    is_item: bool
    kind: str
    item: _Element | None
    """The item that this element describes."""
    inside: str = ""
    parts: list[_Element] = field(default_factory=list)


def read_microdata(page: TokenizedPage) -> Iterator[ContactStatement]:
    for first, last in _find_tag_ranges(page):
        for element in _Outline(page).elements(first, last):
            for name in element.properties:
                kind = KIND_BY_PROPERTY.get(name)
                if kind and (
                    element.item is not None or element.method is not ExtractionMethod.HCARD
                ):
                    yield from _build_statements(page, element, kind)


def _find_tag_ranges(page: TokenizedPage) -> Iterator[tuple[int, int]]:
    """Yield ranges of tags around contact markers, so that only these parts are outlined."""
    places = sorted(
        match.start()
        for pattern in _list_patterns(page)
        for match in pattern.finditer(page.lowercase_attributes)
    )
    if len(places) > MAX_MARKERS:
        page.capped["marks"] = None
    indexes = sorted({page.get_tag_index(place) for place in places[:MAX_MARKERS]})
    first = last = -1
    for index in indexes:
        if index - _MAX_TAG_DISTANCE > last:
            if last >= 0:
                yield first, last
            first = max(0, index - _MAX_TAG_DISTANCE)
        last = index + _MAX_TAG_DISTANCE
    if last >= 0:
        yield first, last


def _list_patterns(page: TokenizedPage) -> Iterator[re.Pattern[str]]:
    for word, pattern in _PATTERNS.items():
        if word in page.lowercase_attributes:
            yield pattern


def _build_statements(
    page: TokenizedPage, element: _Element, kind: StatementKind
) -> Iterator[ContactStatement]:
    item = element.item
    name, role = _get_person(item) if item else (None, None)
    place = page.get_position(element.index)
    parts = [part for part in element.parts if "value" in part.properties] or [element]
    for part in parts:
        value = _get_value(part, kind)
        if value:
            yield ContactStatement(kind, value, element.method, place, name, role)


def _get_value(element: _Element, kind: StatementKind) -> str:
    attributes = element.attributes
    href = attributes.get("href", "")
    if attributes.get("content"):
        return attributes["content"]
    if href and (kind is StatementKind.PROFILE or href.lower().startswith(("mailto:", "tel:"))):
        return href
    inside = " ".join(element.inside.split())
    return attributes.get("value") or _get_title_value(attributes, kind) or inside


def _get_title_value(attributes: dict[str, str], kind: StatementKind) -> str:
    """Return the `title` of an `<abbr title="+49 341 …">` if it holds a contact, else ""."""
    title = attributes.get("title", "")
    if kind is StatementKind.PHONE:
        return title if sum(map(str.isdecimal, title[:60])) >= MIN_DIGITS else ""
    return title if "@" in title else ""


def _get_person(item: _Element) -> tuple[str | None, str | None]:
    if item.method is not ExtractionMethod.HCARD and not item.kind.endswith(_PERSON_TYPES):
        return None, None
    name = _get_first_property(item, ("name",))
    if (
        name
        and item.method is ExtractionMethod.HCARD
        and name == _get_first_property(item, ("org",))
    ):
        name = None
    return name, _get_first_property(item, tuple(_ROLE_PROPERTIES))


def _get_first_property(item: _Element, names: tuple[str, ...]) -> str | None:
    for part in item.parts:
        if not part.is_item and any(name in names for name in part.properties):
            return shorten(part.attributes.get("content") or part.inside)
    return None


class _Outline:
    """The marked-up elements with their ancestors; unclosed elements end with their parent."""

    def __init__(self, page: TokenizedPage) -> None:
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
        element = (
            self._element(index, parse_attributes(written))
            if _MARKER_ATTRIBUTES.search(written)
            else None
        )
        if element is not None:
            self._found.append(element)
            # An element belongs to its item and to the property that contains it.
            nearest = next((open_ for _, open_, _ in reversed(self._open) if open_), None)
            if element.item is not None:
                element.item.parts.append(element)
            if nearest is not None and nearest is not element.item:
                nearest.parts.append(element)
        if (
            name not in _VOID_ELEMENTS
            and not written.endswith("/>")
            and len(self._open) < MAX_DEPTH
        ):
            self._open.append((name, element, index))

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
            return _Element(
                index, attributes, ExtractionMethod.MICRODATA, names, is_item, kind, item
            )
        if "property" in attributes or "typeof" in attributes:
            # `schema:email` and `http://schema.org/email` are both `email`.
            names = tuple(
                re.split(r"[:/#]", name)[-1]
                for name in attributes.get("property", "").lower().split()
            )
            kind = attributes.get("typeof", "").lower()
            is_item = "typeof" in attributes
            return _Element(index, attributes, ExtractionMethod.RDFA, names, is_item, kind, item)
        return _build_card_element(index, attributes, item)


def _build_card_element(
    index: int, attributes: dict[str, str], item: _Element | None
) -> _Element | None:
    words = attributes.get("class", "").lower().split()
    is_card = not _CARD_CLASSES.isdisjoint(words)
    if not is_card and (item is None or item.method is not ExtractionMethod.HCARD):
        return None
    names = tuple(_CARD_PROPERTIES[word] for word in words if word in _CARD_PROPERTIES)
    if not names and not is_card:
        return None
    return _Element(
        index, attributes, ExtractionMethod.HCARD, () if is_card else names, is_card, "", item
    )
