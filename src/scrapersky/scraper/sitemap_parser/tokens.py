"""Cut clean XML text into tags with the text that follows them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# Neither half can run past the next `<`, so scanning is linear whatever the input.
_TOKEN = re.compile(
    r"<(/?)([A-Za-z_][\w.:\-]*+)"
    r"((?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+|[^<>]*+)>([^<]*+)"
)
_ATTRIBUTE = re.compile(
    r"(?<![\w:.\-])([\w:.\-]++)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"']++))"
)


class Token(NamedTuple):
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


def tokens_of(text: str) -> Iterator[Token]:
    for slash, name, attributes, tail in _TOKEN.findall(text):
        prefix, _, local = name.lower().rpartition(":")
        yield Token(
            slash == "/", prefix, local, attributes, attributes.rstrip().endswith("/"), tail
        )


def attributes_of(text: str) -> dict[str, str]:
    """Attributes by lower-case name without prefix; the first of a name counts."""
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(text):
        found.setdefault(name.lower().rpartition(":")[2], double or single or bare.rstrip("/"))
    return found
