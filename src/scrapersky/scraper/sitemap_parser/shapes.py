"""Learn how a site writes its records, so that the next thousands are read in one stroke.

Programs write sitemaps, so records look alike: the same tags in the same order. A shape is one
such order with a pattern for it. It is learned only from records that leave no doubt; whatever
does not match a shape to the letter is read tag by tag, so a shape can make reading faster but
never different.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from scrapersky.scraper.sitemap_parser.escapes import escape
from scrapersky.scraper.sitemap_parser.extensions import CONTAINERS, Adder, adder_for
from scrapersky.scraper.sitemap_parser.model import Entry, Extension
from scrapersky.scraper.sitemap_parser.values import Values

PAGE_FIELDS = frozenset({"loc", "lastmod", "changefreq", "priority"})
GROUPS = frozenset({"publication", "tvshow"})
MAX_PARTS = 400
"""A record of more tags than that is one of a kind."""

# `<` opens every part, and no half of it runs past the next one: linear whatever the input.
_PART = re.compile(
    r"<(/?)((?:[A-Za-z_][\w.\-]*+:)?[A-Za-z_][\w.\-]*+)(\s[^<>]*?)?(/?)>"
    r"(?:\s*+<!\[CDATA\[([^<\]]*+)\]\]>\s*+(?=<)|([^<]*+))"
)
_GIVEN = r'(?:\s++[A-Za-z_][\w:.\-]*+="[^"<>]*+")++'
_ATTRIBUTES = re.compile(_GIVEN + r"\s*+\Z")
_ATTRIBUTE = re.compile(r'([A-Za-z_][\w:.\-]*+)="([^"<>]*+)"')
TEXT = r"([^<]*+)"
OPEN_TEXT = r"[^<]*+"
_CDATA = r"\s*+<!\[CDATA\[([^<\]]*+)\]\]>\s*+"
_GAP = r"\s*+"


class _Part(NamedTuple):
    """One tag of a sample and what follows it."""

    is_close: bool
    tag: str
    """As written, with prefix."""
    attributes: str
    is_empty: bool
    text: str | None
    """None for a text in CDATA."""

    @property
    def prefix(self) -> str:
        return self.tag.lower().rpartition(":")[0]

    @property
    def name(self) -> str:
        return self.tag.lower().rpartition(":")[2]

    @property
    def is_bare(self) -> bool:
        """An opening tag and nothing else."""
        return not (self.is_close or self.attributes or self.is_empty)

    @property
    def is_followed_by_space(self) -> bool:
        return self.text is not None and not self.text.strip()


class _Doubtful(Exception):
    """The record is not one to learn from."""


@dataclass
class Medium:
    """One image, video or news item of a shape: its fields by the slots their texts are in."""

    kind: str
    fields: list[tuple[Adder, int, int | None]] = field(default_factory=list)


@dataclass
class Shape:
    """One order of tags, with a pattern that has a group for every text in it."""

    pattern: re.Pattern[str]
    is_sitemap: bool
    page: dict[str, int]
    media: list[Medium]
    alternates: list[tuple[int, int]]
    cdata: frozenset[int]
    mobile: bool
    parts: tuple[str, ...]
    """The tags and gaps of it, for a pattern with other groups."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Those of the page, in their order."""
        return tuple(sorted(self.page, key=self.page.__getitem__))

    def split_behind(self, fields: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The parts up to the end of that many fields, and the rest; for a plain shape."""
        slots = [index for index, part in enumerate(self.parts) if part == TEXT]
        behind = slots[fields - 1] + 2
        return self.parts[:behind], self.parts[behind:]

    @property
    def is_plain(self) -> bool:
        """Only fields of the page, as written."""
        return not (self.media or self.alternates or self.cdata or self.mobile)

    def entry(self, texts: tuple[str, ...], values: Values) -> Entry | None:
        """The entry of a record that matched; None, counted, when its address is none."""
        if self.cdata:
            texts = tuple(
                escape(text) if slot in self.cdata else text for slot, text in enumerate(texts)
            )
        page = self.page
        loc = values.loc(texts[page["loc"]])
        if loc is None:
            return None
        media = self._media(texts, values) if self.media else _NO_MEDIA
        return Entry(
            loc,
            values.date(texts[page["lastmod"]]) if "lastmod" in page else None,
            values.changefreq(texts[page["changefreq"]]) if "changefreq" in page else None,
            values.priority(texts[page["priority"]]) if "priority" in page else None,
            media["image"] or (),
            media["video"] or (),
            media["news"][0] if media["news"] else None,
            self._alternates(texts, values) or () if self.alternates else (),
            self.mobile,
            self.is_sitemap,
        )

    def _media(self, texts: tuple[str, ...], values: Values) -> dict[str, list[Extension]]:
        found: dict[str, list[Extension]] = {"image": [], "video": [], "news": []}
        for medium in self.media:
            content: Extension = {}
            for add, slot, attributes in medium.fields:
                given = "" if attributes is None else texts[attributes]
                add(content, values.words(texts[slot]), given, values)
            if content:
                found[medium.kind].append(content)
        return found

    def _alternates(self, texts: tuple[str, ...], values: Values) -> list[tuple[str, str]]:
        found = []
        for language, href in self.alternates:
            if texts[language] and (url := values.url(texts[href])):
                found.append((values.text(texts[language]), url))
        return found


_NO_MEDIA: dict[str, list[Extension]] = {"image": [], "video": [], "news": []}


def learn(record: str) -> Shape | None:
    """The shape of a record, or None when anything about it is out of the ordinary."""
    parts = list(_parts_of(record))
    try:
        return _Learner(parts).shape() if len(parts) <= MAX_PARTS else None
    except (_Doubtful, IndexError):
        return None


def _parts_of(record: str) -> Iterator[_Part]:
    position = 0
    while match := _PART.match(record, position):
        slash, tag, attributes, empty, cdata, text = match.groups()
        is_cdata = cdata is not None
        yield _Part(slash == "/", tag, attributes or "", empty == "/", None if is_cdata else text)
        position = match.end()
    if position < len(record):
        yield _Part(True, "?", "", False, "doubtful")


class _Learner:
    """Walks over one sample and notes the pattern and the meaning of its groups."""

    def __init__(self, parts: list[_Part]) -> None:
        self._parts = parts
        self._at = 0
        self._pattern: list[str] = []
        self._slots = 0
        self._cdata: set[int] = set()
        self._page: dict[str, int] = {}
        self._media: list[Medium] = []
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
        parts = tuple(self._pattern)
        return Shape(
            pattern=re.compile(_GAP + "".join(parts)),
            is_sitemap=record.name == "sitemap",
            page=self._page,
            media=self._media,
            alternates=self._alternates,
            cdata=frozenset(self._cdata),
            mobile=self._mobile,
            parts=parts,
        )

    # Steps over one tag or element, each of them refusing what it does not expect

    def _next(self) -> _Part:
        self._at += 1
        return self._parts[self._at - 1]

    def _open(self) -> _Part:
        """A bare opening tag with nothing but space behind it."""
        part = self._next()
        if not part.is_bare or not part.is_followed_by_space:
            raise _Doubtful
        self._write(f"<{part.tag}>", gap=True)
        return part

    def _closes(self, opened: _Part) -> bool:
        """Step over the closing tag of what was opened, if that is what comes next."""
        part = self._parts[self._at]
        if not part.is_close:
            return False
        if part.tag != opened.tag or part.attributes or not part.is_followed_by_space:
            raise _Doubtful
        self._at += 1
        self._write(f"</{part.tag}>", gap=True)
        return True

    def _element(self, prefix: str) -> None:
        part = self._parts[self._at]
        if part.name in CONTAINERS and part.prefix not in ("", prefix):
            self._medium(self._open())
        elif part.name == "link" and part.prefix:
            self._link(self._next())
        elif part.name == "mobile":
            self._mobile_tag(self._next())
        else:
            self._page_field(prefix)

    def _page_field(self, prefix: str) -> None:
        part = self._parts[self._at]
        if part.prefix != prefix or part.name not in PAGE_FIELDS or part.name in self._page:
            raise _Doubtful
        self._page[part.name], attributes = self._text_element()
        if attributes is not None:
            raise _Doubtful

    def _medium(self, opened: _Part) -> None:
        medium = Medium(opened.name)
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
        slot, attributes = self._text_element()
        medium.fields.append((adder_for(medium.kind, name, group), slot, attributes))

    def _text_element(self) -> tuple[int, int | None]:
        """`<tag>text</tag>`: the slot of its text, and that of its attributes if it has any."""
        part, attributes = self._next(), None
        if part.is_close or part.is_empty:
            raise _Doubtful
        self._write(f"<{part.tag}")
        if part.attributes:
            attributes = self._attributes(part)
        self._write(">")
        slot = self._slot(_CDATA if part.text is None else TEXT)
        if part.text is None:
            self._cdata.add(slot)
        if not self._parts[self._at].is_close or not self._closes(part):
            raise _Doubtful
        return slot, attributes

    def _attributes(self, part: _Part) -> int:
        if not _ATTRIBUTES.match(part.attributes):
            raise _Doubtful
        slot = self._slot(f"({_GIVEN})")
        self._write(_GAP, raw=True)
        return slot

    def _link(self, part: _Part) -> None:
        is_sound = part.is_empty and _ATTRIBUTES.match(part.attributes)
        if part.is_close or not is_sound or not part.is_followed_by_space:
            raise _Doubtful
        slots: dict[str, int] = {}
        self._write(f"<{part.tag}")
        for name, value in _ATTRIBUTE.findall(part.attributes):
            self._write(r"\s++", raw=True)
            local = name.lower().rpartition(":")[2]
            if local in slots:
                raise _Doubtful
            if local in ("hreflang", "href"):
                self._write(f'{name}="')
                slots[local] = self._slot(r'([^"<>]*+)')
                self._write('"')
            else:
                self._write(f'{name}="{value}"')
        self._write(r"\s*+", raw=True)
        self._write("/>", gap=True)
        if len(slots) == 2:
            self._alternates.append((slots["hreflang"], slots["href"]))

    def _mobile_tag(self, part: _Part) -> None:
        is_sound = part.is_empty and not part.attributes and part.is_followed_by_space
        if part.is_close or not is_sound:
            raise _Doubtful
        self._write(f"<{part.tag}/>", gap=True)
        self._mobile = True

    # The pattern

    def _write(self, text: str, *, gap: bool = False, raw: bool = False) -> None:
        self._pattern.append((text if raw else re.escape(text)) + (_GAP if gap else ""))

    def _slot(self, pattern: str) -> int:
        self._pattern.append(pattern)
        self._slots += 1
        return self._slots - 1
