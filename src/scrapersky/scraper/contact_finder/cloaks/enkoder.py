"""Undo the Hivelogic Enkoder: a script wrapped many times in scripts that unwrap it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scrapersky.scraper.contact_finder.cloaks.literals import LITERAL, literal_value
from scrapersky.scraper.contact_finder.cloaks.uncloaked import Uncloaked
from scrapersky.scraper.contact_finder.found import Method
from scrapersky.scraper.contact_finder.page import Page

MAX_LAYERS = 40
_MAX_CHARACTERS = 30_000
_MAX_SCRIPTS = 5
_START = re.compile(
    rf"\bvar\s(?:kode|x)\s?=\s{{0,80}}({LITERAL}(?:\s{{0,80}}\+\s{{0,80}}{LITERAL})*+)"
)
_PART = re.compile(LITERAL)
_KEY = re.compile(r",\s?(\d{1,4})\)\s?\Z")
_KEY_STEPS = re.compile(r"if\(i([<>])(\d{1,5})\)y\+\+")


def read_enkoder(page: Page) -> Iterator[Uncloaked]:
    wrapped = [found for found in page.scripts if "eval(" in found[0].text[:_MAX_CHARACTERS]]
    for script, place in wrapped[:_MAX_SCRIPTS]:
        match = _START.search(script.text[:_MAX_CHARACTERS])
        if match and (text := unwrapped(_joined(match[1]))):
            yield Uncloaked(text, match[0][:200], Method.ENKODER, place)


def _joined(literals: str) -> str:
    return "".join(literal_value(part) for part in _PART.findall(literals))


def unwrapped(code: str) -> str | None:
    """What the innermost layer writes into the page."""
    for _ in range(MAX_LAYERS):
        if "document.write(" in code[:60] or ("@" in code and "mailto" in code):
            return code.replace('\\"', '"')
        inner = _unwrap_once(code)
        if inner is None:
            return None
        code = inner
    return None


def _unwrap_once(code: str) -> str | None:
    start = code.find('"', code.find('f("')) if code.startswith("function") else code.find('"')
    match = _PART.match(code, start) if start >= 0 else None
    if match is None:
        return None
    around = code[:start] + code[match.end() :]
    return _undone(literal_value(match[0]), around)


def _undone(text: str, program: str) -> str | None:
    if "reverse()" in program or "i=l-1" in program:
        return text[::-1]
    if "charCodeAt(i)-3" in program:
        return "".join(chr((ord(character) - 3) % 128) for character in text)
    if "charAt(i+1)" in program:
        return _swapped(text)
    return _xored(text, program) if "^(y++)" in program else None


def _swapped(text: str) -> str:
    even = len(text) // 2 * 2
    return "".join(text[i + 1] + text[i] for i in range(0, even, 2)) + text[even:]


def _xored(text: str, program: str) -> str | None:
    key, steps = _KEY.search(program), _KEY_STEPS.search(program)
    if key is None:
        return None
    y, letters = int(key[1]), []
    for i, character in enumerate(text):
        if steps and (i < int(steps[2]) if steps[1] == "<" else i > int(steps[2])):
            y += 1
        y %= 127
        letters.append(chr(ord(character) ^ y))
        y += 1
    return "".join(letters)
