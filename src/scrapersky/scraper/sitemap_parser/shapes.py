"""Learn how a site writes its records, so that the next thousands are read in one stroke.

Programs write sitemaps, so records look alike: the same tags in the same order. A shape is one
such order with a pattern for it. It is learned only from records that leave no doubt; whatever
does not match a shape to the letter is read tag by tag, so a shape can make reading faster but
never different.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from operator import itemgetter
from typing import NamedTuple

from scrapersky.scraper.sitemap_parser.escapes import escape
from scrapersky.scraper.sitemap_parser.extensions import (
    CONTAINERS,
    Adder,
    Meaning,
    adder_for,
    meaning_of,
)
from scrapersky.scraper.sitemap_parser.model import Entry, Extension
from scrapersky.scraper.sitemap_parser.values import PLAIN_HREF, PLAIN_URL, Values

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
_ATTRIBUTE = re.compile(r'(\s++)([A-Za-z_][\w:.\-]*+)="([^"<>]*+)"')
TEXT = r"([^<]*+)"
OPEN_TEXT = r"[^<]*+"
_FILLED = r"([^<\s][^<]*+)"
_CDATA = r"\s*+<!\[CDATA\[([^<\]]*+)\]\]>\s*+"
GAP = r"\s*+"
_NEVER = r"(?!)()"


Texts = tuple[str, ...]
"""Those of one record, in the slots of its shape."""
ReadsUrl = Callable[[str], str | None]


class Misfit(Enum):
    """The record has another shape."""

    MISFIT = 1


MISFIT = Misfit.MISFIT
Read = Entry | Misfit | None
"""What came of a record; None, counted, when its address is none."""


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
    urls: dict[str, int] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)
    others: list[tuple[Adder, int, int | None]] = field(default_factory=list)
    """Fields with a meaning of their own; the last is the slot of their attributes."""

    def content(self, texts: Texts, values: Values, url: ReadsUrl | None) -> Extension:
        """What is said of it; without `url` all texts are plain, and not empty."""
        content: Extension = {}
        if url is None:
            for key, slot in self.urls.items():
                content[key] = texts[slot]
            for key, slot in self.texts.items():
                content[key] = " ".join(texts[slot].split())
        else:
            content = {key: url(texts[slot]) for key, slot in self.urls.items()}
            content |= {key: values.words(texts[slot]) for key, slot in self.texts.items()}
            content = {key: text for key, text in content.items() if text}
        for add, slot, attributes in self.others:
            given = "" if attributes is None else texts[attributes]
            add(content, values.words(texts[slot]), given, values)
        return content


def _picker(slots: list[int]) -> Callable[[Texts], Texts]:
    """Picks the texts in these slots, in one stroke."""
    if len(slots) > 1:
        return itemgetter(*slots)
    return lambda texts: tuple(texts[slot] for slot in slots)


@dataclass
class Shape:
    """One order of tags, with a pattern that has a group for every text in it."""

    pattern: re.Pattern[str]
    strict: re.Pattern[str]
    """The same for records in which all URLs are plain, and the gaps are as in the sample."""
    is_sitemap: bool
    page: dict[str, int]
    images: list[Medium]
    videos: list[Medium]
    news: list[Medium]
    alternates: list[tuple[int, int]]
    cdata: frozenset[int]
    mobile: bool
    exact: tuple[str, ...]
    """The pattern in parts, with the gaps between tags just as they were in the sample."""

    def __post_init__(self) -> None:
        self._slots = tuple(map(self.page.get, ("lastmod", "changefreq", "priority")))
        self._languages = _picker([language for language, _ in self.alternates])
        self._hrefs = _picker([href for _, href in self.alternates])

    @property
    def fields(self) -> tuple[str, ...]:
        """Those of the page, in their order."""
        return tuple(sorted(self.page, key=self.page.__getitem__))

    def split_behind(self, fields: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The exact parts up to the end of that many fields, and the rest; for a plain shape."""
        slots = [index for index, part in enumerate(self.exact) if part == TEXT]
        behind = slots[fields - 1] + 2
        return self.exact[:behind], self.exact[behind:]

    @property
    def has_media(self) -> bool:
        return bool(self.images or self.videos or self.news)

    @property
    def is_plain(self) -> bool:
        """Only fields of the page, as written."""
        return not (self.has_media or self.alternates or self.cdata or self.mobile)

    def read_strictly(self, text: str, start: int, end: int, values: Values) -> Read:
        """The entry of the record at this place, if it is written just like the sample."""
        match = self.strict.match(text, start, end)
        if match is None:
            return MISFIT
        texts = match.groups()
        if text.find("&", start, end) < 0:
            return self._entry(texts[self.page["loc"]], texts, values, None)
        return self._cleaned(texts, values, values.plain_url)

    def read(self, text: str, start: int, end: int, values: Values) -> Read:
        """The entry of the record at this place, if it has this shape at all."""
        match = self.pattern.match(text, start, end)
        if match is None:
            return MISFIT
        return self._cleaned(self._escaped(match.groups()), values, values.url)

    def _cleaned(self, texts: Texts, values: Values, url: ReadsUrl) -> Entry | None:
        loc = values.loc(texts[self.page["loc"]])
        return None if loc is None else self._entry(loc, texts, values, url)

    def _escaped(self, texts: Texts) -> tuple[str, ...]:
        """What stood in CDATA, as it would stand outside."""
        if not self.cdata:
            return texts
        return tuple(
            escape(text) if slot in self.cdata else text for slot, text in enumerate(texts)
        )

    def _entry(self, loc: str, texts: Texts, values: Values, url: ReadsUrl | None) -> Entry:
        lastmod, changefreq, priority = self._slots
        news = _contents(self.news, texts, values, url) if self.news else ()
        # The class's own constructor takes twice as long and does the same.
        return tuple.__new__(
            Entry,
            (
                loc,
                None if lastmod is None else values.date(texts[lastmod]),
                None if changefreq is None else values.changefreq(texts[changefreq]),
                None if priority is None else values.priority(texts[priority]),
                _contents(self.images, texts, values, url) if self.images else (),
                _contents(self.videos, texts, values, url) if self.videos else (),
                news[0] if news else None,
                self._alternates(texts, values, url) or () if self.alternates else (),
                self.mobile,
                self.is_sitemap,
            ),
        )

    def _alternates(
        self, texts: Texts, values: Values, url: ReadsUrl | None
    ) -> list[tuple[str, str]]:
        if url is None:
            return list(zip(self._languages(texts), self._hrefs(texts)))  # noqa: B905
        return [
            (values.text(texts[language]), address)
            for language, href in self.alternates
            if texts[language] and (address := url(texts[href]))
        ]


def _contents(
    media: list[Medium], texts: Texts, values: Values, url: ReadsUrl | None
) -> Sequence[Extension]:
    found = [medium.content(texts, values, url) for medium in media]
    return (found if all(found) else [content for content in found if content]) or ()


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
        self._strict: list[str] = []
        self._exact: list[str] = []
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
        return Shape(
            pattern=re.compile(GAP + "".join(self._pattern)),
            strict=re.compile(GAP + "".join(self._strict)),
            is_sitemap=record.name == "sitemap",
            page=self._page,
            images=[medium for medium in self._media if medium.kind == "image"],
            videos=[medium for medium in self._media if medium.kind == "video"],
            news=[medium for medium in self._media if medium.kind == "news"],
            alternates=self._alternates,
            cdata=frozenset(self._cdata),
            mobile=self._mobile,
            exact=tuple(self._exact),
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
        self._write(f"<{part.tag}>", gap=part.text)
        return part

    def _closes(self, opened: _Part) -> bool:
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
        strict = f"({PLAIN_URL})" if part.name == "loc" else TEXT
        self._page[part.name], attributes = self._text_element(strict)
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
        meaning = meaning_of(medium.kind, name, group)
        strict = f"({PLAIN_URL})" if meaning is Meaning.URL else _FILLED
        slot, attributes = self._text_element(TEXT if meaning is Meaning.OTHER else strict)
        kept = medium.urls if meaning is Meaning.URL else medium.texts
        if meaning is Meaning.OTHER or name in kept:
            medium.others.append((adder_for(medium.kind, name, group), slot, attributes))
        else:
            kept[name] = slot

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
            slot = self._slot(TEXT, strict=strict)
        if not self._parts[self._at].is_close or not self._closes(part):
            raise _Doubtful
        return slot, attributes

    def _attributes(self, part: _Part) -> int:
        if not _ATTRIBUTES.match(part.attributes):
            raise _Doubtful
        slot = self._slot(f"({_GIVEN})")
        self._write_pattern(GAP)
        return slot

    def _link(self, part: _Part) -> None:
        is_sound = part.is_empty and _ATTRIBUTES.match(part.attributes)
        if part.is_close or not is_sound or not part.is_followed_by_space:
            raise _Doubtful
        slots: dict[str, int] = {}
        self._write(f"<{part.tag}")
        for space, name, value in _ATTRIBUTE.findall(part.attributes):
            self._write_pattern(r"\s++", strict=re.escape(space))
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
        self._write_pattern(GAP)
        self._write("/>", gap=part.text)
        if len(slots) == 2:
            self._alternates.append((slots["hreflang"], slots["href"]))

    def _mobile_tag(self, part: _Part) -> None:
        is_sound = part.is_empty and not part.attributes and part.is_followed_by_space
        if part.is_close or not is_sound:
            raise _Doubtful
        self._write(f"<{part.tag}/>", gap=part.text)
        self._mobile = True

    # The pattern

    def _write(self, text: str, *, gap: str | None = None) -> None:
        written = re.escape(text)
        self._write_pattern(written if gap is None else written + GAP)
        if gap is not None:
            self._strict[-1] = self._exact[-1] = written + re.escape(gap)

    def _write_pattern(self, pattern: str, *, strict: str | None = None) -> None:
        self._pattern.append(pattern)
        self._strict.append(strict or pattern)
        self._exact.append(pattern)

    def _slot(self, pattern: str, *, strict: str | None = None) -> int:
        self._write_pattern(pattern, strict=strict)
        self._slots += 1
        return self._slots - 1
