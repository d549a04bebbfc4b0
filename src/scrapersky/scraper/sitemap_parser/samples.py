"""Cut a sample record into its tags, each with what follows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# `<` opens every part, and no half of it runs past the next one: linear whatever the input.
_PART = re.compile(
    r"<(/?)((?:[A-Za-z_][\w.\-]*+:)?[A-Za-z_][\w.\-]*+)(\s[^<>]*?)?(/?)>"
    r"(?:\s*+<!\[CDATA\[([^<\]]*+)\]\]>\s*+(?=<)|([^<]*+))"
)


class Part(NamedTuple):
    """One tag of a sample and what follows it."""

    is_close: bool
    tag: str
    """As written, with prefix."""
    attributes: str
    is_empty: bool
    text: str | None
    """None for a text in CDATA."""

    @property
    def prefix(self) -> str:
        return self.tag.lower().rpartition(":")[0]

    @property
    def name(self) -> str:
        return self.tag.lower().rpartition(":")[2]

    @property
    def is_bare(self) -> bool:
        """An opening tag and nothing else."""
        return not (self.is_close or self.attributes or self.is_empty)

    @property
    def is_followed_by_space(self) -> bool:
        return self.text is not None and not self.text.strip()


def parts_of(record: str) -> Iterator[Part]:
    position = 0
    while match := _PART.match(record, position):
        slash, tag, attributes, empty, cdata, text = match.groups()
        is_cdata = cdata is not None
        yield Part(slash == "/", tag, attributes or "", empty == "/", None if is_cdata else text)
        position = match.end()
    if position < len(record):
        yield Part(True, "?", "", False, "doubtful")
