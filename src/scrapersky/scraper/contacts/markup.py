"""Tokenize HTML in linear time and strip comments, scripts, styles and hidden decoys.

HTML is read as a flat sequence of tags and texts. A tree builder is avoided on purpose: the HTML
standard's tree construction takes quadratic time on hostile input (100,000 nested elements, a tag
with 50,000 attributes, formatting elements that are never closed), so one page could block a worker
for minutes.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from functools import lru_cache

from scrapersky.scraper.contacts.model import split_words

MAX_TAGS = 100_000
MAX_ENTITIES = 20_000
"""Limit per text; decoding entities is the only step here that runs Python code per item."""
_MAX_ATTRIBUTE_CHARACTERS = 20_000

# Matches up to the end of the tag: no attributes, well-formed attributes, or malformed ones. As in
# browsers, a quote only counts after "=". The pattern is possessive and cannot fail, so each tag is
# read once.
_ANY_ATTRIBUTES = r"""[^=>]*+(?:=\s*+(?:"[^"]*+"|'[^']*+')?+[^=>]*+)*+(?:>|\Z)"""
REST_OF_TAG = rf"""(?:>|[^"'>=]*+(?:="[^"]*+"[^"'>=]*+)*+>|{_ANY_ATTRIBUTES})"""
_TAG = re.compile(rf"<([/!?]?[a-zA-Z\[][^\s/>]*+)({REST_OF_TAG})")
_ATTRIBUTE = re.compile(
    r"""([^\s"'<>/=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'=<>`][^\s>]*+)))?"""
)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff\u202a-\u202e\u2066-\u2069]")
_AT_IMAGE = re.compile(
    r"""\balt\s?=\s?["']?\s?([(\[{]?\s?(?:@|at|ät|arroba)\s?[)\]}]?)\s?["'/>]""", re.IGNORECASE
)
"""An image whose `alt` text is an "@"."""
_AT_FILE = re.compile(
    r"""\bsrc\s?=\s?["']?(?:(?!flag)[^"'\s<>]){0,200}?(?<![\w-])at\.(?:gif|png|svg|jpe?g)\b""", re.I
)
_AT_ICON = re.compile(r"""\bclass\s?=\s?["'][^"'<>]{0,100}?[\w]-at(?=["'\s])""", re.I)
"""An icon with an "at" class name; counts as "@" only between two letters."""
_PREFORMATTED = re.compile(r"(<pre\b(?:[^<]++|<(?!/pre))*+)", re.IGNORECASE)
_LINK_EDGE = "\x1f"
_INLINE_ELEMENTS = split_words(
    "span b i em strong font wbr u s small sub sup mark abbr cite code kbd tt big bdi bdo ins "
    "del time data var nobr acronym strike script img o:p"
)


class _Separators(dict[str, str]):
    """The text that replaces each tag.

    Inline elements are replaced by nothing and block elements by a line break. The edge of a link
    counts as a space, because sites put links directly next to words.
    """

    def __missing__(self, name: str) -> str:
        if "@" in name:
            return f" {name} "  # an unescaped `Jane <jane@example.org>`
        plain = name.lstrip("/").lower()
        separator = "" if plain in _INLINE_ELEMENTS else _LINK_EDGE if plain == "a" else "\n"
        if len(self) < 10_000:
            self[name] = separator
        return separator


_SEPARATORS = _Separators()


class TagSequence:
    """The tags of some markup in order, each with its attributes and the text that follows it."""

    def __init__(self, markup: str) -> None:
        parts = _TAG.split(_join_lines(markup), maxsplit=MAX_TAGS)
        self.names = parts[1::3]
        """Names as written; closing tags start with a slash."""
        self.attributes = parts[2::3]
        """As written, including the closing bracket; decode with `parse_attributes`."""
        self.is_cut = len(self.names) == MAX_TAGS
        self._texts = parts[::3] if not self.is_cut else [*parts[:-1:3], ""]
        self._separators = list(map(_SEPARATORS.__getitem__, self.names))

    def insert_at_signs(self) -> None:
        """Replace images and icons of an "@" with the character in the text."""
        for index, name in enumerate(self.names):
            if name in ("img", "IMG"):
                written = self.attributes[index][:500]
                if match := _AT_IMAGE.search(written):
                    self._separators[index] = match[1]
                elif _AT_FILE.search(written) and self._is_between_letters(index, index + 1):
                    self._separators[index] = "@"
            elif (
                name in ("i", "span")
                and _AT_ICON.search(self.attributes[index][:500])
                and not self._texts[index + 1].strip()
                and self._is_between_letters(index, index + 2)
            ):
                self._separators[index] = "@"

    def _is_between_letters(self, before: int, after: int) -> bool:
        right = self._texts[after][:1] if after < len(self._texts) else ""
        return self._texts[before][-1:].isalnum() and right.isalnum()

    def text(self, first: int = -1, last: int | None = None) -> str:
        """Return the visible text between tags `first` and `last`; all of it by default."""
        texts = self._texts[first + 1 : last + 1 if last is not None else None]
        pieces = [""] * (2 * len(texts) - 1)
        pieces[::2] = texts
        pieces[1::2] = self._separators[first + 1 : first + len(texts)]
        # Ignore link edges after "@": link detection that guesses wrong splits addresses there.
        text = "".join(pieces).replace(f"{_LINK_EDGE}@{_LINK_EDGE}", "@")
        text = text.replace("@" + _LINK_EDGE, "@").replace(_LINK_EDGE, " ")
        return strip_invisible(unescape_entities(text))


@lru_cache(maxsize=512)
def parse_attributes(written: str) -> dict[str, str]:
    """Parse attributes into lower-case names and decoded values; the first duplicate wins."""
    attributes: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(written[:_MAX_ATTRIBUTE_CHARACTERS]):
        attributes.setdefault(name.lower(), unescape_entities(double or single or bare))
    return attributes


def unescape_entities(text: str) -> str:
    if "&" not in text:
        return text
    if text.count("&") <= MAX_ENTITIES:
        return html.unescape(text)
    return html.unescape("&".join(text.split("&", MAX_ENTITIES)[:MAX_ENTITIES]))


def extract_text(markup: str) -> str:
    """Return the visible text of a piece of markup."""
    return (
        TagSequence(markup).text() if "<" in markup else strip_invisible(unescape_entities(markup))
    )


def strip_invisible(text: str) -> str:
    if text.isascii():
        return text
    return _INVISIBLE.sub("", text).replace("＠", "@").replace("．", ".").replace("\xa0", " ")


def _join_lines(markup: str) -> str:
    """Replace line breaks in the source with spaces, except in preformatted text."""
    if "<pre" not in markup and "<PRE" not in markup:
        return markup.replace("\n", " ").replace("\r", " ")
    parts = _PREFORMATTED.split(markup)
    parts[::2] = [part.replace("\n", " ").replace("\r", " ") for part in parts[::2]]
    return "".join(parts)


MAX_HIDDEN_ELEMENTS = 10_000
MAX_SCRIPTS = 400
MAX_SCRIPT_CHARACTERS = 600_000
"""Limit for all scripts together: enough for page data; bundled code is not worth reading."""
MAX_DECOYS = 300
_MAX_STYLE_CHARACTERS = 200_000
_DECOY_REACH = 150

_RAW_ELEMENTS = ("script", "style", "template", "iframe", "xmp", "noembed", "noframes")
_ANY_CASE = {
    name: "".join(f"[{letter}{letter.upper()}]" for letter in name) for name in _RAW_ELEMENTS
}
_OPENER = re.compile(f"<(?:!--|(?:{'|'.join(_ANY_CASE.values())})(?=[\\s/>]))")
_CLOSERS = {name: re.compile(f"</{pattern}") for name, pattern in _ANY_CASE.items()}
_ELEMENT = re.compile(rf"<([a-zA-Z]++)({REST_OF_TAG})")
_COMMENT = re.compile(r"<!--(?:>|->|(?:[^-]++|-(?!-!?>))*+(?:--!?>)?)")
_GLUED_SPAN = re.compile(
    r"<(span|b|i|em|strong|u)\s([^<>]{1,300})>[^<]{0,80}</\1\s{0,3}>", re.IGNORECASE
)
_DOCUMENT_WRITE = re.compile(
    r"""\s*+document\.write(?:ln)?\(\s{0,9}(["'])([\w.\-]{0,64} ?"""
    r"""(?:@|&#64;|&#x40;|&commat;|\(at\)|\[at\]) ?[\w.\-]{0,80})\1"""
    r"""\s{0,9}\)\s*+;?\s*+\Z"""
)
"""A script that only writes an "@" in place, possibly with the text next to it."""
_MAX_WRITER_CHARACTERS = 150
_HIDING = (
    r"(?:display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}hidden"
    r"|(?:font-size|opacity)\s{0,9}:\s{0,9}0(?![.\d]))"
)
_HIDING_STYLE = re.compile(_HIDING, re.IGNORECASE)
_HIDING_CSS_CLASS = re.compile(rf"\.([\w-]{{1,60}})\s{{0,9}}\{{[^{{}}]{{0,300}}?{_HIDING}")
_HIDING_WORDS = ("display", "visibility", "font-size", "opacity")


@dataclass(frozen=True)
class InlineScript:
    kind: str
    """The `type` attribute in lower case; empty for a plain script."""
    text: str


@dataclass
class VisibleMarkup:
    """Markup without hidden elements; an empty `<script>` marks where each script was."""

    markup: str
    scripts: list[InlineScript] = field(default_factory=list)
    styles: str = ""
    capped: bool = False


def strip_hidden(source: str) -> VisibleMarkup:
    visible = VisibleMarkup("")
    pieces: list[str] = []
    styles: list[str] = []
    position = characters = 0
    elements = _find_hidden_elements(source)
    for start, end, name, attributes, inside in elements:
        pieces.append(source[position:start])
        position = end
        if name == "style":
            styles.append(inside)
        elif name == "iframe":
            pieces.append(_extract_srcdoc(attributes))
        elif name == "script" and inside:
            characters += len(inside)
            if len(visible.scripts) == MAX_SCRIPTS or characters > MAX_SCRIPT_CHARACTERS:
                visible.capped = True
                continue
            kind = parse_attributes(attributes).get("type", "").strip().lower()
            visible.scripts.append(InlineScript(kind, inside))
            writer = len(inside) <= _MAX_WRITER_CHARACTERS and _DOCUMENT_WRITE.match(inside)
            pieces.append(f"<script>{writer[2] if writer else ''}")
    if len(elements) < MAX_HIDDEN_ELEMENTS:
        pieces.append(source[position:])
    else:
        visible.capped = True
    visible.styles = "\n".join(styles)[:_MAX_STYLE_CHARACTERS]
    visible.markup = _strip_decoys("".join(pieces), visible.styles)
    return visible


def _extract_srcdoc(attributes: str) -> str:
    """Return the document in an iframe's `srcdoc` attribute, without its hidden elements."""
    if "srcdoc" not in attributes.lower():
        return ""
    inner = parse_attributes(attributes).get("srcdoc", "")
    position, pieces = 0, ["<iframe>"]
    for start, end, *_ in _find_hidden_elements(inner):
        pieces.append(inner[position:start])
        position = end
    return "".join(pieces) + inner[position:] + "</iframe>"


def _find_hidden_elements(source: str) -> list[tuple[int, int, str, str, str]]:
    """Return start, end, name, attributes and content of each hidden element, in order."""
    elements: list[tuple[int, int, str, str, str]] = []
    opener = _OPENER.search(source)
    while opener is not None and len(elements) < MAX_HIDDEN_ELEMENTS:
        elements.append(_parse_element(source, opener.start()))
        opener = _OPENER.search(source, elements[-1][1])
    return elements


def _parse_element(source: str, start: int) -> tuple[int, int, str, str, str]:
    comment = _COMMENT.match(source, start)
    if comment is not None:
        return start, comment.end(), "", "", ""
    tag = _ELEMENT.match(source, start)
    assert tag is not None
    if tag[1].lower() == "template" and "shadowroot" in tag[2].lower():
        # A declarative shadow root is rendered; only its styles are scoped.
        return start, tag.end(), "", "", ""
    closer = _CLOSERS[tag[1].lower()].search(source, tag.end())
    close = closer.start() if closer else len(source)
    end = source.find(">", close)
    end = end + 1 if end >= 0 else len(source)
    return start, end, tag[1].lower(), tag[2], source[tag.end() : close]


def _strip_decoys(markup: str, styles: str) -> str:
    """Remove short hidden spans inserted between the letters of an address."""
    has_hiding_words = any(word in styles or word in markup for word in _HIDING_WORDS)
    if "@" not in markup or not (has_hiding_words or " hidden" in markup):
        return markup
    hidden = set(_HIDING_CSS_CLASS.findall(styles))
    pieces: list[str] = []
    position = 0
    at = markup.find("@")
    for _ in range(MAX_DECOYS):
        if at < 0:
            break
        start, end = max(position, at - _DECOY_REACH), at + _DECOY_REACH
        window = markup[start:end]
        if "</" in window:
            window = _GLUED_SPAN.sub(lambda m: "" if _is_hidden(m[2], hidden) else m[0], window)
        pieces += (markup[position:start], window)
        position = end
        at = markup.find("@", end)
    return "".join(pieces) + markup[position:]


def _is_hidden(written: str, hidden_classes: set[str]) -> bool:
    attributes = parse_attributes(written)
    if "hidden" in attributes or _HIDING_STYLE.search(attributes.get("style", "")):
        return True
    return not hidden_classes.isdisjoint(attributes.get("class", "").split())
