"""Learn the shape of a document's records: the same tags in the same order.

Programs write thousands of records alike, so a shape learned once reads all the others. A shape is
learned only from unambiguous records. What does not match a shape exactly is read tag by tag, so a
shape makes reading faster but never different.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from scrapersky.scraper.sitemaps.parse.entries import Extension, UrlEntry
from scrapersky.scraper.sitemaps.parse.readers import PAGE_FIELDS
from scrapersky.scraper.sitemaps.parse.tokenizer import escape_xml
from scrapersky.scraper.sitemaps.parse.values import (
    EXTENSION_TAGS,
    PLAIN_HREF,
    PLAIN_URL,
    WHOLE_NUMBER_FIELDS,
    FieldAdder,
    FieldMeaning,
    ValueParser,
    get_adder,
    get_meaning,
    get_news_key,
    is_text_field,
)

# Every part starts with `<`, and no group can run past the next one, so matching is linear.
_PART = re.compile(
    r"<(/?)((?:[A-Za-z_][\w.\-]*+:)?[A-Za-z_][\w.\-]*+)(\s[^<>]*?)?(/?)>"
    r"(?:\s*+<!\[CDATA\[([^<\]]*+)\]\]>\s*+(?=<)|([^<]*+))"
)


class SamplePart(NamedTuple):
    """Tag of a sample record and the text after it."""

    is_close: bool
    tag: str
    """Name as written, with prefix."""
    attributes: str
    is_empty: bool
    text: str | None
    """None if the text is in CDATA."""

    @property
    def prefix(self) -> str:
        return self.tag.lower().rpartition(":")[0]

    @property
    def name(self) -> str:
        return self.tag.lower().rpartition(":")[2]

    @property
    def is_bare(self) -> bool:
        """Whether it is an opening tag without attributes."""
        return not (self.is_close or self.attributes or self.is_empty)

    @property
    def is_followed_by_space(self) -> bool:
        return self.text is not None and not self.text.strip()


def split_record(record: str) -> Iterator[SamplePart]:
    position = 0
    while match := _PART.match(record, position):
        slash, tag, attributes, empty, cdata, text = match.groups()
        is_cdata = cdata is not None
        yield SamplePart(
            slash == "/", tag, attributes or "", empty == "/", None if is_cdata else text
        )
        position = match.end()
    if position < len(record):
        yield SamplePart(True, "?", "", False, "doubtful")


SlotTexts = Sequence[str]
"""Texts of one record, by slot of its shape."""


class ShapeMismatch(Enum):
    """Marker for a record of another shape."""

    MISMATCH = 1


MISMATCH = ShapeMismatch.MISMATCH
ShapeResult = UrlEntry | ShapeMismatch | None
"""Result of a record. None if its URL is invalid, which is counted."""


@dataclass
class MediaShape:
    """Image, video or news item of a shape. Its fields map to the slots of their texts."""

    kind: str
    urls: dict[str, int] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)
    others: list[tuple[FieldAdder, int, int | None]] = field(default_factory=list)
    """Fields that need a `FieldAdder`. The last element is the slot of their attributes."""
    words: dict[str, int] = field(default_factory=dict)
    """Fields of `others` that only keep their words, provided there are any."""
    numbers: dict[str, int] = field(default_factory=dict)
    """Fields of `others` that only keep a number, provided it is written in digits."""

    def content(self, texts: SlotTexts, values: ValueParser) -> Extension:
        """Build the item from any texts."""
        urls = ((key, values.url(texts[slot])) for key, slot in self.urls.items())
        words = ((key, values.words(texts[slot])) for key, slot in self.texts.items())
        content: Extension = {key: text for each in (urls, words) for key, text in each if text}
        for add, slot, attributes in self.others:
            attribute_text = "" if attributes is None else texts[attributes]
            add(content, values.text(texts[slot]), attribute_text, values)
        return content


@dataclass
class RecordShape:
    """Sequence of tags, with a pattern that has a group for every text in it."""

    loose: str
    """Pattern that allows any whitespace between the tags, and any texts."""
    strict: tuple[str, ...]
    """Pattern of each text in a record with plain URLs and nothing unusual."""
    literals: tuple[str, ...]
    """Text of the sample before each slot, and after the last one."""
    is_sitemap: bool
    page: dict[str, int]
    media: list[MediaShape]
    alternates: list[tuple[int, int]]
    cdata: frozenset[int]
    mobile: bool

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled `loose` pattern. It is compiled on demand, because that is slow."""
        return re.compile(self.loose)

    @property
    def fields(self) -> tuple[str, ...]:
        """Page fields in document order."""
        return tuple(sorted(self.page, key=self.page.__getitem__))

    @property
    def is_plain(self) -> bool:
        """Whether it has page fields only, outside CDATA."""
        return not (self.media or self.alternates or self.cdata or self.mobile)

    def get_media(self, kind: str) -> list[MediaShape]:
        return [medium for medium in self.media if medium.kind == kind]

    def read(self, record: str, values: ValueParser) -> ShapeResult:
        """Return the entry of the record, or `MISMATCH` if the record has another shape."""
        match = self.pattern.fullmatch(record)
        if match is None:
            return MISMATCH
        texts = self._escape_cdata(match.groups())
        loc = values.loc(texts[self.page["loc"]])
        return None if loc is None else self._build_entry(loc, texts, values)

    def _escape_cdata(self, texts: tuple[str, ...]) -> SlotTexts:
        """Escape texts from CDATA, so that they can be read like other texts."""
        if not self.cdata:
            return texts
        return [escape_xml(text) if slot in self.cdata else text for slot, text in enumerate(texts)]

    def _build_entry(self, loc: str, texts: SlotTexts, values: ValueParser) -> UrlEntry:
        page = {name: texts[slot] for name, slot in self.page.items()}
        return UrlEntry(
            loc,
            values.date(page.get("lastmod")),
            values.changefreq(page.get("changefreq")),
            values.priority(page.get("priority")),
            images=list(self._iter_contents("image", texts, values)) or (),
            videos=list(self._iter_contents("video", texts, values)) or (),
            news=next(self._iter_contents("news", texts, values), None),
            alternates=list(self._iter_alternates(texts, values)) or (),
            mobile=self.mobile,
            is_sitemap=self.is_sitemap,
        )

    def _iter_contents(
        self, kind: str, texts: SlotTexts, values: ValueParser
    ) -> Iterator[Extension]:
        contents = (medium.content(texts, values) for medium in self.get_media(kind))
        return (content for content in contents if content)

    def _iter_alternates(self, texts: SlotTexts, values: ValueParser) -> Iterator[tuple[str, str]]:
        for language, href in self.alternates:
            if texts[language] and (address := values.url(texts[href])):
                yield values.text(texts[language]), address


GROUP_TAGS = frozenset({"publication", "tvshow"})
MAX_PARTS = 400
"""Records with more tags are unlikely to repeat."""

_ATTRIBUTE_LIST = r'(?:\s++[A-Za-z_][\w:.\-]*+="[^"<>]*+")++'
_ATTRIBUTES = re.compile(_ATTRIBUTE_LIST + r"\s*+\Z")
_ATTRIBUTE = re.compile(r'(\s++)([A-Za-z_][\w:.\-]*+)="([^"<>]*+)"')
_SLOT_TEXT = r"([^<]*+)"
_SLOT_NON_EMPTY = r"([^<\s][^<]*+)"
_SLOT_DIGITS = r"([0-9]{1,9}+)"
_SLOT_CDATA = r"\s*+<!\[CDATA\[([^<\]]*+)\]\]>\s*+"
_GAP = r"\s*+"
_SLOT_NO_MATCH = r"(?!)()"


class _AmbiguousRecord(Exception):
    """The record cannot be learned from."""


def learn_shape(record: str) -> RecordShape | None:
    """Learn the shape of a record. Return None if anything about it is unusual."""
    parts = list(split_record(record))
    try:
        return _ShapeLearner(parts).learn() if len(parts) <= MAX_PARTS else None
    except (_AmbiguousRecord, IndexError):
        return None


class _ShapeLearner:
    """Learner that walks one sample and records its pattern and the meaning of the groups."""

    def __init__(self, parts: list[SamplePart]) -> None:
        self._parts = parts
        self._at = 0
        self._loose: list[str] = []
        self._strict: list[str] = []
        """Pattern for each slot."""
        self._literals = [""]
        """Text before each slot, and after the last one."""
        self._cdata: set[int] = set()
        self._page: dict[str, int] = {}
        self._media: list[MediaShape] = []
        self._keys: set[str] = set()
        """Keys already used by `others` fields of the current item."""
        self._alternates: list[tuple[int, int]] = []
        self._mobile = False

    def learn(self) -> RecordShape:
        record = self._read_open()
        if record.name not in ("url", "sitemap"):
            raise _AmbiguousRecord
        while not self._skip_close(record):
            self._read_element(record.prefix)
        if self._at != len(self._parts) or "loc" not in self._page:
            raise _AmbiguousRecord
        return RecordShape(
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

    # Each of these consumes one tag or element, and raises if it is not the expected one.

    def _next(self) -> SamplePart:
        self._at += 1
        return self._parts[self._at - 1]

    def _read_open(self) -> SamplePart:
        """Read a bare opening tag that is followed by whitespace only."""
        part = self._next()
        if not part.is_bare or not part.is_followed_by_space:
            raise _AmbiguousRecord
        self._add_literal(f"<{part.tag}>", gap=part.text)
        return part

    def _skip_close(self, opened: SamplePart) -> bool:
        """Skip the closing tag of `opened` if it comes next."""
        part = self._parts[self._at]
        if not part.is_close:
            return False
        if part.tag != opened.tag or part.attributes or not part.is_followed_by_space:
            raise _AmbiguousRecord
        self._at += 1
        self._add_literal(f"</{part.tag}>", gap=part.text)
        return True

    def _read_element(self, prefix: str) -> None:
        part = self._parts[self._at]
        if part.name in EXTENSION_TAGS and part.prefix not in ("", prefix):
            self._read_media(self._read_open())
        elif part.name == "link":
            self._read_link(self._next())
        elif part.name == "mobile":
            self._read_mobile_tag(self._next())
        else:
            self._read_page_field(prefix)

    def _read_page_field(self, prefix: str) -> None:
        part = self._parts[self._at]
        if part.prefix != prefix or part.name not in PAGE_FIELDS or part.name in self._page:
            raise _AmbiguousRecord
        strict = f"({PLAIN_URL})" if part.name == "loc" else _SLOT_TEXT
        self._page[part.name], attributes = self._read_text_element(strict)
        if attributes is not None:
            raise _AmbiguousRecord

    def _read_media(self, opened: SamplePart) -> None:
        medium, self._keys = MediaShape(opened.name), set[str]()
        while not self._skip_close(opened):
            if self._parts[self._at].name in GROUP_TAGS:
                group = self._read_open()
                while not self._skip_close(group):
                    self._read_media_field(medium, opened.prefix, group.name)
            else:
                self._read_media_field(medium, opened.prefix, None)
        self._media.append(medium)

    def _read_media_field(self, medium: MediaShape, prefix: str, group: str | None) -> None:
        name = self._parts[self._at].name
        reserved = name in EXTENSION_TAGS or name in GROUP_TAGS or name in ("link", "mobile")
        if self._parts[self._at].prefix != prefix or reserved or name in ("url", "sitemap"):
            raise _AmbiguousRecord
        meaning = get_meaning(medium.kind, name, group)
        if meaning is FieldMeaning.OTHER:
            self._read_other_field(medium, name, group)
            return
        kept = medium.urls if meaning is FieldMeaning.URL else medium.texts
        strict = f"({PLAIN_URL})" if meaning is FieldMeaning.URL else _SLOT_NON_EMPTY
        slot, attributes = self._read_text_element(strict)
        if name in kept:
            medium.others.append((get_adder(medium.kind, name, group), slot, attributes))
        else:
            kept[name] = slot

    def _read_other_field(self, medium: MediaShape, name: str, group: str | None) -> None:
        key = get_news_key(name, group) if medium.kind == "news" else name
        is_new, is_news = key not in self._keys, medium.kind == "news"
        self._keys.add(key)
        is_words = is_new and is_news and is_text_field(name, group)
        is_number = is_new and not is_news and group is None and name in WHOLE_NUMBER_FIELDS
        strict = _SLOT_NON_EMPTY if is_words else _SLOT_DIGITS if is_number else _SLOT_TEXT
        slot, attributes = self._read_text_element(strict)
        medium.others.append((get_adder(medium.kind, name, group), slot, attributes))
        if is_words:
            medium.words[key] = slot
        elif is_number:
            medium.numbers[key] = slot

    def _read_text_element(self, strict: str) -> tuple[int, int | None]:
        """Read `<tag>text</tag>`. Return the slots of its text and of its attributes, if any."""
        part, attributes = self._next(), None
        if part.is_close or part.is_empty:
            raise _AmbiguousRecord
        self._add_literal(f"<{part.tag}")
        if part.attributes:
            attributes = self._read_attributes(part)
        self._add_literal(">")
        if part.text is None:
            slot = self._add_slot(_SLOT_CDATA, strict=_SLOT_NO_MATCH)
            self._cdata.add(slot)
        else:
            slot = self._add_slot(_SLOT_TEXT, strict=strict)
        if not self._parts[self._at].is_close or not self._skip_close(part):
            raise _AmbiguousRecord
        return slot, attributes

    def _read_attributes(self, part: SamplePart) -> int:
        if not _ATTRIBUTES.match(part.attributes):
            raise _AmbiguousRecord
        slot = self._add_slot(f"({_ATTRIBUTE_LIST})", strict=f"({_ATTRIBUTE_LIST})")
        self._add_blanks(part.attributes[len(part.attributes.rstrip()) :])
        return slot

    def _read_link(self, part: SamplePart) -> None:
        is_sound = part.is_empty and _ATTRIBUTES.match(part.attributes)
        if part.is_close or not is_sound or not part.is_followed_by_space:
            raise _AmbiguousRecord
        slots: dict[str, int] = {}
        self._add_literal(f"<{part.tag}")
        for space, name, value in _ATTRIBUTE.findall(part.attributes):
            self._add_blanks(space, pattern=r"\s++")
            local = name.lower().rpartition(":")[2]
            if local in slots:
                raise _AmbiguousRecord
            if local in ("hreflang", "href"):
                self._add_literal(f'{name}="')
                strict = f"({PLAIN_HREF})" if local == "href" else r"([A-Za-z0-9_\-]++)"
                slots[local] = self._add_slot(r'([^"<>]*+)', strict=strict)
                self._add_literal('"')
            else:
                self._add_literal(f'{name}="{value}"')
        self._add_blanks(part.attributes[len(part.attributes.rstrip()) :])
        self._add_literal("/>", gap=part.text)
        if len(slots) == 2:
            self._alternates.append((slots["hreflang"], slots["href"]))

    def _read_mobile_tag(self, part: SamplePart) -> None:
        is_sound = part.is_empty and not part.attributes and part.is_followed_by_space
        if part.is_close or not is_sound:
            raise _AmbiguousRecord
        self._add_literal(f"<{part.tag}/>", gap=part.text)
        self._mobile = True

    # Pattern building

    def _add_literal(self, text: str, *, gap: str | None = None) -> None:
        """Add literal text and the whitespace after it, which may differ in other records."""
        self._loose.append(re.escape(text))
        self._literals[-1] += text
        if gap is not None:
            self._add_blanks(gap)

    def _add_blanks(self, gap: str, *, pattern: str = _GAP) -> None:
        self._loose.append(pattern)
        self._literals[-1] += gap

    def _add_slot(self, loose: str, *, strict: str) -> int:
        self._loose.append(loose)
        self._strict.append(strict)
        self._literals.append("")
        return len(self._strict) - 1
