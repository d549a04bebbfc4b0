"""Tolerant XML tokenizer: strip comments, declarations and CDATA, undo references, split tags.

There is no DTD engine: what a DOCTYPE declares is skipped, and a reference to it yields nothing.
Everything is found by plain search, so the work is linear in the length of the input.

"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from html.entities import html5
from typing import NamedTuple

_REFERENCE = re.compile(r"&(?:#([0-9]{1,8})|#[xX]([0-9a-fA-F]{1,8})|([A-Za-z_][\w.\-]{0,60}));")
_XML_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def escape_xml(text: str) -> str:
    """The opposite, for text that came out of CDATA and is to be read like any other."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape_xml(text: str, declared: Container[str] = ()) -> str:
    """Undo references; those to `declared` entities yield nothing, unknown ones stay."""
    if text.count("&") == text.count("&amp;"):
        return text.replace("&amp;", "&")

    def replacement(match: re.Match[str]) -> str:
        decimal, hexadecimal, name = match.groups()
        if name is None:
            return _decode_codepoint(int(decimal) if decimal else int(hexadecimal, 16))
        if name in declared and name not in _XML_ENTITIES:
            return ""
        return _XML_ENTITIES.get(name) or html5.get(f"{name};") or match[0]

    return _REFERENCE.sub(replacement, text)


def has_undefined_entity(text: str, declared: Container[str] = ()) -> bool:
    """Whether there is a reference in it whose text nobody knows.

    Entities that a document declares are never expanded, and others it may not even declare: a URL
    without that text would be another page's.
    """
    names = (match[3] for match in _REFERENCE.finditer(text) if match[3] is not None)
    return any(
        each not in _XML_ENTITIES and (each in declared or f"{each};" not in html5)
        for each in names
    )


def _decode_codepoint(code: int) -> str:
    is_possible = 0 < code < 0x110000 and not 0xD800 <= code < 0xE000
    return chr(code) if is_possible else ""


# Take comments, declarations and CDATA out of a stream of XML, so that only tags and text stay.
#
# There is no DTD engine here: what a DOCTYPE declares is skipped, and a reference to it yields
# nothing. Everything is found by plain search, so the work grows with the length only.

_CONSTRUCT_ENDS = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}
_MAX_OPENER_CHARACTERS = len("<![CDATA[")
MAX_DECLARATION_CHARACTERS = 64 * 1024
MAX_ENTITIES = 1_000
_DECLARATION = re.compile(r"<![^<>\"'\[]*+(?:\"[^\"]*+\"[^<>\"'\[]*+|'[^']*+'[^<>\"'\[]*+)*+[>\[]")
_CONSTRUCT = re.compile(r"<[!?]")
_ENTITY = re.compile(r"<!ENTITY\s+([A-Za-z_][\w.\-]*)", re.IGNORECASE)


class XmlScrubber:
    """Feeds on raw text in pieces of any size and gives back clean text."""

    def __init__(self) -> None:
        self.entities: set[str] = set()
        """Names declared in the document's own DOCTYPE."""
        self._held = ""
        self._inside: str | None = None

    def feed(self, text: str) -> str:
        text = self._held + text
        self._held = ""
        if self._inside is None and "<!" not in text and "<?" not in text:
            return self._hold_back_opener(text)
        clean: list[str] = []
        position = 0
        while position < len(text):
            position = self._step(text, position, clean)
        return "".join(clean)

    def close(self) -> str:
        """What was held back when the document ended."""
        held, self._held = self._held, ""
        return "" if self._inside else held

    @property
    def unfinished(self) -> str | None:
        """The construct that the document ended in, if it did."""
        return self._inside

    @property
    def is_idle(self) -> bool:
        """What it is fed next begins outside of everything."""
        return self._inside is None and not self._held

    def _step(self, text: str, position: int, clean: list[str]) -> int:
        if self._inside is not None:
            return self._skip(text, position, clean)
        found = _CONSTRUCT.search(text, position)
        if found is None:
            clean.append(self._hold_back_opener(text[position:]))
            return len(text)
        clean.append(text[position : found.start()])
        return self._open(text, found.start())

    def _open(self, text: str, start: int) -> int:
        for opener in _CONSTRUCT_ENDS:
            if text[start : start + len(opener)].upper() == opener:
                self._inside = opener
                return start + len(opener)
        if len(text) - start < _MAX_OPENER_CHARACTERS:
            self._held = text[start:]
            return len(text)
        return self._skip_declaration(text, start)

    def _skip_declaration(self, text: str, start: int) -> int:
        """Skip one `<!…>`; of a DOCTYPE with a subset only its head, as the rest follows alone."""
        match = _DECLARATION.match(text, start, start + MAX_DECLARATION_CHARACTERS)
        if match is not None:
            self._record_entity(match[0])
            return match.end()
        if len(text) - start < MAX_DECLARATION_CHARACTERS:
            self._held = text[start:]
            return len(text)
        # It never ends properly; go on after its first `>`, so that nothing is read twice.
        return text.find(">", start) + 1 or len(text)

    def _record_entity(self, declaration: str) -> None:
        if len(self.entities) < MAX_ENTITIES and (match := _ENTITY.match(declaration)):
            self.entities.add(match[1])

    def _skip(self, text: str, position: int, clean: list[str]) -> int:
        assert self._inside is not None
        end = _CONSTRUCT_ENDS[self._inside]
        found = text.find(end, position)
        stop = found if found >= 0 else max(position, len(text) - len(end) + 1)
        if self._inside == "<![CDATA[":
            clean.append(escape_xml(text[position:stop]))
        if found < 0:
            self._held = text[stop:]
            return len(text)
        self._inside = None
        return found + len(end)

    def _hold_back_opener(self, text: str) -> str:
        """A `<` or `<!` at the very end may be the beginning of something."""
        if text.endswith("<"):
            self._held = "<"
            return text[:-1]
        return text


# Neither half can run past the next `<`, so scanning is linear whatever the input.
_TOKEN = re.compile(
    r"<(/?)([A-Za-z_][\w.:\-]*+)"
    r"((?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+|[^<>]*+)>([^<]*+)"
)
_ATTRIBUTE = re.compile(
    r"(?<![\w:.\-])([\w:.\-]++)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"']++))"
)


class XmlToken(NamedTuple):
    """One tag and the text up to the next."""

    is_close: bool
    prefix: str
    name: str
    """Without its prefix, in lower case."""
    attributes: str
    """As written; `attributes_of` reads them."""
    is_empty: bool
    """`<tag/>`"""
    tail: str


def iter_tokens(text: str) -> Iterator[XmlToken]:
    for slash, name, attributes, tail in _TOKEN.findall(text):
        prefix, _, local = name.lower().rpartition(":")
        yield XmlToken(
            slash == "/", prefix, local, attributes, attributes.rstrip().endswith("/"), tail
        )


def parse_attributes(text: str) -> dict[str, str]:
    """Attributes by lower-case name without prefix; the first of a name counts."""
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(text):
        found.setdefault(name.lower().rpartition(":")[2], double or single or bare.rstrip("/"))
    return found
