"""Read HTML as a row of tags and texts: linear in its length, whatever the page does.

A tree builder is not used on purpose. What the HTML standard demands of one takes quadratic time
(a hundred thousand nested elements, one tag with fifty thousand attributes, formatting elements
that are never closed), and a page that wants to can stop a worker for minutes with it.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache

from scrapersky.scraper.contact_finder.words import words_of

MAX_TAGS = 100_000
MAX_ENTITIES = 20_000
"""Of one text; decoding them is the one step here that runs in Python per item."""
_MAX_ATTRIBUTE_CHARACTERS = 20_000

# To the end of the tag: nothing, well-formed attributes, or whatever people write. A quote
# counts only after "=", as in browsers. Possessive, and it cannot fail: so each tag is read once.
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
"""A picture of the "@" that is described as one."""
_AT_FILE = re.compile(
    r"""\bsrc\s?=\s?["']?(?:(?!flag)[^"'\s<>]){0,200}?(?<![\w-])at\.(?:gif|png|svg|jpe?g)\b""", re.I
)
_AT_ICON = re.compile(r"""\bclass\s?=\s?["'][^"'<>]{0,100}?[\w]-at(?=["'\s])""", re.I)
"""A picture that is only named so; it counts where letters stand on both sides of it."""
_PREFORMATTED = re.compile(r"(<pre\b(?:[^<]++|<(?!/pre))*+)", re.IGNORECASE)
_LINK_EDGE = "\x1f"
_INLINE = words_of(
    "span b i em strong font wbr u s small sub sup mark abbr cite code kbd tt big bdi bdo ins "
    "del time data var nobr acronym strike script img o:p"
)


class _Separators(dict[str, str]):
    """What a tag means for the text: nothing between letters in different spans, a line's end at
    blocks; a link's edge counts as a space, for sites put links next to words without one.
    """

    def __missing__(self, name: str) -> str:
        if "@" in name:
            return f" {name} "  # `Jane <jane@example.org>`, not escaped
        plain = name.lstrip("/").lower()
        separator = "" if plain in _INLINE else _LINK_EDGE if plain == "a" else "\n"
        if len(self) < 10_000:
            self[name] = separator
        return separator


_SEPARATORS = _Separators()


class Row:
    """The tags of some markup in their order, each with its attributes and the text after it."""

    def __init__(self, markup: str) -> None:
        parts = _TAG.split(_lines_joined(markup), maxsplit=MAX_TAGS)
        self.names = parts[1::3]
        """As written; those of closing tags begin with a slash."""
        self.attributes = parts[2::3]
        """As written, to the closing bracket; `attributes_of` reads them."""
        self.is_cut = len(self.names) == MAX_TAGS
        self._texts = parts[::3] if not self.is_cut else [*parts[:-1:3], ""]
        self._separators = list(map(_SEPARATORS.__getitem__, self.names))

    def show_at_images(self) -> None:
        """Let pictures of the "@" be read."""
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
        """What a person reads after tag `first` and before tag `last`; all of it by default."""
        texts = self._texts[first + 1 : last + 1 if last is not None else None]
        pieces = [""] * (2 * len(texts) - 1)
        pieces[::2] = texts
        pieces[1::2] = self._separators[first + 1 : first + len(texts)]
        # After "@" no edge: there a program's guess at a link cuts addresses in two.
        text = "".join(pieces).replace(f"{_LINK_EDGE}@{_LINK_EDGE}", "@")
        text = text.replace("@" + _LINK_EDGE, "@").replace(_LINK_EDGE, " ")
        return visible_characters(unescaped(text))


@lru_cache(maxsize=512)
def attributes_of(written: str) -> dict[str, str]:
    """Names in lower case, values decoded; the first of two with the same name counts."""
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(written[:_MAX_ATTRIBUTE_CHARACTERS]):
        found.setdefault(name.lower(), unescaped(double or single or bare))
    return found


def unescaped(text: str) -> str:
    if "&" not in text:
        return text
    if text.count("&") <= MAX_ENTITIES:
        return html.unescape(text)
    return html.unescape("&".join(text.split("&", MAX_ENTITIES)[:MAX_ENTITIES]))


def text_of(markup: str) -> str:
    """What a person reads of it."""
    return Row(markup).text() if "<" in markup else visible_characters(unescaped(markup))


def visible_characters(text: str) -> str:
    if text.isascii():
        return text
    return _INVISIBLE.sub("", text).replace("＠", "@").replace("．", ".").replace("\xa0", " ")


def _lines_joined(markup: str) -> str:
    """Line ends of the source mean nothing, except in preformatted text."""
    if "<pre" not in markup and "<PRE" not in markup:
        return markup.replace("\n", " ").replace("\r", " ")
    parts = _PREFORMATTED.split(markup)
    parts[::2] = [part.replace("\n", " ").replace("\r", " ") for part in parts[::2]]
    return "".join(parts)
