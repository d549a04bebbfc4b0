"""Tolerant XML tokenizer: strip comments, declarations and CDATA, resolve references, split tags.

There is no DTD engine: DOCTYPE declarations are skipped, and references to them yield nothing.
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
    """Escape text from CDATA, so that it can be read like other text."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape_xml(text: str, declared: Container[str] = ()) -> str:
    """Resolve references. References to `declared` entities yield nothing; unknown ones stay."""
    if text.count("&") == text.count("&amp;"):
        return text.replace("&amp;", "&")

    def replacement(match: re.Match[str]) -> str:
        decimal, hexadecimal, name = match.groups()
        if name is None:
            code = int(decimal) if decimal else int(hexadecimal, 16)
            is_possible = 0 < code < 0x110000 and not 0xD800 <= code < 0xE000
            return chr(code) if is_possible else ""
        if name in declared and name not in _XML_ENTITIES:
            return ""
        return _XML_ENTITIES.get(name) or html5.get(f"{name};") or match[0]

    return _REFERENCE.sub(replacement, text)


def has_undefined_entity(text: str, declared: Container[str] = ()) -> bool:
    """Whether the text has a reference to an entity without a known value.

    Declared entities are never expanded, and a document may use undeclared ones. A URL with that
    text left out would be another page's.
    """
    names = (match[3] for match in _REFERENCE.finditer(text) if match[3] is not None)
    return any(
        each not in _XML_ENTITIES and (each in declared or f"{each};" not in html5)
        for each in names
    )


_CONSTRUCT_ENDS = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}
_MAX_OPENER_CHARACTERS = len("<![CDATA[")
MAX_DECLARATION_CHARACTERS = 64 * 1024
MAX_ENTITIES = 1_000
_DECLARATION = re.compile(r"<![^<>\"'\[]*+(?:\"[^\"]*+\"[^<>\"'\[]*+|'[^']*+'[^<>\"'\[]*+)*+[>\[]")
_CONSTRUCT = re.compile(r"<[!?]")
_ENTITY = re.compile(r"<!ENTITY\s+([A-Za-z_][\w.\-]*)", re.IGNORECASE)


class XmlScrubber:
    """Incremental scrubber: takes raw text in chunks of any size and returns clean text."""

    def __init__(self) -> None:
        self.entities: set[str] = set()
        """Entity names declared in the DOCTYPE."""
        self._held = ""
        self.inside: str | None = None
        """Construct in which the text read so far ends, if any."""

    def feed(self, text: str) -> str:
        text = self._held + text
        self._held = ""
        if self.inside is None and "<!" not in text and "<?" not in text:
            return self._hold_back_opener(text)
        clean: list[str] = []
        position = 0
        while position < len(text):
            position = self._step(text, position, clean)
        return "".join(clean)

    def close(self) -> str:
        """Return the text that was held back, at the end of the document."""
        held, self._held = self._held, ""
        return "" if self.inside else held

    @property
    def is_idle(self) -> bool:
        """Whether the next input starts outside of every construct."""
        return self.inside is None and not self._held

    def _step(self, text: str, position: int, clean: list[str]) -> int:
        if self.inside is not None:
            return self._skip(text, position, clean)
        match = _CONSTRUCT.search(text, position)
        if match is None:
            clean.append(self._hold_back_opener(text[position:]))
            return len(text)
        clean.append(text[position : match.start()])
        return self._open(text, match.start())

    def _open(self, text: str, start: int) -> int:
        for opener in _CONSTRUCT_ENDS:
            if text[start : start + len(opener)].upper() == opener:
                self.inside = opener
                return start + len(opener)
        if len(text) - start < _MAX_OPENER_CHARACTERS:
            self._held = text[start:]
            return len(text)
        # Skip one `<!…>`. Of a DOCTYPE with a subset, skip only the head; the rest follows
        # separately.
        match = _DECLARATION.match(text, start, start + MAX_DECLARATION_CHARACTERS)
        if match is not None:
            entity = _ENTITY.match(match[0])
            if entity is not None and len(self.entities) < MAX_ENTITIES:
                self.entities.add(entity[1])
            return match.end()
        if len(text) - start < MAX_DECLARATION_CHARACTERS:
            self._held = text[start:]
            return len(text)
        # It never ends properly. Continue after its first `>`, so that nothing is scanned twice.
        return text.find(">", start) + 1 or len(text)

    def _skip(self, text: str, position: int, clean: list[str]) -> int:
        assert self.inside is not None
        end = _CONSTRUCT_ENDS[self.inside]
        index = text.find(end, position)
        stop = index if index >= 0 else max(position, len(text) - len(end) + 1)
        if self.inside == "<![CDATA[":
            clean.append(escape_xml(text[position:stop]))
        if index < 0:
            self._held = text[stop:]
            return len(text)
        self.inside = None
        return index + len(end)

    def _hold_back_opener(self, text: str) -> str:
        """Hold back a `<` or `<!` at the end, because it may start a construct."""
        if text.endswith("<"):
            self._held = "<"
            return text[:-1]
        return text


# Neither half can run past the next `<`, so scanning is linear for any input.
_TOKEN = re.compile(
    r"<(/?)([A-Za-z_][\w.:\-]*+)"
    r"((?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+|[^<>]*+)>([^<]*+)"
)
_ATTRIBUTE = re.compile(
    r"(?<![\w:.\-])([\w:.\-]++)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"']++))"
)


class XmlToken(NamedTuple):
    """Tag and the text up to the next one."""

    is_close: bool
    prefix: str
    name: str
    """Lower case, without prefix."""
    attributes: str
    """As written; see `parse_attributes`."""
    is_empty: bool
    """Self-closing: `<tag/>`."""
    tail: str


def iter_tokens(text: str) -> Iterator[XmlToken]:
    for slash, name, attributes, tail in _TOKEN.findall(text):
        prefix, _, local = name.lower().rpartition(":")
        yield XmlToken(
            slash == "/", prefix, local, attributes, attributes.rstrip().endswith("/"), tail
        )


def parse_attributes(text: str) -> dict[str, str]:
    """Return attributes by lower-case name without prefix. The first one of a name wins."""
    attributes: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(text):
        attributes.setdefault(name.lower().rpartition(":")[2], double or single or bare.rstrip("/"))
    return attributes
