"""Follow the strings that a small script puts together, without running it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

from scrapersky.scraper.contact_finder.cloaks.literals import (
    LITERAL,
    folded,
    literal_value,
    unescape_script,
)
from scrapersky.scraper.contact_finder.cloaks.uncloaked import Uncloaked, rot13
from scrapersky.scraper.contact_finder.emails import find_emails
from scrapersky.scraper.contact_finder.found import Method
from scrapersky.scraper.contact_finder.markup import unescaped
from scrapersky.scraper.contact_finder.page import Page

_ROT13 = re.compile(r"rot-?_?13|znvygb|[+\-] ?13\b", re.IGNORECASE)
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
_ARGUMENTS = rf"\s?\(\s?({LITERAL})\s?,\s?({LITERAL})(?:\s?,\s?({LITERAL}))?"
_MAIL_CALL = re.compile(
    rf"(?:mail|addr|contact|kontakt|write|spam|noscrape)[\w$]{{0,40}}{_ARGUMENTS}",
    re.IGNORECASE,
)
_FUNCTION = re.compile(r"\bfunction\s{1,5}([\w$]{1,40})\s{0,5}\([\w$]{1,40}\s?,[\w$,\s]{1,100}\)")
_MAX_FUNCTIONS = 20
_AT_IN_CODE = re.compile(r"""["'`](?:[^"'`\n]{0,20}@|&#64;|%40|\\x40|\\u0040)|fromCharCode\(64\)""")
_STEP = re.compile(
    r"charCodeAt\([\w$]{0,20}\)\s{0,3}([-+^])\s{0,3}(0x[0-9a-fA-F]{1,2}|[1-9]\d?|0)(?!\d)"
)
_MAX_MOVED_CHARACTERS = 400
_HANDLER = re.compile(
    r"""(?:on[cC]lick|on[mM]ouse[a-zA-Z]{2,5}|ONCLICK|href=["']\s?javascript:)(?:\s?=\s?)?"""
    r"""(?:"([^"]{8,4000})"|'([^']{8,4000})'|([^"'][^"]{8,4000}))"""
)


def read_javascript(page: Page) -> Iterator[Uncloaked]:
    characters = 0
    calls = _calls_of_builders(page)
    for script, place in page.scripts:
        if "json" in script.kind or not _may_hide(script.text):
            continue
        for text in _neighbourhoods(script.text):
            characters += len(text)
            if characters > MAX_CHARACTERS:
                page.capped["scripts"] = None
                break
            yield from _read_script(text, place, calls)
    yield from _read_handlers(page, calls)


def _calls_of_builders(page: Page) -> re.Pattern[str] | None:
    """Calls of the page's own functions that put an "@" between what they are given."""
    names: dict[str, None] = {}
    for script, _ in page.scripts:
        for match in islice(_FUNCTION.finditer(script.text), _MAX_FUNCTIONS):
            if _AT_IN_CODE.search(script.text, match.end(), match.end() + _REACH):
                names[re.escape(match[1])] = None
    if not names:
        return None
    return re.compile(rf"(?<![\w$.])(?:{'|'.join(list(names)[:20])}){_ARGUMENTS}")


def _may_hide(script: str) -> bool:
    return any(sign in script for sign in _SIGNS)


def _read_script(text: str, place: int, calls: re.Pattern[str] | None) -> Iterator[Uncloaked]:
    method = Method.JAVASCRIPT
    if "addy" in text and "cloak" in text:
        method = Method.JOOMLA
    elif "eeb" in text or text.strip().startswith("decodeURIComponent("):
        method = Method.WORDPRESS_ENCODER
    plain = unescape_script(text)
    for value in strings_of(text, calls):
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


def _read_handlers(page: Page, calls: re.Pattern[str] | None) -> Iterator[Uncloaked]:
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
        if _SIGN.search(code) or _MAIL_CALL.search(code) or (calls and calls.search(code)):
            for value in strings_of(code, calls):
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
    return any(sign in code for sign in ("reverse", "13", "znvygb", "charCodeAt"))


def _turned(text: str, code: str, place: int) -> Iterator[Uncloaked]:
    if "reverse" in code and "@" in text:
        yield Uncloaked(text[::-1], text[:200], Method.REVERSED, place)
    if _turns_by_13(text, code) and ("@" in text or "ng" in text):
        yield Uncloaked(rot13(text), text[:200], Method.ROT13, place)
    if "charCodeAt" in code and (moved := _moved_back(text, code)):
        yield Uncloaked(moved, text[:200], Method.JAVASCRIPT, place)


def _turns_by_13(text: str, code: str) -> bool:
    """An address that stands there as it is, is turned only by a script that clearly does so: the
    rot13 of somebody's address is nobody's."""
    if next(find_emails(text, limit=1), None) is not None:
        return _ROT13.search(code) is not None
    return "13" in code or "znvygb" in text


def _moved_back(text: str, code: str) -> str | None:
    """The text with each letter moved as the script moves it; None when that hides no address."""
    step = _STEP.search(code)
    if step is None or not 6 <= len(text) <= _MAX_MOVED_CHARACTERS:
        return None
    by = int(step[2], 0)
    codes = (ord(letter) ^ by if step[1] == "^" else ord(letter) for letter in text)
    change = {"+": by, "-": -by}.get(step[1], 0)
    moved = "".join(chr(max(0, code + change) % 0x110000) for code in codes)
    return moved if "@" in moved else None


def strings_of(script: str, calls: re.Pattern[str] | None = None) -> Iterator[str]:
    """Every string the script builds from constants, joined as far as they are known.

    `calls` are those of functions that make an address of what they are given.
    """
    script = folded(script)
    for pattern in (_MAIL_CALL, calls) if calls else (_MAIL_CALL,):
        for match in pattern.finditer(script):
            yield from _joined_by_at(match)
    yield from _Joiner(script).strings()


def _joined_by_at(match: re.Match[str]) -> Iterator[str]:
    user, host, end = (literal_value(part) if part else "" for part in match.groups())
    if "@" not in user:
        yield f"{user}@{host}"
        yield f"{user}@{host}.{end}" if end else ""


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
