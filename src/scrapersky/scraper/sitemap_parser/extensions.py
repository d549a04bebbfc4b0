"""Images, videos and news: the extensions of the sitemap protocol, as dictionaries.

Keys are the tags' names without prefix; dates are ISO texts, so that a dictionary can be stored
as JSON as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import lru_cache

from scrapersky.scraper.dates import parse_lastmod
from scrapersky.scraper.sitemap_parser.model import Extension
from scrapersky.scraper.sitemap_parser.tokens import attributes_of
from scrapersky.scraper.sitemap_parser.values import Values, number_of

CONTAINERS = frozenset({"image", "video", "news"})
Adder = Callable[[Extension, str, str, Values], object]
"""Adds the text of a field, given its attributes as written, to what is known of its item."""
WHOLE_NUMBERS = frozenset({"duration", "view_count"})
_YES = frozenset({"yes", "true", "1", "y"})
_NO = frozenset({"no", "false", "0", "n"})


class Container:
    """One image, video or news item while its fields are being read."""

    def __init__(self, name: str, prefix: str) -> None:
        self.name = name
        self.prefix = prefix
        self.parent: str | None = None
        """The group a field stands in: `publication` of news, `tvshow` of a video."""
        self.content: Extension = {}
        self.doubtful: dict[str, str] = {}
        """Fields that are the page's by their name but stand in here, while it is still open."""

    def add(self, field: str, raw: str, attributes: str, values: Values) -> None:
        if _is_url(field) and values.is_undefined(raw):
            return
        add = adder_for(self.name, field, self.parent)
        add(self.content, values.text(raw), attributes, values)


class Meaning(Enum):
    """What becomes of the text of a field: kept under its name, or something else."""

    URL = 1
    TEXT = 2
    OTHER = 3


def meaning_of(container: str, field: str, parent: str | None) -> Meaning:
    is_special = field in _LISTED or field in _SPECIAL or field in _TYPED or field in _MADE
    if container == "news" or parent is not None or (container == "video" and is_special):
        return Meaning.OTHER
    return Meaning.URL if _is_url(field) else Meaning.TEXT


@lru_cache(maxsize=1024)
def adder_for(container: str, field: str, parent: str | None) -> Adder:
    """What to do with a field of an image, video or news item, whose references are undone."""
    if meaning_of(container, field, parent) is Meaning.URL or field == "gallery_loc":
        return _special_adder(container, field, parent)
    add = _special_adder(container, field, parent)
    return lambda content, text, given, values: add(content, " ".join(text.split()), given, values)


def _special_adder(container: str, field: str, parent: str | None) -> Adder:
    if container == "news":
        return _news_adder(field, parent)
    if container == "video":
        return _video_adder(field, parent)
    return lambda content, text, _, values: _add_plain(content, field, text, values)


def _video_adder(field: str, parent: str | None) -> Adder:
    if parent == "tvshow":
        return lambda content, text, _, __: _add_to_group(content, "tvshow", field, text)
    if field in _LISTED:
        return lambda content, text, _, __: _add_to_list(content, _LISTED[field], text)
    if field in _SPECIAL:
        add = _SPECIAL[field]
        return lambda content, text, given, values: add(content, text, attributes_of(given), values)
    if field in _TYPED:
        read = _TYPED[field]
        return lambda content, text, _, __: _add_typed(content, field, read(text))
    return lambda content, text, _, values: _add_plain(content, field, text, values)


def _add_typed(content: Extension, field: str, value: object) -> None:
    if value is not None:
        content.setdefault(field, value)


def _add_plain(content: Extension, field: str, text: str, values: Values) -> None:
    if value := values.resolved(text.strip()) if _is_url(field) else text:
        content.setdefault(field, value)


def _is_url(field: str) -> bool:
    return field.endswith("loc") or field == "license"


def _news_adder(field: str, parent: str | None) -> Adder:
    key = news_key(field, parent)
    if key != field:
        return lambda content, text, _, __: content.setdefault(key, text or None)
    if field in _NEWS_LISTS:
        return lambda content, text, _, __: content.setdefault(field, _split(text))
    if field == "publication_date":
        return lambda content, text, _, __: content.setdefault(field, _date(text))
    return lambda content, text, _, __: _add_typed(content, field, text or None)


def news_key(field: str, parent: str | None) -> str:
    """What a field of a news item is kept under."""
    is_publication = parent == "publication" or field in ("name", "language")
    return f"publication_{field}" if is_publication else field


def keeps_words(field: str, parent: str | None) -> bool:
    """Whether the words of a field of a news item are kept as they are, if there are any."""
    is_other = field in _NEWS_LISTS or field == "publication_date"
    return news_key(field, parent) != field or not is_other


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _add_to_list(content: Extension, key: str, text: str) -> None:
    """Unless a field of that very name is there already."""
    if isinstance(known := content.setdefault(key, []), list):
        known.append(text)


def _add_to_group(content: Extension, key: str, field: str, text: str) -> None:
    if isinstance(known := content.setdefault(key, {}), dict):
        known[field] = text


def _add_allowed(name: str) -> Callable[[Extension, str, dict[str, str], Values], None]:
    """`<video:restriction relationship="deny">DE FR</…>` → `restriction_deny: [DE, FR]`."""

    def add(content: Extension, text: str, attributes: dict[str, str], values: Values) -> None:
        relation = "deny" if attributes.get("relationship", "").lower() == "deny" else "allow"
        content.setdefault(f"{name}_{relation}", text.split())

    return add


def _add_gallery(content: Extension, text: str, attributes: dict[str, str], values: Values) -> None:
    _add_plain(content, "gallery_loc", text, values)
    if title := attributes.get("title"):
        content.setdefault("gallery_title", values.text(title))


def _add_uploader(
    content: Extension, text: str, attributes: dict[str, str], values: Values
) -> None:
    if text:
        content.setdefault("uploader", text)
    if info := attributes.get("info"):
        content.setdefault("uploader_info", values.url(info))


def _add_price(content: Extension, text: str, attributes: dict[str, str], values: Values) -> None:
    price: Extension = {"value": number_of(text)}
    for name in ("currency", "type", "resolution"):
        if given := attributes.get(name):
            price[name] = values.text(given)
    content.setdefault("price", price)


@lru_cache(maxsize=4096)
def _date(text: str) -> str | None:
    moment = parse_lastmod(text)
    return moment.isoformat() if moment else None


def _whole(text: str) -> int | None:
    if len(text) < 10 and text.isascii() and text.isdigit():
        return int(text)
    number = number_of(text)
    return round(number) if number is not None else None


def _truth(text: str) -> bool | None:
    return True if text.lower() in _YES else False if text.lower() in _NO else None


_NEWS_LISTS = frozenset({"genres", "keywords", "stock_tickers"})
_LISTED = {"tag": "tags", "content_segment_loc": "content_segment_locs"}
_MADE = frozenset({"tags", "content_segment_locs", "gallery_title", "uploader_info", "tvshow"})
"""Keys that other fields make; a field of that name has to wait for its turn."""
_SPECIAL: dict[str, Callable[[Extension, str, dict[str, str], Values], None]] = {
    "restriction": _add_allowed("restriction"),
    "platform": _add_allowed("platform"),
    "gallery_loc": _add_gallery,
    "uploader": _add_uploader,
    "price": _add_price,
}
_TYPED: dict[str, Callable[[str], object]] = {
    "duration": _whole,
    "view_count": _whole,
    "rating": number_of,
    "family_friendly": _truth,
    "requires_subscription": _truth,
    "live": _truth,
    "publication_date": _date,
    "expiration_date": _date,
}
