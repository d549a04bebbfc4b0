"""Follow the strings that a small script puts together, without running it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from scrapersky.scraper.contact_finder.cloaks.literals import (
    LITERAL,
    folded,
    literal_value,
    unescape_script,
)
from scrapersky.scraper.contact_finder.cloaks.uncloaked import Uncloaked, rot13
from scrapersky.scraper.contact_finder.found import Method
from scrapersky.scraper.contact_finder.markup import unescaped
from scrapersky.scraper.contact_finder.page import Page

MAX_SCRIPT_CHARACTERS = 6_000
"""What hides an address is short; in a longer script only the neighbourhood of signs is read."""
MAX_CHARACTERS = 60_000
"""Of all scripts of a page together, and of all its handlers."""
_REACH = 500
_MAX_SIGNS = 12
_MAX_VALUE_CHARACTERS = 4_000
_MAX_HANDLERS = 2_000

_SIGNS = (
    "@", "&#64;", "&#064;", "&#x40;", "&commat;", "%40", "\\x40", "\\u0040", "\\100",
    "fromCharCode", "atob", "znvygb", "unescape(", "decodeURI", "mailto", "(at)", "[at]",
)  # fmt: skip
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_TOKEN = re.compile(
    rf"({LITERAL})|(`(?:[^`\\]|\\.)*+`)|([A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)"
    r"|(\+=|\+|=(?!=)|:)|(\S)"
)
_DECLARATION = frozenset(("var", "let", "const", "return"))
_EMBEDDED = re.compile(r"\$\{\s?([A-Za-z_$][\w$.]{0,60})\s?\}")
_MAIL_CALL = re.compile(
    r"(?:mail|addr|contact|kontakt|write|spam|noscrape)[\w$]{0,40}\s?"
    rf"\(\s?({LITERAL})\s?,\s?({LITERAL})(?:\s?,\s?({LITERAL}))?",
    re.IGNORECASE,
)
_HANDLER = re.compile(
    r"""(?:on[cC]lick|on[mM]ouse[a-zA-Z]{2,5}|ONCLICK|href=["']\s?javascript:)(?:\s?=\s?)?"""
    r"""(?:"([^"]{8,4000})"|'([^']{8,4000})'|([^"'][^"]{8,4000}))"""
)


def read_javascript(page: Page) -> Iterator[Uncloaked]:
    characters = 0
    for script, place in page.scripts:
        if "json" in script.kind or not _may_hide(script.text):
            continue
        for text in _neighbourhoods(script.text):
            characters += len(text)
            if characters > MAX_CHARACTERS:
                page.capped["scripts"] = None
                break
            yield from _read_script(text, place)
    yield from _read_handlers(page)


def _may_hide(script: str) -> bool:
    return any(sign in script for sign in _SIGNS)


def _read_script(text: str, place: int) -> Iterator[Uncloaked]:
    method = Method.JAVASCRIPT
    if "addy" in text and "cloak" in text:
        method = Method.JOOMLA
    elif "eeb" in text or text.strip().startswith("decodeURIComponent("):
        method = Method.WORDPRESS_ENCODER
    plain = unescape_script(text)
    for value in strings_of(text):
        if value not in plain:
            yield from _readings(value, text, method, place)
        elif _turns_letters(text):
            yield from _turned(value, text, place)


def _neighbourhoods(script: str) -> Iterator[str]:
    if len(script) <= MAX_SCRIPT_CHARACTERS:
        yield script
        return
    end = 0
    for number, match in enumerate(_SIGN.finditer(script)):
        if number == _MAX_SIGNS:
            return
        if match.start() >= end:
            end = match.end() + _REACH
            yield script[max(0, match.start() - _REACH) : end]


def _read_handlers(page: Page) -> Iterator[Uncloaked]:
    """Scripts in `onclick` and the like, and in `javascript:` links."""
    if not any(word in page.lowered for word in ("onclick", "onmouse", "javascript:")):
        return
    characters = 0
    for number, match in enumerate(_HANDLER.finditer(page.attributes)):
        code = unescaped(match[1] or match[2] or match[3])
        characters += len(code)
        if number == _MAX_HANDLERS or characters > MAX_CHARACTERS:
            page.capped["handlers"] = None
            return
        if "(" not in code and "=" not in code:
            continue
        code = unquote(code) if "%27" in code or "%22" in code else code
        if _SIGN.search(code) or _MAIL_CALL.search(code):
            for value in strings_of(code):
                yield from _readings(value, code, Method.ONCLICK, match.start())


def _readings(value: str, code: str, method: Method, place: int) -> Iterator[Uncloaked]:
    """A string as it is, and as a script that turns letters around would leave it."""
    text = unescaped(value)
    text = unquote(text) if "%" in text else text
    if "@" in text or "(at)" in text or "[at]" in text:
        yield Uncloaked(text, value[:200], method, place)
    if _turns_letters(code):
        yield from _turned(text, code, place)


def _turns_letters(code: str) -> bool:
    return "reverse" in code or "13" in code or "znvygb" in code


def _turned(text: str, code: str, place: int) -> Iterator[Uncloaked]:
    if "reverse" in code and "@" in text:
        yield Uncloaked(text[::-1], text[:200], Method.REVERSED, place)
    if ("13" in code or "znvygb" in text) and ("@" in text or "ng" in text):
        yield Uncloaked(rot13(text), text[:200], Method.ROT13, place)


def strings_of(script: str) -> Iterator[str]:
    """Every string the script builds from constants, joined as far as they are known."""
    script = folded(script)
    for match in _MAIL_CALL.finditer(script):
        user, host, end = (literal_value(part) if part else "" for part in match.groups())
        if "@" not in user:
            yield f"{user}@{host}"
            yield f"{user}@{host}.{end}" if end else ""
    yield from _Joiner(script).strings()


class _Joiner:
    """Reads a script token by token; a chain of strings and "+" becomes one string."""

    def __init__(self, script: str) -> None:
        self._script = script
        self._values: dict[str, str] = {}
        self._target: str | None = None
        self._chain: list[str] = []
        self._awaits_operand = True
        self._last_name: str | None = None

    def strings(self) -> Iterator[str]:
        for match in _TOKEN.finditer(self._script):
            literal, template, name, operator, _ = match.groups()
            if literal or template:
                yield from self._operand(self._value_of(literal, template))
            elif name in _DECLARATION:
                yield from self._end()
            elif name:
                yield from self._name(name.rpartition(".")[2])
            elif operator == "+":
                self._awaits_operand = True
            elif operator:
                yield from self._assignment(operator)
            else:
                yield from self._end()
        yield from self._end()

    def _value_of(self, literal: str | None, template: str | None) -> str:
        if literal:
            return literal_value(literal)
        text = unescape_script((template or "")[1:-1])
        return _EMBEDDED.sub(lambda match: self._values.get(match[1].rpartition(".")[2], ""), text)

    def _operand(self, value: str) -> Iterator[str]:
        if not self._awaits_operand:
            yield from self._end()
        self._chain.append(value)
        self._awaits_operand = False
        self._last_name = None

    def _name(self, name: str) -> Iterator[str]:
        if not self._awaits_operand:
            yield from self._end()
        known = self._values.get(name)
        starts = not self._chain
        if known is not None:
            self._chain.append(known)
        elif self._chain:
            yield from self._end()
        self._awaits_operand = False
        self._last_name = name if starts else None

    def _assignment(self, operator: str) -> Iterator[str]:
        name = self._last_name
        self._chain.clear()
        self._awaits_operand, self._last_name, self._target = True, None, name
        if name and operator == "+=":
            self._chain.append(self._values.get(name, ""))
        yield from ()

    def _end(self) -> Iterator[str]:
        value = "".join(self._chain)[:_MAX_VALUE_CHARACTERS]
        if self._chain and self._target:
            self._values[self._target] = value
        self._chain.clear()
        self._awaits_operand, self._last_name, self._target = True, None, None
        if value:
            yield value
