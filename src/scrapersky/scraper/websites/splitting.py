"""Take the text of a website field apart: it may hold several addresses, or none."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import unquote

MAX_CHARACTERS = 2_048
"""A website field is never this long; what comes after it is not looked at."""
MAX_ADDRESSES = 20

_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2060-\u2064\ufeff\ud800-\udfff]"
)
_BROKEN = re.compile(r"(https?:/+|\bwww\.)\s+", re.IGNORECASE)
_BROKEN_BEFORE_ITS_END = re.compile(r"(?<=[\w-])\s+(?=\.[a-z]{2,6}(?:[\s/,;]|$))", re.IGNORECASE)
_COMMA_FOR_DOT = re.compile(
    r"((?:https?://|\bwww\.)[\w-]+),(?=[a-z]{2,6}(?:[\s/]|$))", re.IGNORECASE
)
_MANY_WS = re.compile(r"(?<![\w.-])(?:www\.{2,}|ww\.+(?=[\w-]+\.)|w{4,6}\.+)", re.IGNORECASE)
"""`www..bakery.de`, `ww.bakery.de`, `wwww.bakery.de`: nobody has such hosts."""
_HIDDEN_AT = re.compile(r"\s*[\[({]\s*(?:at|@|ät)\s*[\])}]\s*", re.IGNORECASE)
_WIDE = {0xFF01 + place: 0x21 + place for place in range(94)} | {
    ord(wide): plain for wide, plain in zip("。｡、\u3000\\", "..,\u0020/", strict=True)
}
"""As keyboards of East Asia write them; and the slash of those who know file names."""
_SCHEMES = re.compile(r"(?<![a-z])h?t{1,4}p(?P<safe>s?)(?:[:;]+/*|/{1,3})", re.IGNORECASE)
_NAMED_PLATFORM = re.compile(
    r"(?:on |auf |sur )?(?P<platform>facebook|fb|instagram|insta|ig|tiktok|twitter|linkedin)"
    r"\s*(?:[:/]\s*@?|@)\s*(?P<handle>[\w.-]{3,60})/?",
    re.IGNORECASE,
)
_PLATFORMS = {
    "facebook": "facebook.com/", "fb": "facebook.com/", "instagram": "instagram.com/",
    "insta": "instagram.com/", "ig": "instagram.com/", "tiktok": "tiktok.com/@",
    "twitter": "x.com/", "linkedin": "linkedin.com/company/",
}  # fmt: skip
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
    """Without what nobody sees, and whole where a space or a slip of the finger broke it."""
    seen = _UNSEEN.sub("", unescape(text[:MAX_CHARACTERS])).translate(_WIDE).strip()
    whole = _BROKEN_BEFORE_ITS_END.sub("", _BROKEN.sub(r"\1", seen))
    whole = _MANY_WS.sub("www.", _COMMA_FOR_DOT.sub(r"\1.", whole))
    return _as_profile(_HIDDEN_AT.sub("@", whole))


def _as_profile(text: str) -> str:
    """`Instagram: @bakery` is an address, too."""
    found = _NAMED_PLATFORM.fullmatch(text)
    return f"{_PLATFORMS[found['platform'].lower()]}{found['handle']}" if found else text


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
        scheme, rest = f"http{found['safe'].lower()}", rest[found.end() :]
    return f"{scheme or 'http'}://{_host_unquoted(rest.lstrip('/'))}", bool(scheme)


def _host_unquoted(rest: str) -> str:
    """`bakery.de%20` and `bakery.de%2Fmenu`: forms escape what people paste."""
    host, *path = re.split(r"(?=[/?#])", rest, maxsplit=1)
    return "".join((unquote(host).strip() if "%" in host else host, *path))


def email_in(part: str) -> str | None:
    found = _EMAIL.fullmatch(_SCHEMES.sub("", part, count=1).rstrip("/"))
    return found[1] if found else None


def is_phone_number(text: str) -> bool:
    digits = sum(map(str.isdigit, text))
    return FEWEST_DIGITS <= digits <= MOST_DIGITS and _NUMBER.fullmatch(text) is not None
