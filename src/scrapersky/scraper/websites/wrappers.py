"""Links that carry the address they lead to: it is taken out of them without asking anybody."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from scrapersky.scraper.urls import host_of

DEEPEST = 5
"""Wrappers in wrappers that are still opened."""

_GOOGLE = r"(?:[a-z]+\.)?google(?:\.[a-z]{2,3}){1,2}"
_IN_QUERY: tuple[tuple[re.Pattern[str], re.Pattern[str], tuple[str, ...]], ...] = tuple(
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
_IN_PATH = tuple(
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
_SEEMS_AN_ADDRESS = re.compile(
    r"(?:https?:/{1,2}|www\.)?[^\s/:?#@]+\.[^\s/:?#@]{2,}", re.IGNORECASE
)
_TRACKING = re.compile(
    r"utm_\w+|[gdmy]clid|fbclid|igshid|igsh|msclkid|twclid|ttclid|li_fat_id|gbraid|wbraid|gclsrc"
    r"|mc_[ce]id|_hs\w+|hsa_\w+|_ga|_gl|ref_?src|mibextid|y_source|yclid|srsltid|wt_\w+|mtm_\w+"
    r"|pk_\w+|trk|trackid|fb_\w+|__tn__|__xts__.*|paipv|eav",
    re.IGNORECASE,
)


def unwrapped(url: str) -> str:
    """Where an absolute URL leads as far as it says so itself."""
    for _ in range(DEEPEST):
        inner = _inner(url)
        if inner is None:
            return url
        url = inner
    return url


def _inner(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        host = host_of(url)
        found = _from_query(host, parts) or _from_path(host, parts) or _translated(host, parts)
    except ValueError:
        return None
    if not found or not _SEEMS_AN_ADDRESS.match(found):
        return None
    return found if re.match(r"https?://", found, re.IGNORECASE) else _with_scheme(found)


def _with_scheme(address: str) -> str:
    bare = re.sub(r"https?:/*", "", address, count=1, flags=re.IGNORECASE)
    return f"https://{bare}" if address.lower().startswith("https") else f"http://{bare}"


def _from_query(host: str, parts: SplitResult) -> str | None:
    for hosts, paths, names in _IN_QUERY:
        if hosts.fullmatch(host) and paths.fullmatch(parts.path or "/"):
            given = dict(parse_qsl(parts.query, max_num_fields=100))
            return next((given[name].strip() for name in names if given.get(name)), None)
    return None


def _from_path(host: str, parts: SplitResult) -> str | None:
    whole = parts.path + (f"?{parts.query}" if parts.query else "")
    for hosts, paths, scheme in _IN_PATH:
        if hosts.fullmatch(host) and (found := paths.fullmatch(whole)):
            inner = unquote(found[1]) if "%3a" in found[1].lower() else found[1]
            return inner if inner.lower().startswith("http") else scheme + inner
    return None


def _translated(host: str, parts: SplitResult) -> str | None:
    """`cafe--berger-de.translate.goog` is cafe-berger.de, read by a translator."""
    found = _TRANSLATED.fullmatch(host)
    if found is None:
        return None
    name = found["host"].replace("--", "\0").replace("-", ".").replace("\0", "-")
    return f"https://{name}{parts.path}"


def without_tracking(url: str) -> str:
    """The same page, without what says who led there; and without the fragment."""
    try:
        parts = urlsplit(url)
        given = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return url
    kept = [(name, value) for name, value in given if not _TRACKING.fullmatch(name)]
    query = parts.query if len(kept) == len(given) else urlencode(kept)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))
