"""Read records from raw text by what was learned of the document; say how far that went.

Three ways, each slower and more patient than the one before: a whole window by a template,
record by record by shapes, and a single odd record tag by tag. All give the same entries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from scrapersky.scraper.sitemap_parser.learning import learn
from scrapersky.scraper.sitemap_parser.making import Maker
from scrapersky.scraper.sitemap_parser.model import Entry
from scrapersky.scraper.sitemap_parser.rows import STEP_ENTRIES
from scrapersky.scraper.sitemap_parser.shapes import MISFIT, Read, Shape
from scrapersky.scraper.sitemap_parser.template import Template, Unfit
from scrapersky.scraper.sitemap_parser.values import Values

MAX_LESSONS = 100
"""Records to learn from in one document; if they are all different, there is nothing to learn."""
MAX_MET = 1_000
"""Orders of tags that are remembered, as one is learned only when it comes again."""
MAX_SHAPES_ALIKE = 8
"""Shapes with the same tags, or as many, that are tried one after the other."""
MAX_SKIPPED = 1_000
"""Characters at the beginning of a record where its end is not looked for."""
MAX_UNFIT = 4
"""Windows in a row that no template fits, after which none is tried any more."""

_BOUNDARY = re.compile(
    r"<(/?)(?:[A-Za-z_][\w.\-]*+:)?(url|sitemap|urlset|sitemapindex)(?=[\s/>])", re.IGNORECASE
)
_ONE_RECORD = ([("", "url"), ("/", "url")], [("", "sitemap"), ("/", "sitemap")])
_TAGS = re.compile(r"<[^\s<>\[]*+")


class FastReader:
    """Knows the shapes and the template of one document."""

    def __init__(
        self, values: Values, *, record_end: str, read_tags: Callable[[str], Iterable[Entry]]
    ) -> None:
        self.record_end = record_end
        """The closing tag of its records, as written."""
        self._values = values
        self._read_tags = read_tags
        self._makers: dict[int, list[Maker]] = {}
        """By the number of tags."""
        self._shapes: dict[tuple[str, ...], list[Shape] | None] = {}
        """By the tags themselves; none yet for tags met once, None where nothing can be learned."""
        self._shortest = 0
        """Where the closing tag is in the shortest record that a maker knows."""
        self._lessons = 0
        self._template: Template | None = None
        self._unfit = 0

    def read(self, text: str) -> tuple[Sequence[Entry], int]:
        """The entries at the beginning of the text, and the position behind the last of them.

        The text begins outside of comments and the like; what lies behind the position may be
        anything and is to be scrubbed first.
        """
        if self._unfit < MAX_UNFIT:
            try:
                return self._by_template(text), len(text)
            except Unfit:
                self._template = None
                self._unfit += 1
        return self.read_on(text)

    def _by_template(self, text: str) -> Sequence[Entry]:
        if self._template is None:
            self._template = self._template_for(text)
        rows = self._template.read(text)
        self._unfit = 0
        return rows

    def _template_for(self, text: str) -> Template:
        """From the last record, as the first is often the odd one: the home page."""
        end = text.rfind(self.record_end)
        previous = text.rfind(self.record_end, 0, max(end, 0))
        behind = previous + len(self.record_end) if previous >= 0 else 0
        start = max(text.find("<", behind), behind)
        record = text[start : end + len(self.record_end)]
        shape = learn(record)
        match = shape.pattern.fullmatch(record) if shape and shape.is_plain else None
        if shape is None or match is None:
            raise Unfit
        # What did not fit before may differ in its blanks or dates only.
        is_first = self._unfit == 0
        return Template(shape, match.groups(), text[behind:start], self._values, exact=is_first)

    def read_on(self, text: str, start: int = 0) -> tuple[list[Entry], int]:
        """The same record by record, and of many records only the first."""
        entries: list[Entry] = []
        position = start
        length, lessons = len(self.record_end), self._lessons
        for _ in range(STEP_ENTRIES):
            # No record that a maker knows is shorter; should this one be, none will know it.
            end = text.find(self.record_end, position + self._shortest) + length
            for maker in self._makers.get(text.count("<", position, end), ()):
                if (entry := maker.read(text, position, end)) is not MISFIT:
                    entries.append(entry)
                    break
            else:
                end = text.find(self.record_end, position) + length
                found = self._read_record(text[position:end]) if end >= length else None
                if found is None:
                    break
                entries += found
            position = end
            if self._lessons > lessons:
                break
        return entries, position

    def _read_record(self, record: str) -> Iterable[Entry] | None:
        """The entries of a record that no maker knows; None when it is not just a record."""
        read = self._by_shape(record)
        if read is not MISFIT:
            return () if read is None else (read,)
        return self._read_tags(record) if _is_one_record(record) else None

    def _by_shape(self, record: str) -> Read:
        tags = tuple(_TAGS.findall(record))
        for shape in self._shapes.get(tags) or ():
            if (read := shape.read(record, self._values)) is not MISFIT:
                return read
        learned = self._lesson(record, tags)
        if learned is None or learned.cdata:
            return learned.read(record, self._values) if learned else MISFIT
        maker = Maker(learned, self._values)
        makers = self._makers.setdefault(record.count("<"), [])
        if len(makers) < MAX_SHAPES_ALIKE:
            makers.append(maker)
            behind = min(maker.shortest - len(self.record_end), MAX_SKIPPED)
            self._shortest = min(behind, self._shortest or behind)
        return maker.read(record, 0, len(record))

    def _lesson(self, record: str, tags: tuple[str, ...]) -> Shape | None:
        """The shape of the record, if such tags were met before and left no doubt."""
        if tags not in self._shapes:
            if len(self._shapes) < MAX_MET:
                self._shapes[tags] = []
            # With CDATA in it there is no reading it tag by tag from here.
            if "<!" not in record:
                return None
        known = self._shapes.get(tags)
        if known is None or len(known) >= MAX_SHAPES_ALIKE or self._lessons >= MAX_LESSONS:
            return None
        self._lessons += 1
        shape = learn(record.lstrip())
        if shape is None:
            self._shapes[tags] = None
            return None
        known.append(shape)
        return shape


def _is_one_record(text: str) -> bool:
    """Only tags and text in it, and it is opened and closed as one record."""
    if "<!" in text or "<?" in text:
        return False
    return [(slash, name.lower()) for slash, name in _BOUNDARY.findall(text)] in _ONE_RECORD
