"""Read JavaScript string literals, and fold calls on them into what they give."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import islice
from urllib.parse import unquote

from scrapersky.scraper.contact_finder.cloaks.encoded import from_base64

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
_PERCENT = re.compile(
    rf"(?:unescape|decodeURIComponent|decodeURI){_SPACE}\({_SPACE}({LITERAL}){_SPACE}\)"
)
_BASE64 = re.compile(rf"(?:atob|Base64\.decode){_SPACE}\({_SPACE}({LITERAL}){_SPACE}\)")
_REVERSED = re.compile(
    rf"({LITERAL}){_SPACE}\.split\((?:''|\"\")\){_SPACE}\.reverse\(\){_SPACE}\.join\((?:''|\"\")\)"
)
_JOINED = re.compile(
    rf"\[{_SPACE}({LITERAL}(?:{_SPACE},{_SPACE}{LITERAL}){{0,50}}){_SPACE}\]{_SPACE}"
    rf"(\.reverse\(\){_SPACE})?\.join\({_SPACE}({LITERAL}){_SPACE}\)"
)
_CONCAT = re.compile(
    rf"({LITERAL}){_SPACE}\.concat\({_SPACE}({LITERAL}(?:{_SPACE},{_SPACE}{LITERAL}){{0,50}}){_SPACE}\)"
)
_REPLACED = re.compile(
    rf"({LITERAL}){_SPACE}\.replace(?:All)?\({_SPACE}"
    rf"(?:({LITERAL})|/((?:[^/\\\n]|\\.){{1,40}})/[gi]{{0,2}}){_SPACE},{_SPACE}({LITERAL}){_SPACE}\)"
)
_ARRAY = re.compile(
    rf"(?<![\w$.])([A-Za-z_$][\w$]{{0,40}}){_SPACE}={_SPACE}(?:\[|new Array\(){_SPACE}"
    rf"({LITERAL}(?:{_SPACE},{_SPACE}{LITERAL}){{1,50}}){_SPACE}[\])]"
)
_MAX_ARRAYS = 10
_PART = re.compile(LITERAL)
_SPECIAL = re.compile(r"[\[\](){}*+?^$|]")


def literal_value(literal: str) -> str:
    """What a quoted literal stands for."""
    return unescape_script(literal[1:-1])


def unescape_script(text: str) -> str:
    return _ESCAPE.sub(_escaped, text) if "\\" in text else text


def _escaped(match: re.Match[str]) -> str:
    braced, four, two, octal, other = match.groups()
    code = braced or four or two
    if code:
        return chr(min(int(code, 16), 0x10FFFF))
    if octal:
        return chr(int(octal, 8))
    return _PLAIN_ESCAPES.get(other, other)


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def folded(script: str) -> str:
    """The script with calls on constants replaced by their results."""
    script = _with_arrays(script)
    for _ in range(2):
        before = script
        for word, pattern, fold in _FOLDS:
            if word in script:
                script = pattern.sub(fold, script)
        if script == before:
            break
    return script


def _with_arrays(script: str) -> str:
    """The script with the items of its lists in the places where they are used."""
    for array in list(islice(_ARRAY.finditer(script), _MAX_ARRAYS)):
        parts, name = _PART.findall(array[2]), re.escape(array[1])
        used = re.compile(rf"(?<![\w$.]){name}(?:\[(\d\d?)\]|(?=\s?\.(?:join|reverse)\())")
        script = used.sub(partial(_used, parts), script)
    return script


def _used(parts: list[str], match: re.Match[str]) -> str:
    if match[1] is None:
        return f"[{','.join(parts)}]"
    return parts[int(match[1])] if int(match[1]) < len(parts) else match[0]


def _from_codes(match: re.Match[str]) -> str:
    codes = [int(code, 0) for code in re.findall(r"0x[0-9a-fA-F]+|[1-9]\d{0,6}", match[1])]
    return quoted("".join(chr(code) for code in codes if code <= 0x10FFFF))


def _from_percent(match: re.Match[str]) -> str:
    return quoted(unquote(literal_value(match[1])))


def _from_base64(match: re.Match[str]) -> str:
    return quoted(from_base64(literal_value(match[1])) or "")


def _from_reversed(match: re.Match[str]) -> str:
    return quoted(literal_value(match[1])[::-1])


def _from_joined(match: re.Match[str]) -> str:
    parts = [literal_value(part) for part in _PART.findall(match[1])]
    return quoted(literal_value(match[3]).join(parts[::-1] if match[2] else parts))


def _from_concat(match: re.Match[str]) -> str:
    return quoted(literal_value(match[1]) + "".join(map(literal_value, _PART.findall(match[2]))))


def _from_replaced(match: re.Match[str]) -> str:
    """Only for patterns that are plain text."""
    old = literal_value(match[2]) if match[2] else match[3].replace("\\", "")
    if not old or (match[3] and _SPECIAL.search(re.sub(r"\\.", "", match[3]))):
        return match[0]
    return quoted(literal_value(match[1]).replace(old, literal_value(match[4])))


_FOLDS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    ("fromCharCode", _CHARACTERS, _from_codes),
    ("fromCharCode", _CODES, _from_codes),
    ("(", _PERCENT, _from_percent),
    ("atob", _BASE64, _from_base64),
    ("Base64", _BASE64, _from_base64),
    ("reverse", _REVERSED, _from_reversed),
    (".join", _JOINED, _from_joined),
    (".concat", _CONCAT, _from_concat),
    (".replace", _REPLACED, _from_replaced),
)
