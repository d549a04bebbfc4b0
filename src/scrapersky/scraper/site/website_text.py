"""Repair and split the text of a website field, and unwrap redirect and tracking links."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from scrapersky.scraper.http.urls import get_host

MAX_FIELD_CHARACTERS = 2_048
"""Text beyond this length is ignored; website fields are never this long."""
MAX_ADDRESSES = 20

_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2060-\u2064\ufeff\ud800-\udfff]"
)
_SPLIT_PREFIX = re.compile(r"(https?:/+|\bwww\.)\s+", re.IGNORECASE)
_SPLIT_SUFFIX = re.compile(r"(?<=[\w-])\s+(?=\.[a-z]{2,6}(?:[\s/,;]|$))", re.IGNORECASE)
_COMMA_FOR_DOT = re.compile(
    r"((?:https?://|\bwww\.)[\w-]+),(?=[a-z]{2,6}(?:[\s/]|$))", re.IGNORECASE
)
_MISTYPED_WWW = re.compile(r"(?<![\w.-])(?:www\.{2,}|ww\.+(?=[\w-]+\.)|w{4,6}\.+)", re.IGNORECASE)
"""`www..bakery.de`, `ww.bakery.de`, `wwww.bakery.de`: such hosts do not exist."""
_OBFUSCATED_AT = re.compile(r"\s*[\[({]\s*(?:at|@|ät)\s*[\])}]\s*", re.IGNORECASE)
_FULLWIDTH = {0xFF01 + place: 0x21 + place for place in range(94)} | {
    ord(wide): plain for wide, plain in zip("。｡、\u3000\\", "..,\u0020/", strict=True)
}
"""Full-width characters of East Asian keyboards, and backslashes typed as slashes."""
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
_SURROUNDING = "<>()[]{}\"'`´‘’“”„«»*,;.:!"
_SEPARATOR = re.compile(
    r"[\s|<>\"]+|[;,]+(?=https?[:/]|www\.)|(?<=[^=/?&#:%])(?=https?://)", re.IGNORECASE
)
_BARE_SEPARATOR = re.compile(r"[;,]+")
_PREFIX_ONLY = re.compile(r"https?:?/*(?:www\.?)?|www\.?", re.IGNORECASE)
_ADDRESS = re.compile(r"[\w-]+(?:\.[\w-]+)+\.?(?::\d{1,5})?(?:[/?#].*)?", re.DOTALL)
_EMAIL = re.compile(r"(?:mailto:)?([\w.+'&~-]{1,64}@[\w-]+(?:\.[\w-]+)+)", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?:tel|fax|phone|mobil|fon)?[.:\s]*\+?[\d\s()./\u2010-\u2015-]{7,40}", re.IGNORECASE
)
_EMPTY_VALUES = frozenset(
    {
        "", "n/a", "na", "n.a", "none", "null", "nil", "nan", "no", "nein", "non", "nee", "nej",
        "ingen", "keine", "kein", "without", "website", "site", "web", "webseite", "homepage",
        "url", "http", "https", "www", "unknown", "unbekannt", "-", "--", "---", "/", "?", "x", "0",
        "undefined", "false", "tba", "tbd", "todo", "brak", "aucun", "ninguno", "nessuno",
    }
)  # fmt: skip
MIN_PHONE_DIGITS, MAX_PHONE_DIGITS = 7, 15


def repair_text(text: str) -> str:
    """Remove invisible characters and repair stray spaces and typing errors."""
    cleaned = (
        _INVISIBLE.sub("", unescape(text[:MAX_FIELD_CHARACTERS])).translate(_FULLWIDTH).strip()
    )
    whole = _SPLIT_SUFFIX.sub("", _SPLIT_PREFIX.sub(r"\1", cleaned))
    whole = _MISTYPED_WWW.sub("www.", _COMMA_FOR_DOT.sub(r"\1.", whole))
    whole = _OBFUSCATED_AT.sub("@", whole)
    if match := _NAMED_PLATFORM.fullmatch(whole):  # `Instagram: @bakery` is a URL
        return f"{_PLATFORMS[match['platform'].lower()]}{match['handle']}"
    return whole


def is_empty_value(text: str) -> bool:
    """Return whether the text is a filler for a required field, such as "n/a" or "none"."""
    words = _PREFIX_ONLY.sub("", text) if _PREFIX_ONLY.fullmatch(text) else text
    return all(word.strip(_SURROUNDING) in _EMPTY_VALUES for word in words.lower().split())


def split_addresses(text: str) -> list[str]:
    """Return the parts that may be addresses, in order."""
    candidates = (part for each in _SEPARATOR.split(text) for part in _split_bare(each))
    parts = dict.fromkeys(part.strip(_SURROUNDING).lstrip("/") for part in candidates)
    return [
        part
        for part in parts
        if _SCHEMES.match(part) or _EMAIL.fullmatch(part) or _ADDRESS.fullmatch(part)
    ][:MAX_ADDRESSES]


def _split_bare(part: str) -> list[str]:
    """Split `a.de,b.de` in two, unless there is a path, which may contain these separators."""
    is_path = "/" in _SCHEMES.sub("", part, count=1)
    return [part] if is_path else _BARE_SEPARATOR.split(part)


def add_scheme(part: str) -> tuple[str, bool]:
    """Return an absolute URL, and whether a scheme was given, even misspelled (`http//x.de`)."""
    scheme, rest = "", part
    while match := _SCHEMES.match(rest):
        scheme, rest = f"http{match['safe'].lower()}", rest[match.end() :]
    return f"{scheme or 'http'}://{_unquote_host(rest.lstrip('/'))}", bool(scheme)


def _unquote_host(rest: str) -> str:
    """Decode the host in `bakery.de%20` and `bakery.de%2Fmenu`: forms escape pasted text."""
    host, *path = re.split(r"(?=[/?#])", rest, maxsplit=1)
    return "".join((unquote(host).strip() if "%" in host else host, *path))


def find_email(part: str) -> str | None:
    match = _EMAIL.fullmatch(_SCHEMES.sub("", part, count=1).rstrip("/"))
    return match[1] if match else None


def is_phone_number(text: str) -> bool:
    digits = sum(map(str.isdigit, text))
    return MIN_PHONE_DIGITS <= digits <= MAX_PHONE_DIGITS and _NUMBER.fullmatch(text) is not None


MAX_UNWRAP_DEPTH = 5
"""Maximum number of nested wrappers."""

_GOOGLE = r"(?:[a-z]+\.)?google(?:\.[a-z]{2,3}){1,2}"
_QUERY_WRAPPERS: tuple[tuple[re.Pattern[str], re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(host), re.compile(path), names)
    for host, path, names in (
        (_GOOGLE, r"/(?:url|imgres|local_url|translate(?:_[cn])?)", ("q", "url", "u", "imgrefurl")),
        (r"translate\.google\..+", r"/.*", ("u",)),
        (r"(?:www\.)?googleadservices\.com", r"/pagead/aclk", ("adurl",)),
        (r"(?:lm?|m|web)\.facebook\.com|facebook\.com", r"/(?:l\.php|flx/warn/?)", ("u",)),
        (r"l\.(?:instagram|messenger|threads|wl\.co)\.?(?:com|net)?", r"/.*", ("u",)),
        (r"(?:m\.)?youtube\.com", r"/redirect", ("q",)),
        (r"(?:\w+\.)?linkedin\.com", r"/(?:redir/.*|redirect|safety/go)", ("url",)),
        (r"out\.reddit\.com", r"/.*", ("url",)),
        (r"(?:m\.)?vk\.com", r"/away(?:\.php)?", ("to",)),
        (r"t\.umblr\.com", r"/redirect", ("z",)),
        (r"duckduckgo\.com", r"/l/?", ("uddg",)),
        (r"(?:m\.)?yelp\..+", r"/biz_redir", ("url",)),
        (r"slack-redir\.net", r"/link", ("url",)),
        (r".+\.safelinks\.protection\.outlook\.com", r"/.*", ("url",)),
        (r"(?:www\.)?awin1\.com", r"/cread\.php", ("ued", "p")),
        (r"clk\.tradedoubler\.com|.+\.go2cloud\.org", r"/.*", ("url",)),
    )
)
_PATH_WRAPPERS = tuple(
    (re.compile(host), re.compile(path, re.IGNORECASE | re.DOTALL), scheme)
    for host, path, scheme in (
        (r"web\.archive\.org|archive\.org", r"/web/[^/]+/(.+)", ""),
        (_GOOGLE, r"/amp/(?:s/)?(.+)", "https://"),
        (r".+\.cdn\.ampproject\.org|cdn\.ampproject\.org", r"/\w/(?:s/)?(.+)", "https://"),
        (r"urldefense\.(?:com|proofpoint\.com)", r"/v3/__(.+?)__;?.*", ""),
        (r"r\.search\.yahoo\.com", r".*/RU=([^/]+)/.*", ""),
        (r"href\.li|anonym\.to|nullrefer\.com", r"/\??(https?://.+)", ""),
    )
)
_TRANSLATED = re.compile(r"(?P<host>[a-z0-9-]+)\.translate\.goog")
_ADDRESS_START = re.compile(r"(?:https?:/{1,2}|www\.)?[^\s/:?#@]+\.[^\s/:?#@]{2,}", re.IGNORECASE)
_TRACKING = re.compile(
    r"utm_\w+|[gdmy]clid|fbclid|igshid|igsh|msclkid|twclid|ttclid|li_fat_id|gbraid|wbraid|gclsrc"
    r"|mc_[ce]id|_hs\w+|hsa_\w+|_ga|_gl|ref_?src|mibextid|y_source|yclid|srsltid|wt_\w+|mtm_\w+"
    r"|pk_\w+|trk|trackid|fb_\w+|__tn__|__xts__.*|paipv|eav",
    re.IGNORECASE,
)


def unwrap_url(url: str) -> str:
    """Resolve redirect and tracking links whose target is part of the URL."""
    for _ in range(MAX_UNWRAP_DEPTH):
        inner = _get_inner_url(url)
        if inner is None:
            return url
        url = inner
    return url


def _get_inner_url(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        host = get_host(url)
        candidates = (
            _find_in_query(host, parts)
            or _find_in_path(host, parts)
            or _get_original_url(host, parts)
        )
    except ValueError:
        return None
    if not candidates or not _ADDRESS_START.match(candidates):
        return None
    if re.match(r"https?://", candidates, re.IGNORECASE):
        return candidates
    bare = re.sub(r"https?:/*", "", candidates, count=1, flags=re.IGNORECASE)
    return f"https://{bare}" if candidates.lower().startswith("https") else f"http://{bare}"


def _find_in_query(host: str, parts: SplitResult) -> str | None:
    for hosts, paths, names in _QUERY_WRAPPERS:
        if hosts.fullmatch(host) and paths.fullmatch(parts.path or "/"):
            parameters = dict(parse_qsl(parts.query, max_num_fields=100))
            return next((parameters[name].strip() for name in names if parameters.get(name)), None)
    return None


def _find_in_path(host: str, parts: SplitResult) -> str | None:
    whole = parts.path + (f"?{parts.query}" if parts.query else "")
    for hosts, paths, scheme in _PATH_WRAPPERS:
        if hosts.fullmatch(host) and (match := paths.fullmatch(whole)):
            inner = unquote(match[1]) if "%3a" in match[1].lower() else match[1]
            return inner if inner.lower().startswith("http") else scheme + inner
    return None


def _get_original_url(host: str, parts: SplitResult) -> str | None:
    """Map a translation to its original: `cafe--berger-de.translate.goog` to cafe-berger.de."""
    match = _TRANSLATED.fullmatch(host)
    if match is None:
        return None
    name = match["host"].replace("--", "\0").replace("-", ".").replace("\0", "-")
    return f"https://{name}{parts.path}"


def strip_tracking(url: str) -> str:
    """Remove tracking parameters and the fragment."""
    try:
        parts = urlsplit(url)
        parameters = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return url
    kept = [(name, value) for name, value in parameters if not _TRACKING.fullmatch(name)]
    query = parts.query if len(kept) == len(parameters) else urlencode(kept)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))
