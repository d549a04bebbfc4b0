"""What is known of records that a program wrote: the same tags in the same order.

A shape is one such order with a pattern for it. Whatever does not match a shape to the letter is
read tag by tag, so a shape can make reading faster but never different.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from scrapersky.scraper.sitemap_parser.escapes import escape
from scrapersky.scraper.sitemap_parser.extensions import Adder
from scrapersky.scraper.sitemap_parser.model import Entry, Extension
from scrapersky.scraper.sitemap_parser.values import Values

Texts = Sequence[str]
"""Those of one record, in the slots of its shape."""


class Misfit(Enum):
    """The record has another shape."""

    MISFIT = 1


MISFIT = Misfit.MISFIT
Read = Entry | Misfit | None
"""What came of a record; None, counted, when its address is none."""


@dataclass
class Medium:
    """One image, video or news item of a shape: its fields by the slots their texts are in."""

    kind: str
    urls: dict[str, int] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)
    others: list[tuple[Adder, int, int | None]] = field(default_factory=list)
    """Fields with a meaning of their own; the last is the slot of their attributes."""
    words: dict[str, int] = field(default_factory=dict)
    """Those of them that come to no more than keeping their words, unless there are none."""
    numbers: dict[str, int] = field(default_factory=dict)
    """Those that come to keeping a number, if it is written in digits."""

    def content(self, texts: Texts, values: Values) -> Extension:
        """What is said of it, whatever the texts are."""
        urls = ((key, values.url(texts[slot])) for key, slot in self.urls.items())
        words = ((key, values.words(texts[slot])) for key, slot in self.texts.items())
        content: Extension = {key: text for each in (urls, words) for key, text in each if text}
        for add, slot, attributes in self.others:
            given = "" if attributes is None else texts[attributes]
            add(content, values.text(texts[slot]), given, values)
        return content


@dataclass
class Shape:
    """One order of tags, with a pattern that has a group for every text in it."""

    loose: str
    """A pattern with any blanks between the tags, and any texts."""
    strict: tuple[str, ...]
    """A pattern for each text of a record in which all URLs are plain, and nothing is odd."""
    literals: tuple[str, ...]
    """What stood before each text of the sample, and behind the last."""
    is_sitemap: bool
    page: dict[str, int]
    media: list[Medium]
    alternates: list[tuple[int, int]]
    cdata: frozenset[int]
    mobile: bool

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The loose one, made when it is needed: that takes its time."""
        return re.compile(self.loose)

    @property
    def fields(self) -> tuple[str, ...]:
        """Those of the page, in their order."""
        return tuple(sorted(self.page, key=self.page.__getitem__))

    @property
    def is_plain(self) -> bool:
        """Only fields of the page, as written."""
        return not (self.media or self.alternates or self.cdata or self.mobile)

    def of_kind(self, kind: str) -> list[Medium]:
        return [medium for medium in self.media if medium.kind == kind]

    def read(self, record: str, values: Values) -> Read:
        """The entry of the record, if it has this shape at all."""
        match = self.pattern.fullmatch(record)
        if match is None:
            return MISFIT
        texts = self._escaped(match.groups())
        loc = values.loc(texts[self.page["loc"]])
        return None if loc is None else self._entry(loc, texts, values)

    def _escaped(self, texts: tuple[str, ...]) -> Texts:
        """What stood in CDATA, as it would stand outside."""
        if not self.cdata:
            return texts
        return [escape(text) if slot in self.cdata else text for slot, text in enumerate(texts)]

    def _entry(self, loc: str, texts: Texts, values: Values) -> Entry:
        page = {name: texts[slot] for name, slot in self.page.items()}
        return Entry(
            loc,
            values.date(page.get("lastmod")),
            values.changefreq(page.get("changefreq")),
            values.priority(page.get("priority")),
            images=list(self._contents("image", texts, values)) or (),
            videos=list(self._contents("video", texts, values)) or (),
            news=next(self._contents("news", texts, values), None),
            alternates=list(self._alternates(texts, values)) or (),
            mobile=self.mobile,
            is_sitemap=self.is_sitemap,
        )

    def _contents(self, kind: str, texts: Texts, values: Values) -> Iterator[Extension]:
        contents = (medium.content(texts, values) for medium in self.of_kind(kind))
        return (content for content in contents if content)

    def _alternates(self, texts: Texts, values: Values) -> Iterator[tuple[str, str]]:
        for language, href in self.alternates:
            if texts[language] and (address := values.url(texts[href])):
                yield values.text(texts[language]), address
