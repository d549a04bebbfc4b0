"""Learn how a site writes its records, so that the next thousands are read in one stroke.

Programs write sitemaps, so records look alike: the same tags in the same order. A shape is one
such order with a pattern for it. It is learned only from records that leave no doubt; whatever
does not match a shape to the letter is read tag by tag, so a shape can make reading faster but
never different.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

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
_GROUP = re.compile(r"(?<!\\)\((?!\?)")


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


@dataclass
class Run:
    """Elements of one form, one behind the other, that fill one slot of a shape."""

    kind: str
    """Of the medium, or `link`."""
    slot: int
    pattern: re.Pattern[str]
    strict: re.Pattern[str]
    """For one of the elements, as in a shape."""
    cdata: frozenset[int]
    medium: Medium | None
    """None for links, whose slots are language and address."""

    def read(
        self, text: str, values: Values, url: ReadsUrl | None, *, is_strict: bool
    ) -> list[Any]:
        """What its elements say; without `url` all texts are plain, and not empty."""
        found: list[Texts] = (self.strict if is_strict else self.pattern).findall(text)
        if self.cdata:
            found = [_escaped(texts, self.cdata) for texts in found]
        if self.medium is not None:
            contents = [self.medium.content(texts, values, url) for texts in found]
            return contents if all(contents) else [each for each in contents if each]
        if url is None:
            return found
        return [
            (values.text(language), address)
            for language, href in found
            if language and (address := url(href))
        ]


def _escaped(texts: Texts, cdata: frozenset[int]) -> Texts:
    """What stood in CDATA, as it would stand outside."""
    return tuple(escape(text) if slot in cdata else text for slot, text in enumerate(texts))


@dataclass
class Shape:
    """One order of tags, with a pattern that has a group for every text in it."""

    pattern: re.Pattern[str]
    strict: re.Pattern[str]
    """The same for records in which all URLs are plain, and the gaps are as in the sample."""
    is_sitemap: bool
    page: dict[str, int]
    runs: list[Run]
    cdata: frozenset[int]
    mobile: bool
    exact: tuple[str, ...]
    """The pattern in parts, with the gaps between tags just as they were in the sample."""

    def __post_init__(self) -> None:
        self._slots = tuple(map(self.page.get, ("lastmod", "changefreq", "priority")))

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
    def is_plain(self) -> bool:
        """Only fields of the page, as written."""
        return not (self.runs or self.cdata or self.mobile)

    def read_strictly(self, text: str, start: int, end: int, values: Values) -> Read:
        """The entry of the record at this place, if it is written just like the sample."""
        match = self.strict.match(text, start, end)
        if match is None:
            return MISFIT
        texts = match.groups()
        if text.find("&", start, end) < 0:
            return self._entry(texts[self.page["loc"]], texts, values, None)
        loc = values.loc(texts[self.page["loc"]])
        return None if loc is None else self._entry(loc, texts, values, values.plain_url)

    def read(self, text: str, start: int, end: int, values: Values) -> Read:
        """The entry of the record at this place, if it has this shape at all."""
        match = self.pattern.match(text, start, end)
        if match is None:
            return MISFIT
        texts = _escaped(match.groups(), self.cdata)
        loc = values.loc(texts[self.page["loc"]])
        if loc is None:
            return None
        return self._entry(loc, texts, values, values.url, is_strict=False)

    def _entry(
        self,
        loc: str,
        texts: Texts,
        values: Values,
        url: ReadsUrl | None,
        *,
        is_strict: bool = True,
    ) -> Entry:
        lastmod, changefreq, priority = self._slots
        found: dict[str, list[Any]] = {}
        for run in self.runs:
            if read := run.read(texts[run.slot], values, url, is_strict=is_strict):
                found[run.kind] = found.get(run.kind, []) + read
        # The class's own constructor takes twice as long and does the same.
        return tuple.__new__(
            Entry,
            (
                loc,
                None if lastmod is None else values.date(texts[lastmod]),
                None if changefreq is None else values.changefreq(texts[changefreq]),
                None if priority is None else values.priority(texts[priority]),
                found.get("image", ()),
                found.get("video", ()),
                found["news"][0] if "news" in found else None,
                found.get("link", ()),
                self.mobile,
                self.is_sitemap,
            ),
        )


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


class _Writing:
    """A pattern while it is being written, in its three forms."""

    def __init__(self) -> None:
        self.pattern: list[str] = []
        self.strict: list[str] = []
        self.exact: list[str] = []
        self.slots = 0
        self.cdata: set[int] = set()

    def text(self, text: str, *, gap: str | None = None) -> None:
        """A text, and behind it a gap as wide as that or, outside of the strict form, any."""
        written = re.escape(text)
        if gap is None:
            self.form(written)
        else:
            self.form(written + GAP, strict=written + re.escape(gap))
            self.exact[-1] = self.strict[-1]

    def form(self, pattern: str, *, strict: str | None = None) -> None:
        self.pattern.append(pattern)
        self.strict.append(strict or pattern)
        self.exact.append(pattern)

    def slot(self, pattern: str, *, strict: str | None = None) -> int:
        self.form(pattern, strict=strict)
        self.slots += 1
        return self.slots - 1

    def end_in_any_gap(self) -> None:
        """As what follows may be of the same kind, or not."""
        self.strict[-1] = self.pattern[-1]


class _Learner:
    """Walks over one sample and notes the pattern and the meaning of its groups."""

    def __init__(self, parts: list[_Part]) -> None:
        self._parts = parts
        self._at = 0
        self._to = _Writing()
        self._page: dict[str, int] = {}
        self._runs: list[Run] = []
        self._last: tuple[list[str], list[str]] | None = None
        """The forms of the run that was just written, if it was one."""
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
            pattern=re.compile(GAP + "".join(self._to.pattern)),
            strict=re.compile(GAP + "".join(self._to.strict)),
            is_sitemap=record.name == "sitemap",
            page=self._page,
            runs=self._runs,
            cdata=frozenset(self._to.cdata),
            mobile=self._mobile,
            exact=tuple(self._to.exact),
        )

    def _run(self, read: Callable[[], Medium | None]) -> None:
        """Step over an element that may come again and again; read once, it is one run."""
        outer, self._to = self._to, _Writing()
        medium = read()
        unit, self._to = self._to, outer
        unit.end_in_any_gap()
        if self._last == (unit.pattern, unit.strict):
            return
        self._last = unit.pattern, unit.strict
        pattern, strict = "".join(unit.pattern), "".join(unit.strict)
        slot = outer.slot(_repeated(pattern), strict=_repeated(strict))
        # With two groups or more, `findall` always gives tuples.
        more = "" if medium is None else "()()"
        self._runs.append(
            Run(
                kind=medium.kind if medium else "link",
                slot=slot,
                pattern=re.compile(pattern + more),
                strict=re.compile(strict + more),
                cdata=frozenset(unit.cdata),
                medium=medium,
            )
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
        self._to.text(f"<{part.tag}>", gap=part.text)
        return part

    def _closes(self, opened: _Part) -> bool:
        """Step over the closing tag of what was opened, if that is what comes next."""
        part = self._parts[self._at]
        if not part.is_close:
            return False
        if part.tag != opened.tag or part.attributes or not part.is_followed_by_space:
            raise _Doubtful
        self._at += 1
        self._to.text(f"</{part.tag}>", gap=part.text)
        return True

    def _element(self, prefix: str) -> None:
        part = self._parts[self._at]
        if part.name in CONTAINERS and part.prefix not in ("", prefix):
            self._run(self._medium)
        elif part.name == "link" and part.prefix:
            self._run(self._link)
        else:
            self._last = None
            self._mobile_tag() if part.name == "mobile" else self._page_field(prefix)

    def _page_field(self, prefix: str) -> None:
        part = self._parts[self._at]
        if part.prefix != prefix or part.name not in PAGE_FIELDS or part.name in self._page:
            raise _Doubtful
        strict = f"({PLAIN_URL})" if part.name == "loc" else TEXT
        self._page[part.name], attributes = self._text_element(strict)
        if attributes is not None:
            raise _Doubtful

    def _medium(self) -> Medium:
        opened = self._open()
        medium = Medium(opened.name)
        while not self._closes(opened):
            if self._parts[self._at].name in GROUPS:
                group = self._open()
                while not self._closes(group):
                    self._medium_field(medium, opened.prefix, group.name)
            else:
                self._medium_field(medium, opened.prefix, None)
        return medium

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
        self._to.text(f"<{part.tag}")
        if part.attributes:
            attributes = self._attributes(part)
        self._to.text(">")
        if part.text is None:
            slot = self._to.slot(_CDATA, strict=_NEVER)
            self._to.cdata.add(slot)
        else:
            slot = self._to.slot(TEXT, strict=strict)
        if not self._parts[self._at].is_close or not self._closes(part):
            raise _Doubtful
        return slot, attributes

    def _attributes(self, part: _Part) -> int:
        if not _ATTRIBUTES.match(part.attributes):
            raise _Doubtful
        slot = self._to.slot(f"({_GIVEN})")
        self._to.form(GAP)
        return slot

    def _link(self) -> None:
        part = self._next()
        is_sound = part.is_empty and _ATTRIBUTES.match(part.attributes)
        if part.is_close or not is_sound or not part.is_followed_by_space:
            raise _Doubtful
        slots: dict[str, int] = {}
        self._to.text(f"<{part.tag}")
        for space, name, value in _ATTRIBUTE.findall(part.attributes):
            self._to.form(r"\s++", strict=re.escape(space))
            local = name.lower().rpartition(":")[2]
            if local in slots:
                raise _Doubtful
            if local in ("hreflang", "href"):
                self._to.text(f'{name}="')
                strict = f"({PLAIN_HREF})" if local == "href" else r"([A-Za-z0-9_\-]++)"
                slots[local] = self._to.slot(r'([^"<>]*+)', strict=strict)
                self._to.text('"')
            else:
                self._to.text(f'{name}="{value}"')
        self._to.form(GAP)
        self._to.text("/>", gap=part.text)
        if list(slots) != ["hreflang", "href"]:
            raise _Doubtful

    def _mobile_tag(self) -> None:
        part = self._next()
        is_sound = part.is_empty and not part.attributes and part.is_followed_by_space
        if part.is_close or not is_sound:
            raise _Doubtful
        self._to.text(f"<{part.tag}/>", gap=part.text)
        self._mobile = True


def _repeated(pattern: str) -> str:
    """One group for one or more of it, with none inside."""
    return f"((?:{_GROUP.sub('(?:', pattern)})++)"
