"""References in XML text, undone exactly once; a bare `&` stays what it is."""

from __future__ import annotations

import re
from collections.abc import Container
from html.entities import html5

_REFERENCE = re.compile(r"&(?:#([0-9]{1,8})|#[xX]([0-9a-fA-F]{1,8})|([A-Za-z_][\w.\-]{0,60}));")
_XML = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def escape(text: str) -> str:
    """The opposite, for text that came out of CDATA and is to be read like any other."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str, declared: Container[str] = ()) -> str:
    """Undo references; those to `declared` entities yield nothing, unknown ones stay."""
    if text.count("&") == text.count("&amp;"):
        return text.replace("&amp;", "&")

    def replacement(match: re.Match[str]) -> str:
        decimal, hexadecimal, name = match.groups()
        if name is None:
            return _character(int(decimal) if decimal else int(hexadecimal, 16))
        if name in declared and name not in _XML:
            return ""
        return _XML.get(name) or html5.get(f"{name};") or match[0]

    return _REFERENCE.sub(replacement, text)


def has_undefined(text: str, declared: Container[str] = ()) -> bool:
    """Whether there is a reference in it whose text nobody knows.

    Entities that a document declares are never expanded, and others it may not even declare: a URL
    without that text would be another page's.
    """
    names = (match[3] for match in _REFERENCE.finditer(text) if match[3] is not None)
    return any(each not in _XML and (each in declared or f"{each};" not in html5) for each in names)


def _character(code: int) -> str:
    is_possible = 0 < code < 0x110000 and not 0xD800 <= code < 0xE000
    return chr(code) if is_possible else ""
