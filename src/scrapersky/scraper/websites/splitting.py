"""Take the text of a website field apart: it may hold several addresses, or none."""

from __future__ import annotations

import re
from html import unescape

MAX_CHARACTERS = 2_048
"""A website field is never this long; what comes after it is not looked at."""
MAX_ADDRESSES = 20

_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2060-\u2064\ufeff\ud800-\udfff]"
)
_BROKEN = re.compile(r"(https?:/+|\bwww\.)\s+", re.IGNORECASE)
_SCHEMES = re.compile(r"(?P<scheme>https?)(?:[:;]+/*|/{1,3})", re.IGNORECASE)
_AROUND = "<>()[]{}\"'`´‘’“”„«»*,;.:!"
_BETWEEN = re.compile(
    r"[\s|<>\"]+|[;,]+(?=https?[:/]|www\.)|(?<=[^=/?&#:%])(?=https?://)", re.IGNORECASE
)
_BETWEEN_BARE = re.compile(r"[;,]+")
_ONLY_A_BEGINNING = re.compile(r"https?:?/*(?:www\.?)?|www\.?", re.IGNORECASE)
_ADDRESS = re.compile(r"[\w-]+(?:\.[\w-]+)+\.?(?::\d{1,5})?(?:[/?#].*)?", re.DOTALL)
_EMAIL = re.compile(r"(?:mailto:)?([\w.+'&~-]{1,64}@[\w-]+(?:\.[\w-]+)+)", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?:tel|fax|phone|mobil|fon)?[.:\s]*\+?[\d\s()./\u2010-\u2015-]{7,40}", re.IGNORECASE
)
_NOTHING = frozenset(
    {
        "", "n/a", "na", "n.a", "none", "null", "nil", "nan", "no", "nein", "non", "nee", "nej",
        "ingen", "keine", "kein", "without", "website", "site", "web", "webseite", "homepage",
        "url", "http", "https", "www", "unknown", "unbekannt", "-", "--", "---", "/", "?", "x", "0",
        "undefined", "false", "tba", "tbd", "todo", "brak", "aucun", "ninguno", "nessuno",
    }
)  # fmt: skip
FEWEST_DIGITS, MOST_DIGITS = 7, 15


def bare(text: str) -> str:
    """Without what nobody sees, and whole where a space broke it."""
    seen = _UNSEEN.sub("", unescape(text[:MAX_CHARACTERS])).strip()
    return _BROKEN.sub(r"\1", seen)


def says_nothing(text: str) -> bool:
    """As people leave a field empty where something has to stand in it."""
    words = _ONLY_A_BEGINNING.sub("", text) if _ONLY_A_BEGINNING.fullmatch(text) else text
    return all(word.strip(_AROUND) in _NOTHING for word in words.lower().split())


def parts_of(text: str) -> list[str]:
    """What may be addresses of anything, in the order they stand there."""
    found = (part for each in _BETWEEN.split(text) for part in _bare_parts(each))
    parts = (part.strip(_AROUND).lstrip("/") for part in found)
    return list(dict.fromkeys(part for part in parts if _may_be_address(part)))[:MAX_ADDRESSES]


def _bare_parts(part: str) -> list[str]:
    """`a.de,b.de` are two; a path may have such signs in it."""
    is_path = "/" in _SCHEMES.sub("", part, count=1)
    return [part] if is_path else _BETWEEN_BARE.split(part)


def _may_be_address(part: str) -> bool:
    if _SCHEMES.match(part) or _EMAIL.fullmatch(part):
        return True
    return _ADDRESS.fullmatch(part) is not None


def with_scheme(part: str) -> tuple[str, bool]:
    """As an absolute URL, and whether it was written as one; `http//x.de` and its like count."""
    scheme, rest = "", part
    while found := _SCHEMES.match(rest):
        scheme, rest = found["scheme"].lower(), rest[found.end() :]
    return f"{scheme or 'http'}://{rest.lstrip('/')}", bool(scheme)


def email_in(part: str) -> str | None:
    found = _EMAIL.fullmatch(_SCHEMES.sub("", part, count=1).rstrip("/"))
    return found[1] if found else None


def is_phone_number(text: str) -> bool:
    digits = sum(map(str.isdigit, text))
    return FEWEST_DIGITS <= digits <= MOST_DIGITS and _NUMBER.fullmatch(text) is not None
