"""Read records by learned shapes, and report how far that went.

There are three ways, each slower and more tolerant than the previous one: a whole window by a
template, record by record by compiled shapes, and a single unusual record tag by tag. All yield the
same entries.

A compiled shape is a function that builds an entry from the texts in its slots in a single
expression. It is generated as a syntax tree, so tag names from a document can only become constants
in it.

A template reads a window of uniform records in one pass, or not at all. It splits the window at the
text between one `loc` and the next. Each separator is verified to be the end of one record and the
start of the next, and no `loc` contains a `<`, so nothing was skipped, commented out or hidden in
CDATA.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from scrapersky.scraper.sitemaps.parse.dates import parse_lastmod
from scrapersky.scraper.sitemaps.parse.entries import (
    MAX_STEP_ENTRIES,
    ChangeHints,
    EntryColumns,
    Extension,
    UrlEntry,
)
from scrapersky.scraper.sitemaps.parse.shapes import (
    MISMATCH,
    MediaShape,
    RecordShape,
    ShapeMismatch,
    ShapeResult,
    SlotTexts,
    learn_shape,
)
from scrapersky.scraper.sitemaps.parse.values import (
    MAX_LOC_CHARACTERS,
    PLAIN_ORIGIN,
    FieldAdder,
    ValueCache,
    ValueParser,
    parse_changefreq,
    parse_priority,
)

_SPECIAL_CHARACTERS = re.compile(r"[.^$*+?{}\[\]\\|()]")
FieldAdders = list[tuple[FieldAdder, int, int | None]]


class CompiledShape:
    """Compiled reader for records of one shape. It rejects records with anything unusual."""

    def __init__(self, shape: RecordShape, values: ValueParser) -> None:
        self.shortest = sum(map(len, shape.literals))
        """Length of a record in which all texts are empty."""
        self._match = _build_pattern(shape).fullmatch
        self._ending = shape.literals[-1]
        self._make = _compile_shape(shape, values)
        self._values = values
        self._loc = shape.page["loc"]
        self._urls = {slot for medium in shape.media for slot in medium.urls.values()}
        self._urls |= {href for _, href in shape.alternates}
        others = [other for medium in shape.media for other in medium.others]
        self._words = {slot for medium in shape.media for slot in medium.texts.values()}
        self._words |= {slot for _, slot, _ in others}
        self._attributes = {slot for _, _, slot in others if slot is not None}

    def read(self, text: str, start: int, end: int) -> UrlEntry | ShapeMismatch:
        """Return the entry of the record at this position, or `MISMATCH`."""
        if not text.endswith(self._ending, start, end):
            return MISMATCH
        match = self._match(text, start, end)
        if match is None:
            return MISMATCH
        if text.find("&", start, end) < 0:
            return self._make(match.groups())
        texts = self._resolve_references(match.groups())
        return MISMATCH if texts is None else self._make(texts)

    def _resolve_references(self, texts: Sequence[str]) -> SlotTexts | None:
        """Resolve references in the texts. Return None if a text becomes empty or is ambiguous."""
        resolved = list(texts)
        for slot, raw in enumerate(texts):
            if "&" in raw and slot not in self._attributes:
                meant = self._resolve_slot(slot, raw)
                if not meant:
                    return None
                resolved[slot] = meant
        return resolved

    def _resolve_slot(self, slot: int, raw: str) -> str | None:
        if slot == self._loc:
            return self._values.clean_raw_url(raw)
        if slot in self._urls:
            return self._values.url(raw)
        return self._values.text(raw) if slot in self._words else None


def _build_pattern(shape: RecordShape) -> re.Pattern[str]:
    # `re.escape` escapes more than necessary, and every escape slows down compiling.
    literals = (_SPECIAL_CHARACTERS.sub(r"\\\g<0>", literal) for literal in shape.literals)
    parts = zip(literals, (*shape.strict, ""), strict=True)
    return re.compile(r"\s*+" + "".join(chain.from_iterable(parts)))


def _compile_shape(shape: RecordShape, values: ValueParser) -> Callable[[SlotTexts], UrlEntry]:
    names: dict[str, Any] = {
        "make": tuple.__new__,
        "Entry": UrlEntry,
        "dates": values.dates,
        "changefreqs": values.changefreqs,
        "priorities": values.priorities,
        "blank": " ",
        "filled": _fill_content,
        "kept": _drop_empty,
        "values": values,
    }
    fields = (
        _parse_expression(f"t[{shape.page['loc']}]"),
        _build_cache_lookup("dates", shape.page.get("lastmod")),
        _build_cache_lookup("changefreqs", shape.page.get("changefreq")),
        _build_cache_lookup("priorities", shape.page.get("priority")),
        _build_media(shape.get_media("image"), names),
        _build_media(shape.get_media("video"), names),
        _build_first(shape.get_media("news"), names),
        _build_alternates(shape.alternates),
        ast.Constant(shape.mobile),
        ast.Constant(shape.is_sitemap),
    )
    body = _build_call("make", ast.Name("Entry", ast.Load()), ast.Tuple(list(fields), ast.Load()))
    function = _parse_expression("lambda t: ...")
    assert isinstance(function, ast.Lambda)
    function.body = body
    tree = ast.fix_missing_locations(ast.Expression(function))
    build: Callable[[SlotTexts], UrlEntry] = eval(compile(tree, "<shape>", "eval"), names)  # noqa: S307
    return build


def _parse_expression(source: str) -> ast.expr:
    """Parse an expression written by us. `t` is the sequence of texts."""
    return ast.parse(source, mode="eval").body


def _build_call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _build_list(items: Iterable[ast.expr]) -> ast.expr:
    return ast.List(list(items), ast.Load())


def _build_cache_lookup(name: str, slot: int | None) -> ast.expr:
    return _parse_expression("None" if slot is None else f"{name}[t[{slot}]]")


def _build_media(media: list[MediaShape], names: dict[str, Any]) -> ast.expr:
    if not media:
        return _parse_expression("()")
    contents = _build_list(_build_content(medium, names) for medium in media)
    is_never_empty = all(medium.urls or medium.texts for medium in media)
    return contents if is_never_empty else _build_call("kept", contents)


def _build_first(media: list[MediaShape], names: dict[str, Any]) -> ast.expr:
    if not media:
        return _parse_expression("None")
    contents = (_build_content(medium, names) for medium in media)
    return ast.BoolOp(ast.Or(), [*contents, _parse_expression("None")])


def _build_content(medium: MediaShape, names: dict[str, Any]) -> ast.expr:
    """Build an expression such as `{"loc": t[4], "title": blank.join(t[5].split())}`."""
    kept = {key: _parse_expression(f"t[{slot}]") for key, slot in medium.urls.items()}
    words = medium.texts | medium.words
    kept |= {
        key: _parse_expression(f"blank.join(t[{slot}].split())") for key, slot in words.items()
    }
    kept |= {key: _parse_expression(f"int(t[{slot}])") for key, slot in medium.numbers.items()}
    content = ast.Dict([ast.Constant(key) for key in kept], list(kept.values()))
    done = {*medium.words.values(), *medium.numbers.values()}
    others = [other for other in medium.others if other[1] not in done]
    if not others:
        return content
    name = f"others{len(names)}"
    names[name] = others
    return _build_call("filled", content, *map(_parse_expression, ("t", name, "values")))


def _build_alternates(pairs: list[tuple[int, int]]) -> ast.expr:
    if not pairs:
        return _parse_expression("()")
    return _build_list(_parse_expression(f"(t[{language}], t[{href}])") for language, href in pairs)


def _fill_content(
    content: Extension, texts: SlotTexts, others: FieldAdders, values: ValueParser
) -> Extension:
    """Add the fields that need a `FieldAdder`."""
    for add, slot, attributes in others:
        attribute_text = "" if attributes is None else texts[attributes]
        add(content, texts[slot], attribute_text, values)
    return content


def _drop_empty(contents: list[Extension]) -> Sequence[Extension]:
    return [content for content in contents if content] or ()


MAX_TAGS_CHARACTERS = 1_000
"""Maximum length of a record's tags and whitespace in a template."""
_TEXT = "[^<]*+"
_TAG = re.compile("<[^>]*>")
_PLAIN_URL_BYTES = bytes(code for code in range(0x21, 0x7F) if chr(code) not in "<\\")
"""Characters of a URL that needs no cleaning, unless it contains references."""
_ZONED_DATE = re.compile(
    r"[12]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6}|)(Z|[+-]\d\d:[0-5]\d)\Z", re.ASCII
)


class TemplateMismatch(Exception):
    """The window is not as uniform as expected."""


class WindowTemplate:
    """Reader for windows in which every record has the same plain shape and valid values."""

    def __init__(
        self,
        shape: RecordShape,
        texts: Sequence[str],
        gap: str,
        values: ValueParser,
        *,
        exact: bool,
    ) -> None:
        """Build a template from a sample record with these texts, followed by `gap`.

        With `exact`, whitespace and the date format must be the same in every record.
        """
        origin = PLAIN_ORIGIN.match(texts[0])
        has_usual_order = shape.fields[0] == "loc" and "lastmod" not in shape.fields[2:]
        if not shape.is_plain or not has_usual_order or origin is None:
            raise TemplateMismatch
        self._values = values
        self._is_sitemap = shape.is_sitemap
        self._origin = origin[0]
        self._write = _escape_exact if exact else _escape_loose
        opening, closing, *literals = shape.literals
        self._opening = gap + opening
        self._opens = re.compile(r"\s*+" + self._write(opening))
        self._has_lastmod = shape.fields[1:2] == ("lastmod",)
        if self._has_lastmod:
            date, self._moment = self._build_date_parser(texts[1] if exact else "")
            separator = f"{self._write(closing)}({date})"
        else:
            tag = closing.index(">") + 1
            separator = re.escape(closing[:tag]) + r"\s*+"
            literals.insert(0, closing[tag:].lstrip())
        literals[-1] += self._opening
        if sum(map(len, literals)) > MAX_TAGS_CHARACTERS:
            raise TemplateMismatch
        self._fields = shape.fields[1 + self._has_lastmod :]
        tail = _build_jumps(literals) if exact else _TEXT.join(map(_escape_loose, literals))
        self._between = re.compile(f"{separator}({tail})", re.DOTALL)
        self._tail = re.compile(f"({_TEXT})".join(map(self._write, literals)))
        self._rests = ValueCache(self._parse_tail)

    def _build_date_parser(self, sample: str) -> tuple[str, Callable[[str], datetime | None]]:
        """Return a pattern for dates like the sample, and the fastest correct parser for them."""
        form = _ZONED_DATE.match(sample)
        if form is None:
            return _TEXT, ValueCache(self._parse_date).__getitem__
        # `fromisoformat` and `parse_lastmod` agree on every date of this form.
        fraction = rf"\..{{{len(form[1]) - 1}}}" if form[1] else ""
        zone = "Z" if form[2] == "Z" else r"[+\-].{2}:[0-5]."
        return (
            rf"[12].{{3}}-.{{2}}-.{{2}}T.{{2}}:.{{2}}:.{{2}}{fraction}{zone}",
            datetime.fromisoformat,
        )

    def read(self, text: str) -> EntryColumns:
        """Read all records of the text. Raises `TemplateMismatch`, without side effects, for other
        content.
        """
        parts = self._split(text)
        step = 2 + self._has_lastmod
        locs, origin = self._clean_locs(parts[::step])
        lastmods: list[datetime | None] = [None] * len(locs)
        try:
            if self._has_lastmod:
                lastmods = list(map(self._moment, parts[1::step]))
            rests: list[ChangeHints] = list(map(self._rests.__getitem__, parts[step - 1 :: step]))  # type: ignore[arg-type]
        except ValueError as error:
            raise TemplateMismatch from error
        return EntryColumns(locs, lastmods, rests, is_sitemap=self._is_sitemap, origin=origin)

    def _split(self, text: str) -> list[str]:
        """Return, for each record, its loc, its lastmod if present, and the text up to the next
        loc.
        """
        parts = self._between.split(text)
        # The last record has no successor, so append the opening of one.
        *last, rest = self._between.split(parts.pop() + self._opening)
        parts += last
        opened = self._opens.match(parts[0]) if parts else None
        if rest or opened is None:
            raise TemplateMismatch
        parts[0] = parts[0][opened.end() :]
        return parts

    def _clean_locs(self, raw: list[str]) -> tuple[list[str], str | None]:
        """Return cleaned URLs, and their origin if all share it."""
        start, joined = f"<{self._origin}/", f"<{'<'.join(raw)}"
        if (
            joined.isascii()
            and joined.count(start) == len(raw)
            and joined.encode().translate(None, _PLAIN_URL_BYTES) == b"<" * len(raw)
            and max(map(len, raw)) <= MAX_LOC_CHARACTERS
        ):
            if "&" not in joined:
                return raw, self._origin
            locs = [self._clean_url(loc) if "&" in loc else loc for loc in raw]
        else:
            locs = [self._clean_url(loc) for loc in raw]
        has_origin = all(loc.startswith(start[1:]) for loc in locs)
        return locs, self._origin if has_origin else None

    def _clean_url(self, raw: str) -> str:
        url = None if "<" in raw else self._values.clean_raw_url(raw)
        if url is None:
            raise TemplateMismatch
        return url

    def _parse_date(self, raw: str) -> datetime | None:
        text = self._values.text(raw)
        moment = parse_lastmod(text)
        if text and moment is None:
            raise TemplateMismatch
        return moment

    def _parse_tail(self, tail: str) -> ChangeHints:
        """Parse the text after lastmod: `…<changefreq>daily</changefreq></url>…` → daily, None."""
        match = self._tail.fullmatch(tail)
        if match is None:
            raise TemplateMismatch
        texts = dict(zip(self._fields, map(self._values.text, match.groups()), strict=True))
        changefreq = parse_changefreq(texts.get("changefreq", ""))
        priority = parse_priority(texts.get("priority", ""))
        if texts.get("changefreq") and changefreq is None:
            raise TemplateMismatch
        if texts.get("priority") and priority is None:
            raise TemplateMismatch
        return changefreq, priority


def _escape_exact(tags: str) -> str:
    return re.escape(tags)


def _escape_loose(tags: str) -> str:
    """Escape tags and allow any whitespace between them."""
    return r"\s*+".join(map(re.escape, _TAG.findall(tags)))


def _build_jumps(literals: list[str]) -> str:
    """Match text of the same length as the literals. The actual characters are verified later."""
    return _TEXT.join(f".{{{len(literal)}}}" for literal in literals)


MAX_LEARNED_RECORDS = 100
"""Records to learn from per document. If all of them differ, learning is pointless."""
MAX_TAG_ORDERS = 1_000
"""Tag sequences remembered per document. A shape is learned at the second occurrence."""
MAX_SIMILAR_SHAPES = 8
"""Shapes that are tried for the same tag sequence, or for the same number of tags."""
MAX_SKIPPED_CHARACTERS = 1_000
"""Characters at the start of a record that may be skipped in the search for its end."""
MAX_TEMPLATE_MISSES = 4
"""Consecutive windows without a match after which templates are no longer tried."""

_BOUNDARY = re.compile(
    r"<(/?)(?:[A-Za-z_][\w.\-]*+:)?(url|sitemap|urlset|sitemapindex)(?=[\s/>])", re.IGNORECASE
)
_ONE_RECORD = ([("", "url"), ("/", "url")], [("", "sitemap"), ("/", "sitemap")])
_TAGS = re.compile(r"<[^\s<>\[]*+")


class FastReader:
    """Learned shapes and template of one document."""

    def __init__(
        self,
        values: ValueParser,
        *,
        record_end: str,
        read_tags: Callable[[str], Iterable[UrlEntry]],
    ) -> None:
        self.record_end = record_end
        """Closing tag of the records, as written."""
        self._values = values
        self._read_tags = read_tags
        self._makers: dict[int, list[CompiledShape]] = {}
        """Compiled shapes by number of tags."""
        self._shapes: dict[tuple[str, ...], list[RecordShape] | None] = {}
        """Shapes by tag sequence. Empty for a sequence seen once, None if no shape can be learned.
        """
        self._shortest = 0
        """Offset of the closing tag in the shortest record of any compiled shape."""
        self._lessons = 0
        self._template: WindowTemplate | None = None
        self._unfit = 0

    def read(self, text: str) -> tuple[Sequence[UrlEntry], int]:
        """Return the entries at the start of the text, and the position after the last of them.

        The text must start outside comments and CDATA. The text after the position may contain
        anything and must be scrubbed first.
        """
        if self._unfit < MAX_TEMPLATE_MISSES:
            try:
                if self._template is None:
                    self._template = self._build_template(text)
                rows = self._template.read(text)
                self._unfit = 0
                return rows, len(text)
            except TemplateMismatch:
                self._template = None
                self._unfit += 1
        return self.read_records(text)

    def _build_template(self, text: str) -> WindowTemplate:
        """Build a template from the last record. The first is often unusual (the home page)."""
        end = text.rfind(self.record_end)
        previous = text.rfind(self.record_end, 0, max(end, 0))
        behind = previous + len(self.record_end) if previous >= 0 else 0
        start = max(text.find("<", behind), behind)
        record = text[start : end + len(self.record_end)]
        shape = learn_shape(record)
        match = shape.pattern.fullmatch(record) if shape and shape.is_plain else None
        if shape is None or match is None:
            raise TemplateMismatch
        # If the previous window did not match, only whitespace or dates may differ.
        is_first = self._unfit == 0
        return WindowTemplate(
            shape, match.groups(), text[behind:start], self._values, exact=is_first
        )

    def read_records(self, text: str, start: int = 0) -> tuple[list[UrlEntry], int]:
        """Read a limited number of records one by one."""
        entries: list[UrlEntry] = []
        position = start
        length, lessons = len(self.record_end), self._lessons
        for _ in range(MAX_STEP_ENTRIES):
            # No compiled shape matches a shorter record, so the search can skip this many
            # characters.
            end = text.find(self.record_end, position + self._shortest) + length
            for maker in self._makers.get(text.count("<", position, end), ()):
                if (entry := maker.read(text, position, end)) is not MISMATCH:
                    entries.append(entry)
                    break
            else:
                end = text.find(self.record_end, position) + length
                record = self._read_record(text[position:end]) if end >= length else None
                if record is None:
                    break
                entries += record
            position = end
            if self._lessons > lessons:
                break
        return entries, position

    def _read_record(self, record: str) -> Iterable[UrlEntry] | None:
        """Read a record without a compiled shape. Return None if it is not a single record."""
        read = self._read_shape(record)
        if read is not MISMATCH:
            return () if read is None else (read,)
        return self._read_tags(record) if _is_one_record(record) else None

    def _read_shape(self, record: str) -> ShapeResult:
        tags = tuple(_TAGS.findall(record))
        for shape in self._shapes.get(tags) or ():
            if (read := shape.read(record, self._values)) is not MISMATCH:
                return read
        learned = self._learn_shape(record, tags)
        if learned is None or learned.cdata:
            return learned.read(record, self._values) if learned else MISMATCH
        maker = CompiledShape(learned, self._values)
        makers = self._makers.setdefault(record.count("<"), [])
        if len(makers) < MAX_SIMILAR_SHAPES:
            makers.append(maker)
            behind = min(maker.shortest - len(self.record_end), MAX_SKIPPED_CHARACTERS)
            self._shortest = min(behind, self._shortest or behind)
        return maker.read(record, 0, len(record))

    def _learn_shape(self, record: str, tags: tuple[str, ...]) -> RecordShape | None:
        """Learn the shape of a record if its tags were seen before and it is unambiguous."""
        if tags not in self._shapes:
            if len(self._shapes) < MAX_TAG_ORDERS:
                self._shapes[tags] = []
            # Records with CDATA cannot be read tag by tag from here, so learn them immediately.
            if "<!" not in record:
                return None
        known = self._shapes.get(tags)
        if (
            known is None
            or len(known) >= MAX_SIMILAR_SHAPES
            or self._lessons >= MAX_LEARNED_RECORDS
        ):
            return None
        self._lessons += 1
        shape = learn_shape(record.lstrip())
        if shape is None:
            self._shapes[tags] = None
            return None
        known.append(shape)
        return shape


def _is_one_record(text: str) -> bool:
    """Whether the text has only tags and text, and is a single complete record."""
    if "<!" in text or "<?" in text:
        return False
    return [(slash, name.lower()) for slash, name in _BOUNDARY.findall(text)] in _ONE_RECORD
