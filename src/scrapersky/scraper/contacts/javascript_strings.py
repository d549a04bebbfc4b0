"""Evaluate the strings that a small script builds, without running it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from urllib.parse import unquote

from scrapersky.scraper.contacts.emails import find_emails
from scrapersky.scraper.contacts.encodings import DecodedText, from_base64, rot13
from scrapersky.scraper.contacts.markup import unescape_entities
from scrapersky.scraper.contacts.model import ExtractionMethod
from scrapersky.scraper.contacts.page import TokenizedPage

LITERAL = r"""(?:"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')"""
_ESCAPE = re.compile(
    r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([0-7]{1,3})|(.))", re.DOTALL
)
_PLAIN_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "\n": ""}
_SPACE = r"\s{0,20}"
_CHARACTERS = re.compile(
    rf"(?:String{_SPACE}\.{_SPACE})?fromCharCode{_SPACE}\((?=\s{{0,20}}\d)([\s\d,xa-fA-F]{{1,4000}})\)"
)
_CODES = re.compile(r"\[([\s\d,xa-fA-F]{15,4000})\]")
_PERCENT_CALL = re.compile(
    rf"(?:unescape|decodeURIComponent|decodeURI){_SPACE}\({_SPACE}({LITERAL}){_SPACE}\)"
)
_BASE64_CALL = re.compile(rf"(?:atob|Base64\.decode){_SPACE}\({_SPACE}({LITERAL}){_SPACE}\)")
_REVERSE_CALL = re.compile(
    rf"({LITERAL}){_SPACE}\.split\((?:''|\"\")\){_SPACE}\.reverse\(\){_SPACE}\.join\((?:''|\"\")\)"
)
_JOIN_CALL = re.compile(
    rf"\[{_SPACE}({LITERAL}(?:{_SPACE},{_SPACE}{LITERAL}){{0,50}}){_SPACE}\]{_SPACE}"
    rf"(\.reverse\(\){_SPACE})?\.join\({_SPACE}({LITERAL}){_SPACE}\)"
)
_CONCAT_CALL = re.compile(
    rf"({LITERAL}){_SPACE}\.concat\({_SPACE}({LITERAL}(?:{_SPACE},{_SPACE}{LITERAL}){{0,50}}){_SPACE}\)"
)
_REPLACE_CALL = re.compile(
    rf"({LITERAL}){_SPACE}\.replace(?:All)?\({_SPACE}"
    rf"(?:({LITERAL})|/((?:[^/\\\n]|\\.){{1,40}})/[gi]{{0,2}}){_SPACE},{_SPACE}({LITERAL}){_SPACE}\)"
)
_ARRAY = re.compile(
    rf"(?<![\w$.])([A-Za-z_$][\w$]{{0,40}}){_SPACE}={_SPACE}(?:\[|new Array\(){_SPACE}"
    rf"({LITERAL}(?:{_SPACE},{_SPACE}{LITERAL}){{1,50}}){_SPACE}[\])]"
)
_MAX_ARRAYS = 10
_STRING_LITERAL = re.compile(LITERAL)
_SPECIAL = re.compile(r"[\[\](){}*+?^$|]")


def parse_literal(literal: str) -> str:
    """Return the value of a quoted string literal."""
    return unescape_script(literal[1:-1])


def unescape_script(text: str) -> str:
    return _ESCAPE.sub(_decode_escape, text) if "\\" in text else text


def _decode_escape(match: re.Match[str]) -> str:
    braced, four, two, octal, other = match.groups()
    code = braced or four or two
    if code:
        return chr(min(int(code, 16), 0x10FFFF))
    if octal:
        return chr(int(octal, 8))
    return _PLAIN_ESCAPES.get(other, other)


def quote_literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def fold_calls(script: str) -> str:
    """Replace calls on constants in the script with their results."""
    script = _inline_arrays(script)
    for _ in range(2):
        before = script
        for word, pattern, fold in _CALL_FOLDS:
            if word in script:
                script = pattern.sub(fold, script)
        if script == before:
            break
    return script


def _inline_arrays(script: str) -> str:
    """Replace references to array items in the script with the items."""
    for array in list(islice(_ARRAY.finditer(script), _MAX_ARRAYS)):
        parts, name = _STRING_LITERAL.findall(array[2]), re.escape(array[1])
        used = re.compile(rf"(?<![\w$.]){name}(?:\[(\d\d?)\]|(?=\s?\.(?:join|reverse)\())")
        script = used.sub(partial(_inline_item, parts), script)
    return script


def _inline_item(parts: list[str], match: re.Match[str]) -> str:
    if match[1] is None:
        return f"[{','.join(parts)}]"
    return parts[int(match[1])] if int(match[1]) < len(parts) else match[0]


def _from_codes(match: re.Match[str]) -> str:
    codes = [int(code, 0) for code in re.findall(r"0x[0-9a-fA-F]+|[1-9]\d{0,6}", match[1])]
    return quote_literal("".join(chr(code) for code in codes if code <= 0x10FFFF))


def _from_base64(match: re.Match[str]) -> str:
    return quote_literal(from_base64(parse_literal(match[1])) or "")


def _from_joined(match: re.Match[str]) -> str:
    parts = [parse_literal(part) for part in _STRING_LITERAL.findall(match[1])]
    return quote_literal(parse_literal(match[3]).join(parts[::-1] if match[2] else parts))


def _from_concat(match: re.Match[str]) -> str:
    return quote_literal(
        parse_literal(match[1]) + "".join(map(parse_literal, _STRING_LITERAL.findall(match[2])))
    )


def _from_replaced(match: re.Match[str]) -> str:
    """Apply `replace` if its pattern is plain text; other regular expressions are not evaluated."""
    old = parse_literal(match[2]) if match[2] else match[3].replace("\\", "")
    if not old or (match[3] and _SPECIAL.search(re.sub(r"\\.", "", match[3]))):
        return match[0]
    return quote_literal(parse_literal(match[1]).replace(old, parse_literal(match[4])))


_CALL_FOLDS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    ("fromCharCode", _CHARACTERS, _from_codes),
    ("fromCharCode", _CODES, _from_codes),
    ("(", _PERCENT_CALL, lambda match: quote_literal(unquote(parse_literal(match[1])))),
    ("atob", _BASE64_CALL, _from_base64),
    ("Base64", _BASE64_CALL, _from_base64),
    ("reverse", _REVERSE_CALL, lambda match: quote_literal(parse_literal(match[1])[::-1])),
    (".join", _JOIN_CALL, _from_joined),
    (".concat", _CONCAT_CALL, _from_concat),
    (".replace", _REPLACE_CALL, _from_replaced),
)


_ROT13 = re.compile(r"rot-?_?13|znvygb|[+\-] ?13\b", re.IGNORECASE)
MAX_SCRIPT_CHARACTERS = 6_000
"""Scripts that hide an address are short; in longer ones, only text around signs is read."""
MAX_TOTAL_SCRIPT_CHARACTERS = 60_000
"""Limit for all scripts of a page together, and separately for all its event handlers."""
_CONTEXT_CHARACTERS = 500
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
_TEMPLATE_VARIABLE = re.compile(r"\$\{\s?([A-Za-z_$][\w$.]{0,60})\s?\}")
_ARGUMENTS = rf"\s?\(\s?({LITERAL})\s?,\s?({LITERAL})(?:\s?,\s?({LITERAL}))?"
_MAIL_CALL = re.compile(
    rf"(?:mail|addr|contact|kontakt|write|spam|noscrape)[\w$]{{0,40}}{_ARGUMENTS}",
    re.IGNORECASE,
)
_FUNCTION = re.compile(r"\bfunction\s{1,5}([\w$]{1,40})\s{0,5}\([\w$]{1,40}\s?,[\w$,\s]{1,100}\)")
_MAX_FUNCTIONS = 20
_AT_IN_CODE = re.compile(r"""["'`](?:[^"'`\n]{0,20}@|&#64;|%40|\\x40|\\u0040)|fromCharCode\(64\)""")
_SHIFT_STEP = re.compile(
    r"charCodeAt\([\w$]{0,20}\)\s{0,3}([-+^])\s{0,3}(0x[0-9a-fA-F]{1,2}|[1-9]\d?|0)(?!\d)"
)
_MAX_SHIFTED_CHARACTERS = 400
_HANDLER = re.compile(
    r"""(?:on[cC]lick|on[mM]ouse[a-zA-Z]{2,5}|ONCLICK|href=["']\s?javascript:)(?:\s?=\s?)?"""
    r"""(?:"([^"]{8,4000})"|'([^']{8,4000})'|([^"'][^"]{8,4000}))"""
)


def read_javascript(page: TokenizedPage) -> Iterator[DecodedText]:
    characters = 0
    calls = _find_builder_calls(page)
    for script, place in page.scripts:
        if "json" in script.kind or not any(sign in script.text for sign in _SIGNS):
            continue
        for text in _list_excerpts(script.text):
            characters += len(text)
            if characters > MAX_TOTAL_SCRIPT_CHARACTERS:
                page.capped["scripts"] = None
                break
            yield from _read_script(text, place, calls)
    yield from _read_handlers(page, calls)


def _find_builder_calls(page: TokenizedPage) -> re.Pattern[str] | None:
    """Return a pattern for calls of the page's functions that join their arguments with an "@"."""
    names: dict[str, None] = {}
    for script, _ in page.scripts:
        for match in islice(_FUNCTION.finditer(script.text), _MAX_FUNCTIONS):
            if _AT_IN_CODE.search(script.text, match.end(), match.end() + _CONTEXT_CHARACTERS):
                names[re.escape(match[1])] = None
    if not names:
        return None
    return re.compile(rf"(?<![\w$.])(?:{'|'.join(list(names)[:20])}){_ARGUMENTS}")


def _read_script(text: str, place: int, calls: re.Pattern[str] | None) -> Iterator[DecodedText]:
    method = ExtractionMethod.JAVASCRIPT
    if "addy" in text and "cloak" in text:
        method = ExtractionMethod.JOOMLA
    elif "eeb" in text or text.strip().startswith("decodeURIComponent("):
        method = ExtractionMethod.WORDPRESS_ENCODER
    plain = unescape_script(text)
    for value in evaluate_strings(text, calls):
        if value not in plain:
            yield from _list_readings(value, text, method, place)
        elif _has_transform(text):
            yield from _list_transformed(value, text, place)


def _list_excerpts(script: str) -> Iterator[str]:
    if len(script) <= MAX_SCRIPT_CHARACTERS:
        yield script
        return
    end = 0
    for number, match in enumerate(_SIGN.finditer(script)):
        if number == _MAX_SIGNS:
            return
        if match.start() >= end:
            end = match.end() + _CONTEXT_CHARACTERS
            yield script[max(0, match.start() - _CONTEXT_CHARACTERS) : end]


def _read_handlers(page: TokenizedPage, calls: re.Pattern[str] | None) -> Iterator[DecodedText]:
    """Read scripts in `onclick` and similar attributes, and in `javascript:` links."""
    if not any(word in page.lowercase_attributes for word in ("onclick", "onmouse", "javascript:")):
        return
    characters = 0
    for number, match in enumerate(_HANDLER.finditer(page.attributes)):
        code = unescape_entities(match[1] or match[2] or match[3])
        characters += len(code)
        if number == _MAX_HANDLERS or characters > MAX_TOTAL_SCRIPT_CHARACTERS:
            page.capped["handlers"] = None
            return
        if "(" not in code and "=" not in code:
            continue
        code = unquote(code) if "%27" in code or "%22" in code else code
        if _SIGN.search(code) or _MAIL_CALL.search(code) or (calls and calls.search(code)):
            for value in evaluate_strings(code, calls):
                yield from _list_readings(value, code, ExtractionMethod.ONCLICK, match.start())


def _list_readings(
    value: str, code: str, method: ExtractionMethod, place: int
) -> Iterator[DecodedText]:
    """Yield the string as it is, and as the transformations in the script would leave it."""
    text = unescape_entities(value)
    text = unquote(text) if "%" in text else text
    if "@" in text or "(at)" in text or "[at]" in text:
        yield DecodedText(text, value[:200], method, place)
    if _has_transform(code):
        yield from _list_transformed(text, code, place)


def _has_transform(code: str) -> bool:
    return any(sign in code for sign in ("reverse", "13", "znvygb", "charCodeAt"))


def _list_transformed(text: str, code: str, place: int) -> Iterator[DecodedText]:
    if "reverse" in code and "@" in text:
        yield DecodedText(text[::-1], text[:200], ExtractionMethod.REVERSED, place)
    if _applies_rot13(text, code) and ("@" in text or "ng" in text):
        yield DecodedText(rot13(text), text[:200], ExtractionMethod.ROT13, place)
    if "charCodeAt" in code and (moved := _shift_letters(text, code)):
        yield DecodedText(moved, text[:200], ExtractionMethod.JAVASCRIPT, place)


def _applies_rot13(text: str, code: str) -> bool:
    """Return whether the script decodes the text with rot13.

    If the text contains a plain address, the script must clearly use rot13: applied to a real
    address it would produce one that does not exist.
    """
    if next(find_emails(text, limit=1), None) is not None:
        return _ROT13.search(code) is not None
    return "13" in code or "znvygb" in text


def _shift_letters(text: str, code: str) -> str | None:
    """Shift each letter as the script does; None if the result contains no "@"."""
    step = _SHIFT_STEP.search(code)
    if step is None or not 6 <= len(text) <= _MAX_SHIFTED_CHARACTERS:
        return None
    by = int(step[2], 0)
    codes = (ord(letter) ^ by if step[1] == "^" else ord(letter) for letter in text)
    change = {"+": by, "-": -by}.get(step[1], 0)
    moved = "".join(chr(max(0, code + change) % 0x110000) for code in codes)
    return moved if "@" in moved else None


def evaluate_strings(script: str, calls: re.Pattern[str] | None = None) -> Iterator[str]:
    """Yield every string the script builds from constants and resolved variables.

    `calls` matches calls of functions that build an address from their arguments.
    """
    script = fold_calls(script)
    for pattern in (_MAIL_CALL, calls) if calls else (_MAIL_CALL,):
        for match in pattern.finditer(script):
            user, host, end = (parse_literal(part) if part else "" for part in match.groups())
            if "@" not in user:
                yield f"{user}@{host}"
                yield f"{user}@{host}.{end}" if end else ""
    yield from _StringEvaluator(script).strings()


class _StringEvaluator:
    """Token-based evaluator that folds a chain of strings and "+" into one string."""

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
                value = self._evaluate_literal(literal, template)
                if not self._awaits_operand:
                    yield from self._end()
                self._chain.append(value)
                self._awaits_operand = False
                self._last_name = None
            elif name in _DECLARATION:
                yield from self._end()
            elif name:
                yield from self._name(name.rpartition(".")[2])
            elif operator == "+":
                self._awaits_operand = True
            elif operator:
                self._assign(operator)
            else:
                yield from self._end()
        yield from self._end()

    def _evaluate_literal(self, literal: str | None, template: str | None) -> str:
        if literal:
            return parse_literal(literal)
        text = unescape_script((template or "")[1:-1])
        return _TEMPLATE_VARIABLE.sub(
            lambda match: self._values.get(match[1].rpartition(".")[2], ""), text
        )

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

    def _assign(self, operator: str) -> None:
        name = self._last_name
        self._chain.clear()
        self._awaits_operand, self._last_name, self._target = True, None, name
        if name and operator == "+=":
            self._chain.append(self._values.get(name, ""))

    def _end(self) -> Iterator[str]:
        value = "".join(self._chain)[:_MAX_VALUE_CHARACTERS]
        if self._chain and self._target:
            self._values[self._target] = value
        self._chain.clear()
        self._awaits_operand, self._last_name, self._target = True, None, None
        if value:
            yield value
