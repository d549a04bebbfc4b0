"""Read records from raw text by what was learned of the document; say how far that went.

Three ways, each slower and more patient than the one before: a whole window by a template,
record by record by shapes, and a single odd record tag by tag. All give the same entries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from scrapersky.scraper.sitemap_parser.model import Entry
from scrapersky.scraper.sitemap_parser.rows import STEP_ENTRIES
from scrapersky.scraper.sitemap_parser.shapes import MISFIT, Read, Shape, learn
from scrapersky.scraper.sitemap_parser.template import Template, Unfit
from scrapersky.scraper.sitemap_parser.values import Values

MAX_LESSONS = 100
"""Records to learn from in one document; if they are all different, there is nothing to learn."""
MAX_SHAPES_ALIKE = 8
"""Shapes with the same number of tags that are tried one after the other."""
MAX_UNFIT = 4
"""Windows in a row that no template fits, after which none is tried any more."""

_BOUNDARY = re.compile(
    r"<(/?)(?:[A-Za-z_][\w.\-]*+:)?(url|sitemap|urlset|sitemapindex)(?=[\s/>])", re.IGNORECASE
)
_ONE_RECORD = ([("", "url"), ("/", "url")], [("", "sitemap"), ("/", "sitemap")])


class FastReader:
    """Knows the shapes and the template of one document."""

    def __init__(
        self, values: Values, *, record_end: str, read_tags: Callable[[str], Iterable[Entry]]
    ) -> None:
        self.record_end = record_end
        """The closing tag of its records, as written."""
        self._values = values
        self._read_tags = read_tags
        self._shapes: dict[int, list[Shape]] = {}
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
        start = text.rfind(self.record_end, 0, max(end, 0)) + len(self.record_end)
        start = text.find("<", start if start >= len(self.record_end) else 0)
        record = text[max(start, 0) : end + len(self.record_end)]
        shape = learn(record)
        match = shape.pattern.fullmatch(record) if shape else None
        if shape is None or match is None:
            raise Unfit
        return Template(shape, match.groups(), self._values, is_ascii=text.isascii())

    def read_on(self, text: str) -> tuple[list[Entry], int]:
        """The same record by record, and of many records only the first."""
        entries: list[Entry] = []
        position = 0
        length = len(self.record_end)
        for _ in range(STEP_ENTRIES):
            end = text.find(self.record_end, position)
            if end < 0:
                break
            end += length
            entry = self._record(text, position, end)
            if entry is not MISFIT:
                if entry is not None:
                    entries.append(entry)
            elif _is_one_record(record := text[position:end]):
                entries += self._read_tags(record)
            else:
                break
            position = end
        return entries, position

    def _record(self, text: str, start: int, end: int) -> Read:
        """The entry of one record by its shape, which is learned if it is new."""
        tags = text.count("<", start, end)
        alike = self._shapes.get(tags, ())
        for shape in alike:
            if (read := shape.read_strictly(text, start, end, self._values)) is not MISFIT:
                return read
        for shape in alike:
            if (read := shape.read(text, start, end, self._values)) is not MISFIT:
                return read
        if self._lessons >= MAX_LESSONS or len(alike) >= MAX_SHAPES_ALIKE:
            return MISFIT
        self._lessons += 1
        learned = learn(text[start:end].lstrip())
        if learned is None:
            return MISFIT
        self._shapes.setdefault(tags, []).append(learned)
        return learned.read(text, start, end, self._values)


def _is_one_record(text: str) -> bool:
    """Only tags and text in it, and it is opened and closed as one record."""
    if "<!" in text or "<?" in text:
        return False
    return [(slash, name.lower()) for slash, name in _BOUNDARY.findall(text)] in _ONE_RECORD
