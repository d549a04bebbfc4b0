"""Programs that only carry the data of a page, from which another program then draws it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from scrapersky.scraper.contact_finder.cloaks.literals import unescape_script

MAX_CHARACTERS = 200_000
MAX_PAIRS = 300
_MARKS = re.compile(
    r"__next_f|__NUXT__|__[A-Z_]*STATE__|__[A-Z_]*DATA__|__[A-Z_]*PROPS__|__APOLLO|JSON\.parse\("
)
_NUMBER = re.compile(
    r"""\b(?:(?:tele)?phone(?:_?number)?|tel|mobile|telefon)["']?\s{0,5}:\s{0,5}["']([^"'\n]{6,60})["']""",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"""["'](https?://[^"'\s<>]{6,300})["']""")


def carries_data(script: str) -> bool:
    return _MARKS.search(script[:300]) is not None


def data_of(script: str) -> str:
    """What it carries, its strings as they are meant: data is often a string within a program."""
    return unescape_script(script[:MAX_CHARACTERS])


def numbers_in(data: str) -> Iterator[str]:
    """What is called a phone number."""
    return (match[1] for match in islice(_NUMBER.finditer(data), MAX_PAIRS))


def addresses_in(data: str) -> Iterator[str]:
    """Web addresses that are a string by themselves."""
    return (match[1] for match in islice(_ADDRESS.finditer(data), MAX_PAIRS))
