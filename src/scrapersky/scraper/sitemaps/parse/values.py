"""Parse the values of sitemap fields and of the image, video and news extensions.

Extension items are dictionaries keyed by tag name without prefix. Their dates are ISO strings, so
that an item can be stored as JSON.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import Generic, TypeVar

from scrapersky.scraper.http.urls import clean_url, get_origin
from scrapersky.scraper.sitemaps.parse.dates import parse_lastmod
from scrapersky.scraper.sitemaps.parse.entries import Extension
from scrapersky.scraper.sitemaps.parse.tokenizer import (
    has_undefined_entity,
    parse_attributes,
    unescape_xml,
)

ValueT = TypeVar("ValueT")
MAX_CACHED_VALUES = 4_096
MAX_LOC_CHARACTERS = 8_192
"""Four times the protocol's limit. Longer URLs do not occur in practice."""
CHANGEFREQS = {
    name: name for name in ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
}
"""Valid values, each mapped to itself, so that millions of entries share seven strings."""
_COMMON_PRIORITIES = {
    f"{tenths / 10:.{digits}f}": tenths / 10 for tenths in range(11) for digits in (1, 2)
}

# Printable ASCII without space and backslash; in a path also without `?`, `#` and `;`. Such URLs
# need no cleaning or resolving.
_HOST = r"https?://[A-Za-z0-9](?:[A-Za-z0-9.\-]*[A-Za-z0-9])?(?::[1-9][0-9]{0,3})?"
PLAIN_URL = r"https?://[A-Za-z0-9][A-Za-z0-9.\-]{0,100}+/[!-;=?-\[\]-~]{0,8000}+"
"""URL in text that cleaning would not change, unless it contains references."""
PLAIN_HREF = PLAIN_URL.replace("[!-;", "[!#-;")
"""Like `PLAIN_URL`, but inside double quotes."""
PLAIN_ORIGIN = re.compile(rf"{_HOST}(?=/)")
_PLAIN_URL = re.compile(rf"{_HOST}(?:/[!-\[\]-~]*)?\Z")
_PLAIN_PATH = re.compile(r"/(?![/.])(?:[!-\"$-:<->@-\[\]-~](?<!/\.))*\Z")
_OTHER_SCHEME = re.compile(r"(?!https?:)[A-Za-z][A-Za-z0-9+.\-]*:", re.IGNORECASE)


class ValueCache(dict[str, ValueT | None], Generic[ValueT]):
    """Cache of parsed texts. Texts without a valid value are parsed every time."""

    def __init__(self, read: Callable[[str], ValueT | None]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> ValueT | None:
        value = self._read(text)
        if value is not None:
            if len(self) >= MAX_CACHED_VALUES:
                self.clear()
            self[text] = value
        return value


class ValueParser:
    """Parser for the values of one document, with its base URL and declared entities."""

    def __init__(self, base: str) -> None:
        self.base = base
        self._origin = get_origin(base)
        self.dropped: Counter[str] = Counter()
        self.entities: set[str] = set()
        self.dates = ValueCache(self.date)
        self.changefreqs = ValueCache(self.changefreq)
        self.priorities = ValueCache(self.priority)

    def text(self, raw: str) -> str:
        return unescape_xml(raw, self.entities).strip() if "&" in raw else raw.strip()

    def words(self, raw: str) -> str:
        """Return the text with normalised whitespace."""
        text = unescape_xml(raw, self.entities) if "&" in raw else raw
        return " ".join(text.split())

    def loc(self, raw: str) -> str | None:
        """Return the URL of a page, or None if invalid, which is counted by reason."""
        if self.is_undefined(raw):
            self.dropped["undefined_entity"] += 1
            return None
        return self.clean_loc(self.text(raw))

    def is_undefined(self, raw: str) -> bool:
        """Whether the text has an undefined reference, so that its URL is unknown."""
        return "&" in raw and has_undefined_entity(raw, self.entities)

    def clean_loc(self, text: str) -> str | None:
        """Like `loc`, for text without references."""
        url = self.address(text)
        if url is None:
            self.dropped[_get_drop_reason(text)] += 1
        return url

    def clean_raw_url(self, raw: str) -> str | None:
        """Return the URL of a page from raw text with references. Nothing is counted."""
        return None if self.is_undefined(raw) else self.address(self.text(raw))

    def address(self, text: str) -> str | None:
        """Like `clean_raw_url`, for text without references."""
        if len(text) > MAX_LOC_CHARACTERS:
            return None
        if _PLAIN_URL.match(text):
            return text
        if _PLAIN_PATH.match(text):
            return self._origin + text
        return clean_url(text, self.base) if text else None

    def url(self, raw: str) -> str | None:
        """Return a URL inside an extension, or None if invalid."""
        return None if self.is_undefined(raw) else self.resolve_url(self.text(raw))

    def resolve_url(self, text: str) -> str | None:
        """Like `url`, for text whose references are already resolved."""
        if _PLAIN_URL.match(text):
            return text
        return clean_url(text, self.base) if text else None

    def date(self, raw: str | None) -> datetime | None:
        if raw is None or not (text := self.text(raw)):
            return None
        moment = parse_lastmod(text)
        if moment is None:
            self.dropped["bad_lastmod"] += 1
        return moment

    def changefreq(self, raw: str | None) -> str | None:
        if raw in CHANGEFREQS:
            return raw
        if raw is None or not (text := self.text(raw)):
            return None
        changefreq = parse_changefreq(text)
        if changefreq is None:
            self.dropped["bad_changefreq"] += 1
        return changefreq

    def priority(self, raw: str | None) -> float | None:
        if raw in _COMMON_PRIORITIES:
            return _COMMON_PRIORITIES[raw]
        if raw is None or not (text := self.text(raw)):
            return None
        priority = parse_priority(text)
        if priority is None:
            self.dropped["bad_priority"] += 1
        return priority


def parse_changefreq(text: str) -> str | None:
    return CHANGEFREQS.get(text.lower())


def parse_priority(text: str) -> float | None:
    number = parse_decimal(text)
    return number if number is not None and 0 <= number <= 1 else None


def _get_drop_reason(text: str) -> str:
    if not text:
        return "empty_loc"
    if len(text) > MAX_LOC_CHARACTERS:
        return "too_long"
    return "not_http" if _OTHER_SCHEME.match(text) else "bad_url"


def parse_decimal(text: str) -> float | None:
    """Parse a decimal number. A comma as decimal separator is accepted."""
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return None
    return number if abs(number) < 1e15 else None


EXTENSION_TAGS = frozenset({"image", "video", "news"})
FieldAdder = Callable[[Extension, str, str, ValueParser], object]
"""Function that adds a field's text and raw attributes to an item."""
WHOLE_NUMBER_FIELDS = frozenset({"duration", "view_count"})
_YES = frozenset({"yes", "true", "1", "y"})
_NO = frozenset({"no", "false", "0", "n"})


class ExtensionItem:
    """Image, video or news item that is being read."""

    def __init__(self, name: str, prefix: str) -> None:
        self.name = name
        self.prefix = prefix
        self.parent: str | None = None
        """Group that contains the current field: `publication` of news, `tvshow` of a video."""
        self.content: Extension = {}
        self.doubtful: dict[str, str] = {}
        """Fields in the open item that, by name, may belong to the page instead."""

    def add(self, field: str, raw: str, attributes: str, values: ValueParser) -> None:
        if _is_url_field(field) and values.is_undefined(raw):
            return
        add = get_adder(self.name, field, self.parent)
        add(self.content, values.text(raw), attributes, values)


class FieldMeaning(Enum):
    """How a field's text is used: stored under its name, or handled by a `FieldAdder`."""

    URL = 1
    TEXT = 2
    OTHER = 3


def get_meaning(container: str, field: str, parent: str | None) -> FieldMeaning:
    is_special = (
        field in _LIST_FIELDS
        or field in _SPECIAL_FIELDS
        or field in _TYPED_FIELDS
        or field in _DERIVED_KEYS
    )
    if container == "news" or parent is not None or (container == "video" and is_special):
        return FieldMeaning.OTHER
    return FieldMeaning.URL if _is_url_field(field) else FieldMeaning.TEXT


@lru_cache(maxsize=1024)
def get_adder(container: str, field: str, parent: str | None) -> FieldAdder:
    """Return the adder for a field of an image, video or news item. Its references are resolved."""
    if get_meaning(container, field, parent) is FieldMeaning.URL or field == "gallery_loc":
        return _build_adder(container, field, parent)
    add = _build_adder(container, field, parent)
    return lambda content, text, attributes, values: add(
        content, " ".join(text.split()), attributes, values
    )


def _build_adder(container: str, field: str, parent: str | None) -> FieldAdder:
    if container == "news":
        return _build_news_adder(field, parent)
    if container == "video":
        return _build_video_adder(field, parent)
    return lambda content, text, _, values: _add_plain(content, field, text, values)


def _build_video_adder(field: str, parent: str | None) -> FieldAdder:
    if parent == "tvshow":
        return lambda content, text, _, __: _add_to_group(content, "tvshow", field, text)
    if field in _LIST_FIELDS:
        return lambda content, text, _, __: _add_to_list(content, _LIST_FIELDS[field], text)
    if field in _SPECIAL_FIELDS:
        add = _SPECIAL_FIELDS[field]
        return lambda content, text, attributes, values: add(
            content, text, parse_attributes(attributes), values
        )
    if field in _TYPED_FIELDS:
        read = _TYPED_FIELDS[field]
        return lambda content, text, _, __: _add_typed(content, field, read(text))
    return lambda content, text, _, values: _add_plain(content, field, text, values)


def _add_typed(content: Extension, field: str, value: object) -> None:
    if value is not None:
        content.setdefault(field, value)


def _add_plain(content: Extension, field: str, text: str, values: ValueParser) -> None:
    if value := values.resolve_url(text.strip()) if _is_url_field(field) else text:
        content.setdefault(field, value)


def _is_url_field(field: str) -> bool:
    return field.endswith("loc") or field == "license"


def _build_news_adder(field: str, parent: str | None) -> FieldAdder:
    key = get_news_key(field, parent)
    if key != field:
        return lambda content, text, _, __: content.setdefault(key, text or None)
    if field in _NEWS_LISTS:
        return lambda content, text, _, __: content.setdefault(
            field, [word for part in text.split(",") if (word := part.strip())]
        )
    if field == "publication_date":
        return lambda content, text, _, __: content.setdefault(field, _parse_date(text))
    return lambda content, text, _, __: _add_typed(content, field, text or None)


def get_news_key(field: str, parent: str | None) -> str:
    """Return the key under which a field of a news item is stored."""
    is_publication = parent == "publication" or field in ("name", "language")
    return f"publication_{field}" if is_publication else field


def is_text_field(field: str, parent: str | None) -> bool:
    """Whether a field of a news item stores its words unchanged, if there are any."""
    is_other = field in _NEWS_LISTS or field == "publication_date"
    return get_news_key(field, parent) != field or not is_other


def _add_to_list(content: Extension, key: str, text: str) -> None:
    """Append to a list, unless a field of that name already exists."""
    if isinstance(known := content.setdefault(key, []), list):
        known.append(text)


def _add_to_group(content: Extension, key: str, field: str, text: str) -> None:
    if isinstance(known := content.setdefault(key, {}), dict):
        known[field] = text


def _build_restriction_adder(
    name: str,
) -> Callable[[Extension, str, dict[str, str], ValueParser], None]:
    """Parse `<video:restriction relationship="deny">DE FR</…>` to `restriction_deny: [DE, FR]`."""

    def add(content: Extension, text: str, attributes: dict[str, str], values: ValueParser) -> None:
        relation = "deny" if attributes.get("relationship", "").lower() == "deny" else "allow"
        content.setdefault(f"{name}_{relation}", text.split())

    return add


def _add_gallery(
    content: Extension, text: str, attributes: dict[str, str], values: ValueParser
) -> None:
    _add_plain(content, "gallery_loc", text, values)
    if title := attributes.get("title"):
        content.setdefault("gallery_title", values.text(title))


def _add_uploader(
    content: Extension, text: str, attributes: dict[str, str], values: ValueParser
) -> None:
    if text:
        content.setdefault("uploader", text)
    if info := attributes.get("info"):
        content.setdefault("uploader_info", values.url(info))


def _add_price(
    content: Extension, text: str, attributes: dict[str, str], values: ValueParser
) -> None:
    price: Extension = {"value": parse_decimal(text)}
    for name in ("currency", "type", "resolution"):
        if value := attributes.get(name):
            price[name] = values.text(value)
    content.setdefault("price", price)


@lru_cache(maxsize=4096)
def _parse_date(text: str) -> str | None:
    moment = parse_lastmod(text)
    return moment.isoformat() if moment else None


def _parse_whole_number(text: str) -> int | None:
    if len(text) < 10 and text.isascii() and text.isdigit():
        return int(text)
    number = parse_decimal(text)
    return round(number) if number is not None else None


def _parse_boolean(text: str) -> bool | None:
    return True if text.lower() in _YES else False if text.lower() in _NO else None


_NEWS_LISTS = frozenset({"genres", "keywords", "stock_tickers"})
_LIST_FIELDS = {"tag": "tags", "content_segment_loc": "content_segment_locs"}
_DERIVED_KEYS = frozenset(
    {"tags", "content_segment_locs", "gallery_title", "uploader_info", "tvshow"}
)
"""Keys derived from other fields. A field with such a name must not overwrite them."""
_SPECIAL_FIELDS: dict[str, Callable[[Extension, str, dict[str, str], ValueParser], None]] = {
    "restriction": _build_restriction_adder("restriction"),
    "platform": _build_restriction_adder("platform"),
    "gallery_loc": _add_gallery,
    "uploader": _add_uploader,
    "price": _add_price,
}
_TYPED_FIELDS: dict[str, Callable[[str], object]] = {
    "duration": _parse_whole_number,
    "view_count": _parse_whole_number,
    "rating": parse_decimal,
    "family_friendly": _parse_boolean,
    "requires_subscription": _parse_boolean,
    "live": _parse_boolean,
    "publication_date": _parse_date,
    "expiration_date": _parse_date,
}
