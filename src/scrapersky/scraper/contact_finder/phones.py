"""Phone numbers in visible text, and in the fields and links that are made for them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from scrapersky.scraper.contact_finder.phone_numbers import (
    is_international,
    phone_of,
    phones_of_tel,
    plain,
    read_number,
)
from scrapersky.scraper.contact_finder.phone_regions import regions_of
from scrapersky.scraper.contact_finder.phone_shapes import (
    DATE,
    PREFIX,
    RUN,
    Part,
    looks_like_a_number,
    parts_of,
    spans_from,
    words_of,
)
from scrapersky.scraper.contact_finder.phone_text import (
    EXTENSION,
    WINDOW,
    Said,
    is_cut_out_of_more,
    joins_numbers,
    runs_into_a_word,
    said_before,
)

__all__ = ["Phone", "PhonesFound", "find_phones", "phone_of", "phones_of_tel", "regions_of"]

MAX_RUN_CHARACTERS = 1_000
"""Longer runs of nothing but digits and gaps are tables; we look at their beginning."""

RUNS_PER_NUMBER = 5
"""How many runs of digits we look at for each number that we would read."""

CLEARLY_WHOLE = 11
"""With a value this long, what follows a wide gap is another number or an extension."""


@dataclass(frozen=True, slots=True)
class Phone:
    """A number: E.164, as it is written, and where in the text."""

    value: str
    raw: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PhonesFound:
    """The numbers in their order, each once; `capped` when there was more than we looked at."""

    found: tuple[Phone, ...]
    capped: bool


def find_phones(text: str, *, regions: Sequence[str], limit: int) -> PhonesFound:
    """The phone numbers in visible text, of which no line break separates a number's digits.

    At most `limit` spellings are read. Fax numbers are left out where they are called so.
    """
    search = _Search(text, regions, limit)
    for seen, run in enumerate(RUN.finditer(text)):
        if search.left <= 0 or seen >= limit * RUNS_PER_NUMBER:
            search.capped = True
            break
        if not DATE.fullmatch(run.group()):
            search.look_into(*run.span())
    return PhonesFound(tuple(search.found.values()), search.capped)


@dataclass(slots=True)
class _Search:
    text: str
    regions: Sequence[str]
    left: int
    found: dict[str, Phone] = field(default_factory=dict)
    capped: bool = False
    _read: dict[tuple[str, bool], str | None] = field(default_factory=dict)
    _said: Said = Said.NOTHING
    _end: int = -1

    def look_into(self, start: int, end: int) -> None:
        start = self._with_prefix(start)
        self.capped |= end > start + MAX_RUN_CHARACTERS
        run = self.text[start : min(end, start + MAX_RUN_CHARACTERS)]
        parts = list(parts_of(run))
        first = 0
        while first < len(parts):
            first = self._look_from(start, run, parts, first)

    def _with_prefix(self, start: int) -> int:
        prefix = PREFIX.search(self.text, max(0, start - 5), start)
        return prefix.start() if prefix else start

    def _look_from(self, offset: int, run: str, parts: list[Part], first: int) -> int:
        """Take the number that begins with a part, and tell with which part to go on."""
        start = offset + parts[first].start
        said = self._what_is_said(start)
        spans = list(spans_from(parts, first))
        if said is Said.FAX:
            self._said, self._end = said, offset + parts[first].end
            return spans[-1] if spans else first + 1
        best: tuple[int, str] | None = None
        for last in spans:
            if best and not _may_continue(parts[last - 1], best[1]):
                break
            value = self._value(start, offset + parts[last - 1].end, said)
            best = (last, value) if value else best
        if best is None:
            self._look_at_words(offset, run, parts[first])
            return first + 1
        self._take(best[1], start, offset + parts[best[0] - 1].end, said)
        return best[0]

    def _look_at_words(self, offset: int, run: str, part: Part) -> None:
        for start, end in words_of(run, part):
            said = self._what_is_said(offset + start)
            if value := self._value(offset + start, offset + end, said):
                self._take(value, offset + start, offset + end, said)

    def _what_is_said(self, start: int) -> Said:
        if 0 <= self._end <= start and joins_numbers(self.text[self._end : start][:13]):
            return self._said
        return said_before(self.text[max(0, start - WINDOW) : start])

    def _value(self, start: int, end: int, said: Said) -> str | None:
        raw, after = self.text[start:end], self.text[end : end + 16]
        written = plain(raw).strip()
        certain = said is Said.PHONE or is_international(written) or _is_typed(raw, after)
        if not (certain or looks_like_a_number(written)):
            return None
        if not _is_free(written, self.text[max(0, start - WINDOW) : start], after, said):
            return None
        return self._reading(written, labelled=said is Said.PHONE)

    def _reading(self, written: str, *, labelled: bool) -> str | None:
        key = (written, labelled)
        if key not in self._read:
            self.capped |= self.left <= 0
            self._read[key] = (
                read_number(written, self.regions, trunk_required=not labelled)
                if self.left > 0
                else None
            )
            self.left -= 1
        return self._read[key]

    def _take(self, value: str, start: int, end: int, said: Said) -> None:
        if extension := EXTENSION.match(self.text, end, end + 24):
            end = extension.end()
        self._said, self._end = said, end
        self.found.setdefault(value, Phone(value, self.text[start:end], start, end))


def _may_continue(part: Part, value: str) -> bool:
    return len(value) < CLEARLY_WHOLE or (part.dashed and part.digits <= 3)


def _is_free(written: str, before: str, after: str, said: Said) -> bool:
    if written.lstrip("( ").startswith("+"):
        return not (before[-1:].isdecimal() or after[:1] == "%")
    if said is Said.PHONE:
        return not runs_into_a_word(after)
    return said is Said.NOTHING and not is_cut_out_of_more(before, after)


def _is_typed(raw: str, after: str) -> bool:
    """Whether an extension follows, or the digits have full width: no machine writes those."""
    return EXTENSION.match(after) is not None or (raw.isdecimal() and not raw.isascii())
