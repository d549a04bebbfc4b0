"""Images, videos and news: the extensions of the sitemap protocol, as dictionaries.

Keys are the tags' names without prefix; dates are ISO texts, so that a dictionary can be stored
as JSON as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from scrapersky.scraper.dates import parse_lastmod
from scrapersky.scraper.sitemap_parser.model import Extension
from scrapersky.scraper.sitemap_parser.tokens import attributes_of
from scrapersky.scraper.sitemap_parser.values import Values, number_of

CONTAINERS = frozenset({"image", "video", "news"})
Adder = Callable[[Extension, str, str, Values], None]
"""Adds the text of a field, given its attributes as written, to what is known of its item."""
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
        add = adder_for(self.name, field, self.parent)
        add(self.content, values.words(raw), attributes, values)


@lru_cache(maxsize=1024)
def adder_for(container: str, field: str, parent: str | None) -> Adder:
    """What to do with a field of an image, video or news item, whose text is words by then."""
    if container == "news":
        return lambda content, text, _, __: _add_news(content, field, text, parent)
    if container == "video":
        return lambda content, text, attributes, values: _add_video(
            content, field, text, parent, attributes, values
        )
    return lambda content, text, _, values: _add_plain(content, field, text, values)


def _add_plain(content: Extension, field: str, text: str, values: Values) -> None:
    if text and (value := _url_or_text(field, text, values)):
        content.setdefault(field, value)


def _url_or_text(field: str, text: str, values: Values) -> str | None:
    """The text was unescaped already, so it is only cleaned here."""
    return values.resolved(text) if field.endswith("loc") or field == "license" else text


def _add_news(content: Extension, field: str, text: str, parent: str | None) -> None:
    if parent == "publication" or field in ("name", "language"):
        content.setdefault(f"publication_{field}", text or None)
    elif field in ("genres", "keywords", "stock_tickers"):
        content.setdefault(field, [part.strip() for part in text.split(",") if part.strip()])
    elif field == "publication_date":
        content.setdefault(field, _date(text))
    elif text:
        content.setdefault(field, text)


def _add_video(
    content: Extension,
    field: str,
    text: str,
    parent: str | None,
    attributes: str,
    values: Values,
) -> None:
    if parent == "tvshow":
        content.setdefault("tvshow", {})[field] = text
    elif field in _LISTED:
        content.setdefault(_LISTED[field], []).append(text)
    elif field in _SPECIAL:
        _SPECIAL[field](content, text, attributes_of(attributes), values)
    elif field in _TYPED:
        if (value := _TYPED[field](text)) is not None:
            content.setdefault(field, value)
    else:
        _add_plain(content, field, text, values)


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


def _date(text: str) -> str | None:
    moment = parse_lastmod(text)
    return moment.isoformat() if moment else None


def _whole(text: str) -> int | None:
    number = number_of(text)
    return round(number) if number is not None else None


def _truth(text: str) -> bool | None:
    return True if text.lower() in _YES else False if text.lower() in _NO else None


_LISTED = {"tag": "tags", "content_segment_loc": "content_segment_locs"}
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
