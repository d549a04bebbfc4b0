"""Learn how a site writes its records, so that the next thousands are read in one stroke.

A shape is learned only from records that leave no doubt.
"""

from __future__ import annotations

import re

from scrapersky.scraper.sitemap_parser.extensions import (
    CONTAINERS,
    WHOLE_NUMBERS,
    Meaning,
    adder_for,
    keeps_words,
    meaning_of,
    news_key,
)
from scrapersky.scraper.sitemap_parser.records import PAGE_FIELDS
from scrapersky.scraper.sitemap_parser.samples import Part, parts_of
from scrapersky.scraper.sitemap_parser.shapes import Medium, Shape
from scrapersky.scraper.sitemap_parser.values import PLAIN_HREF, PLAIN_URL

GROUPS = frozenset({"publication", "tvshow"})
MAX_PARTS = 400
"""A record of more tags than that is one of a kind."""

_GIVEN = r'(?:\s++[A-Za-z_][\w:.\-]*+="[^"<>]*+")++'
_ATTRIBUTES = re.compile(_GIVEN + r"\s*+\Z")
_ATTRIBUTE = re.compile(r'(\s++)([A-Za-z_][\w:.\-]*+)="([^"<>]*+)"')
_TEXT = r"([^<]*+)"
_FILLED = r"([^<\s][^<]*+)"
_DIGITS = r"([0-9]{1,9}+)"
_CDATA = r"\s*+<!\[CDATA\[([^<\]]*+)\]\]>\s*+"
_GAP = r"\s*+"
_NEVER = r"(?!)()"


class _Doubtful(Exception):
    """The record is not one to learn from."""


def learn(record: str) -> Shape | None:
    """The shape of a record, or None when anything about it is out of the ordinary."""
    parts = list(parts_of(record))
    try:
        return _Learner(parts).shape() if len(parts) <= MAX_PARTS else None
    except (_Doubtful, IndexError):
        return None


class _Learner:
    """Walks over one sample and notes the pattern and the meaning of its groups."""

    def __init__(self, parts: list[Part]) -> None:
        self._parts = parts
        self._at = 0
        self._loose: list[str] = []
        self._strict: list[str] = []
        """A pattern for every slot."""
        self._literals = [""]
        """What stands before each of them, and behind the last."""
        self._cdata: set[int] = set()
        self._page: dict[str, int] = {}
        self._media: list[Medium] = []
        self._keys: set[str] = set()
        """Of the item that is being read, those with a meaning of their own."""
        self._alternates: list[tuple[int, int]] = []
        self._mobile = False

    def shape(self) -> Shape:
        record = self._open()
        if record.name not in ("url", "sitemap"):
            raise _Doubtful
        while not self._closes(record):
            self._element(record.prefix)
        if self._at != len(self._parts) or "loc" not in self._page:
            raise _Doubtful
        return Shape(
            loose=_GAP + "".join(self._loose),
            strict=tuple(self._strict),
            literals=tuple(self._literals),
            is_sitemap=record.name == "sitemap",
            page=self._page,
            media=self._media,
            alternates=self._alternates,
            cdata=frozenset(self._cdata),
            mobile=self._mobile,
        )

    # Steps over one tag or element, each of them refusing what it does not expect

    def _next(self) -> Part:
        self._at += 1
        return self._parts[self._at - 1]

    def _open(self) -> Part:
        """A bare opening tag with nothing but space behind it."""
        part = self._next()
        if not part.is_bare or not part.is_followed_by_space:
            raise _Doubtful
        self._write(f"<{part.tag}>", gap=part.text)
        return part

    def _closes(self, opened: Part) -> bool:
        """Step over the closing tag of what was opened, if that is what comes next."""
        part = self._parts[self._at]
        if not part.is_close:
            return False
        if part.tag != opened.tag or part.attributes or not part.is_followed_by_space:
            raise _Doubtful
        self._at += 1
        self._write(f"</{part.tag}>", gap=part.text)
        return True

    def _element(self, prefix: str) -> None:
        part = self._parts[self._at]
        if part.name in CONTAINERS and part.prefix not in ("", prefix):
            self._medium(self._open())
        elif part.name == "link":
            self._link(self._next())
        elif part.name == "mobile":
            self._mobile_tag(self._next())
        else:
            self._page_field(prefix)

    def _page_field(self, prefix: str) -> None:
        part = self._parts[self._at]
        if part.prefix != prefix or part.name not in PAGE_FIELDS or part.name in self._page:
            raise _Doubtful
        strict = f"({PLAIN_URL})" if part.name == "loc" else _TEXT
        self._page[part.name], attributes = self._text_element(strict)
        if attributes is not None:
            raise _Doubtful

    def _medium(self, opened: Part) -> None:
        medium, self._keys = Medium(opened.name), set[str]()
        while not self._closes(opened):
            if self._parts[self._at].name in GROUPS:
                group = self._open()
                while not self._closes(group):
                    self._medium_field(medium, opened.prefix, group.name)
            else:
                self._medium_field(medium, opened.prefix, None)
        self._media.append(medium)

    def _medium_field(self, medium: Medium, prefix: str, group: str | None) -> None:
        name = self._parts[self._at].name
        reserved = name in CONTAINERS or name in GROUPS or name in ("link", "mobile")
        if self._parts[self._at].prefix != prefix or reserved or name in ("url", "sitemap"):
            raise _Doubtful
        meaning = meaning_of(medium.kind, name, group)
        if meaning is Meaning.OTHER:
            self._other_field(medium, name, group)
            return
        kept = medium.urls if meaning is Meaning.URL else medium.texts
        strict = f"({PLAIN_URL})" if meaning is Meaning.URL else _FILLED
        slot, attributes = self._text_element(strict)
        if name in kept:
            medium.others.append((adder_for(medium.kind, name, group), slot, attributes))
        else:
            kept[name] = slot

    def _other_field(self, medium: Medium, name: str, group: str | None) -> None:
        key = news_key(name, group) if medium.kind == "news" else name
        is_new, is_news = key not in self._keys, medium.kind == "news"
        self._keys.add(key)
        is_words = is_new and is_news and keeps_words(name, group)
        is_number = is_new and not is_news and group is None and name in WHOLE_NUMBERS
        strict = _FILLED if is_words else _DIGITS if is_number else _TEXT
        slot, attributes = self._text_element(strict)
        medium.others.append((adder_for(medium.kind, name, group), slot, attributes))
        if is_words:
            medium.words[key] = slot
        elif is_number:
            medium.numbers[key] = slot

    def _text_element(self, strict: str) -> tuple[int, int | None]:
        """`<tag>text</tag>`: the slot of its text, and that of its attributes if it has any."""
        part, attributes = self._next(), None
        if part.is_close or part.is_empty:
            raise _Doubtful
        self._write(f"<{part.tag}")
        if part.attributes:
            attributes = self._attributes(part)
        self._write(">")
        if part.text is None:
            slot = self._slot(_CDATA, strict=_NEVER)
            self._cdata.add(slot)
        else:
            slot = self._slot(_TEXT, strict=strict)
        if not self._parts[self._at].is_close or not self._closes(part):
            raise _Doubtful
        return slot, attributes

    def _attributes(self, part: Part) -> int:
        if not _ATTRIBUTES.match(part.attributes):
            raise _Doubtful
        slot = self._slot(f"({_GIVEN})", strict=f"({_GIVEN})")
        self._blanks(part.attributes[len(part.attributes.rstrip()) :])
        return slot

    def _link(self, part: Part) -> None:
        is_sound = part.is_empty and _ATTRIBUTES.match(part.attributes)
        if part.is_close or not is_sound or not part.is_followed_by_space:
            raise _Doubtful
        slots: dict[str, int] = {}
        self._write(f"<{part.tag}")
        for space, name, value in _ATTRIBUTE.findall(part.attributes):
            self._blanks(space, pattern=r"\s++")
            local = name.lower().rpartition(":")[2]
            if local in slots:
                raise _Doubtful
            if local in ("hreflang", "href"):
                self._write(f'{name}="')
                strict = f"({PLAIN_HREF})" if local == "href" else r"([A-Za-z0-9_\-]++)"
                slots[local] = self._slot(r'([^"<>]*+)', strict=strict)
                self._write('"')
            else:
                self._write(f'{name}="{value}"')
        self._blanks(part.attributes[len(part.attributes.rstrip()) :])
        self._write("/>", gap=part.text)
        if len(slots) == 2:
            self._alternates.append((slots["hreflang"], slots["href"]))

    def _mobile_tag(self, part: Part) -> None:
        is_sound = part.is_empty and not part.attributes and part.is_followed_by_space
        if part.is_close or not is_sound:
            raise _Doubtful
        self._write(f"<{part.tag}/>", gap=part.text)
        self._mobile = True

    # The patterns

    def _write(self, text: str, *, gap: str | None = None) -> None:
        """What stands there as it is, and the blanks behind it, which may be others elsewhere."""
        self._loose.append(re.escape(text))
        self._literals[-1] += text
        if gap is not None:
            self._blanks(gap)

    def _blanks(self, gap: str, *, pattern: str = _GAP) -> None:
        self._loose.append(pattern)
        self._literals[-1] += gap

    def _slot(self, loose: str, *, strict: str) -> int:
        self._loose.append(loose)
        self._strict.append(strict)
        self._literals.append("")
        return len(self._strict) - 1
