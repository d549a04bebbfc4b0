"""Strip markup that triggers quadratic parsing.

The HTML standard makes parsers slow on input that no one writes manually: elements nested thousands
of levels deep, thousands of attributes in one tag or options in one list, formatting elements that
are never closed. Such pages are flattened, as browsers do; ordinary pages are returned unchanged.
"""

from __future__ import annotations

import re

MAX_DEPTH = 256
"""Browsers stop at 512; real pages stay far below."""
MAX_ATTRIBUTES = 256
MAX_OPTIONS = 1_000
"""Limit per `<select>`."""
MAX_OPEN_STYLES = 3
MAX_REOPENED_ELEMENTS = 500_000
"""Limit on elements created implicitly: every paragraph reopens the formatting elements that were
left unclosed before it.
"""

MAX_ORDINARY_TAGS = 4_000
MAX_ORDINARY_DEPTH = 300
MAX_ORDINARY_TAG_CHARACTERS = 3_000
"""A page below these three limits is ordinary and is not scanned tag by tag."""

_CHUNK_CHARACTERS = 2_048
_EMPTY_TAGS = (
    *("<br", "<img", "<link", "<meta", "<input", "<li", "<p>", "<!", "<path", "<source", "<wbr"),
    *("<hr", "<col", "<option", "<td", "<tr", "<dd", "<dt"),
)
_LONG_TAG = re.compile(rf"<[A-Za-z][^<>]{{{MAX_ORDINARY_TAG_CHARACTERS}}}")

_SPACE = r"[\t\n\f\r ]*+"
_ATTRIBUTE = (
    r"[\t\n\f\r /]*+[^\t\n\f\r />][^\t\n\f\r />=]*+"
    rf"(?:{_SPACE}={_SPACE}"
    r"(?:\"[^\"]*+\"|'[^']*+'|(?=>)|[^\t\n\f\r >\"'][^\t\n\f\r >]*+))?+"
)
_ONE_ATTRIBUTE = re.compile(_ATTRIBUTE)
_TAG = re.compile(
    r"<(?:!--.*?(?:-->|\Z)|(?P<close>/?)(?P<name>[A-Za-z][^\t\n\f\r />]*+)"
    rf"(?:{_ATTRIBUTE})*+[\t\n\f\r /]*+(?:>|\Z))",
    re.DOTALL,
)
_RAW_TEXT_ELEMENTS = (
    "script",
    "style",
    "textarea",
    "title",
    "xmp",
    "iframe",
    "noembed",
    "noframes",
)
_RAW_ENDS = {
    name: re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE) for name in _RAW_TEXT_ELEMENTS
}
_FORMATTING_ELEMENTS = frozenset(
    ("b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u")
)
_FORMATTING_TAG = re.compile(
    rf"<(/?)(?:{'|'.join(sorted(_FORMATTING_ELEMENTS))})[\s>/]", re.IGNORECASE
)
_VOID_ELEMENTS = (
    "area base basefont bgsound br col embed frame hr img input keygen link meta param source"
)
_IMPLICITLY_CLOSED = "li dt dd option optgroup tr td th tbody thead tfoot colgroup rp rt rb rtc p"
_UNCOUNTED = frozenset(
    f"{_VOID_ELEMENTS} track wbr {_IMPLICITLY_CLOSED} caption html head body a".split()
)


def sanitize_html(html: str) -> str:
    """Return the page, flattened if it would take quadratic time to parse."""
    if (
        html.count("<option") + html.count("<OPTION") < MAX_OPTIONS
        and (_is_flat(html) or _is_flat(html, empty=_EMPTY_TAGS))
        and _LONG_TAG.search(html) is None
        and _has_few_styles(html)
    ):
        return html
    tags = _TagLimiter(html)
    tags.read()
    if tags.most_styles > MAX_OPEN_STYLES and tags.most_styles * tags.count > MAX_REOPENED_ELEMENTS:
        tags = _TagLimiter(html, drop_styles=True)
        tags.read()
    return tags.get_html()


def _has_few_styles(html: str) -> bool:
    tags = html.count("<")
    if tags < MAX_ORDINARY_TAGS:
        return True
    most = now = 0
    for close in _FORMATTING_TAG.findall(html):
        now = max(0, now - 1) if close else now + 1
        most = max(most, now)
    return most <= MAX_OPEN_STYLES or most * tags <= MAX_REOPENED_ELEMENTS


def _is_flat(html: str, *, empty: tuple[str, ...] = ()) -> bool:
    """Return whether nesting stays shallow, counting only opening and closing tags.

    Tags in `empty` are not counted as opening.
    """
    depth = 0
    for start in range(0, len(html), _CHUNK_CHARACTERS):
        piece = html[start : start + _CHUNK_CHARACTERS]
        if not (tags := piece.count("<")):
            continue
        depth += tags - 2 * piece.count("</") - sum(map(piece.count, empty))
        if depth > MAX_ORDINARY_DEPTH:
            return False
        depth = max(0, depth)
    return True


class _TagLimiter:
    """Scans the tags in order, tracks the nesting depth and drops what exceeds the limits."""

    def __init__(self, html: str, *, drop_styles: bool = False) -> None:
        self.count = 0
        self.most_styles = 0
        self._html = html
        self._drop_styles = drop_styles
        self._depth = 0
        self._flattened = 0
        self._styles = 0
        self._options = 0
        self._kept: list[str] = []
        self._kept_until = 0

    def read(self) -> None:
        at = 0
        while match := _TAG.search(self._html, at):
            at = match.end()
            name = match["name"]
            if name is None:
                continue
            name = name.lower()
            self.count += 1
            self._take(match, name, closes=bool(match["close"]))
            if name in _RAW_ENDS and not match["close"]:
                end = _RAW_ENDS[name].search(self._html, at)
                at = end.start() if end else len(self._html)

    def _take(self, match: re.Match[str], name: str, *, closes: bool) -> None:
        if name in _FORMATTING_ELEMENTS:
            self._styles = max(0, self._styles + (-1 if closes else 1))
            self.most_styles = max(self.most_styles, self._styles)
            too_much = self._drop_styles
        elif name == "option":
            self._options += not closes
            too_much = self._options > MAX_OPTIONS
        elif name in _UNCOUNTED or name in _RAW_ENDS:
            too_much = False
        else:
            self._options = 0 if name == "select" else self._options
            too_much = self._closes_too_deep() if closes else self._is_too_deep()
        if too_much:
            self._drop(match.start(), match.end())
        elif match.end() - match.start() > MAX_ORDINARY_TAG_CHARACTERS:
            self._shorten(match)

    def _is_too_deep(self) -> bool:
        if self._depth >= MAX_DEPTH:
            self._flattened += 1
            return True
        self._depth += 1
        return False

    def _closes_too_deep(self) -> bool:
        if self._flattened:
            self._flattened -= 1
            return True
        self._depth = max(0, self._depth - 1)
        return False

    def _shorten(self, match: re.Match[str]) -> None:
        at = match.end("name")
        for _ in range(MAX_ATTRIBUTES):
            attribute = _ONE_ATTRIBUTE.match(self._html, at, match.end() - 1)
            if attribute is None:
                return
            at = attribute.end()
        self._drop(at, match.end() - 1)

    def _drop(self, start: int, end: int) -> None:
        self._kept.append(self._html[self._kept_until : start])
        self._kept_until = end

    def get_html(self) -> str:
        if not self._kept:
            return self._html
        return "".join((*self._kept, self._html[self._kept_until :]))
