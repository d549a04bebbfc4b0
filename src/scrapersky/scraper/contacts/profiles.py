"""Recognize social-media profile URLs and normalize them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from urllib.parse import quote, unquote

from scrapersky.scraper.contacts.model import split_words

_REST = {"any": r"(?:/[^?]*)?(?:\?.*)?", "end": r"/?(?:\?.*)?"}
"""What may follow the profile in a URL; see `platforms.toml`."""


@dataclass(frozen=True, slots=True)
class ProfilePattern:
    """One form of a profile's path and query; its groups fill `path` and `handle`."""

    pattern: re.Pattern[str]
    path: str
    handle: str
    keeps_case: bool


@dataclass(frozen=True, slots=True)
class ProfilePlatform:
    """A social platform; `reserved` lists first path segments that are not profiles."""

    name: str
    base: str
    shapes: tuple[ProfilePattern, ...]
    reserved: frozenset[str]


@dataclass(frozen=True, slots=True)
class PlatformTable:
    by_host: Mapping[str, ProfilePlatform]
    mastodon_hosts: frozenset[str]
    site_builders: frozenset[str]


@cache
def load_platforms() -> PlatformTable:
    """Load `platforms.toml` on first use."""
    data = tomllib.loads(files(__package__).joinpath("platforms.toml").read_text("utf-8"))
    by_host: dict[str, ProfilePlatform] = {}
    for each in data["platform"]:
        shapes = tuple(_build_pattern(**shape) for shape in each["shapes"])
        reserved = split_words(each.get("reserved", ""))
        platform = ProfilePlatform(each["name"], each["base"], shapes, reserved)
        by_host |= dict.fromkeys(each["hosts"].split(), platform)
    return PlatformTable(
        by_host, split_words(data["mastodon_hosts"]), split_words(data["site_builders"])
    )


def _build_pattern(
    pattern: str,
    rest: str | None = None,
    path: str = "{0}",
    handle: str | None = None,
    keeps_case: bool = False,
) -> ProfilePattern:
    flags = re.NOFLAG if keeps_case else re.IGNORECASE
    compiled = re.compile(pattern + (_REST[rest] if rest else ""), flags)
    return ProfilePattern(compiled, path, handle or path, keeps_case)


PLACEHOLDER_HANDLE = re.compile(
    r"@?(?:your|tu|votre|ihr|dein)[-_.]?(?:page|pagename|page[-_.]name|name|user|user[-_.]?name|handle"
    r"|profile|company|company[-_.]?name|channel|channel[-_.]?id|account|id|brand|business|link|url|site"
    r"|facebook|instagram|twitter|linkedin|youtube|tiktok|pinterest|store|shop|number|organi[sz]ation)s?"
    r"|undefined|null|none|nan|false|true|x{3,}|insert.*|placeholder|lorem|ipsum|todo|tbd|_+|-+|\.+"
    r"|.+\.(?:php|html?|aspx?|png|jpe?g|svg|js|css|gif|ico|xml|json)",
    re.IGNORECASE,
)
"""Template defaults for a handle that was never filled in."""


MAX_URL_CHARACTERS = 1000
"""Longer URLs are never profiles."""


@dataclass(frozen=True, slots=True)
class SocialProfile:
    """A profile; `handle` is unique per platform, `url` is normalized."""

    platform: str
    handle: str
    url: str


_URL = re.compile(
    r"(?:(?:https?:)?/{1,3})?(?P<host>[a-z0-9.-]+)(?::\d+)?(?:/(?P<rest>.*)|(?P<query>\?.*))?",
    re.IGNORECASE | re.DOTALL,
)
_TRAILING_MARKUP = re.compile(r"[<>\"].*", re.DOTALL)
_INVISIBLE = re.compile(r"[\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+")
_SUBDOMAIN = re.compile(r"(?:www\d?|m|mobile|web|touch|mbasic|[a-z]{2}(?:[-_][a-z]{2})?)\.")
_PINTEREST_HOST = re.compile(r"pinterest\.(?:[a-z]{2,3}|com?\.[a-z]{2})")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[\s().-]+(?=\d)")
_WHATSAPP_SCHEME = re.compile(r"\s*whatsapp:/{0,3}send/?(?=\?)", re.IGNORECASE)
_MASTODON_PATH = re.compile(
    r"(?:web/)?(?:@|users/)([\w.-]{1,30})(?:@([a-z0-9.-]+))?/?(?:\?.*)?", re.IGNORECASE
)


def parse_profile(url: str) -> SocialProfile | None:
    """Return the profile a URL leads to; None for posts, share buttons and other links."""
    url = _INVISIBLE.sub("", _TRAILING_MARKUP.sub("", url[: MAX_URL_CHARACTERS + 1]))
    url = _WHATSAPP_SCHEME.sub("https://api.whatsapp.com/send", url, count=1)
    address = _URL.fullmatch(url)
    if address is None or len(url) > MAX_URL_CHARACTERS:
        return None
    host = address["host"].lower().rstrip(".")
    path = _decode_path(address["rest"] or address["query"] or "")
    if host in load_platforms().mastodon_hosts:
        return _match_mastodon(host, path)
    platform = _get_platform(host)
    if platform and platform.name == "whatsapp":
        path = _BETWEEN_DIGITS.sub("", path)
    return _match_platform(platform, path) if platform and path else None


def _get_platform(host: str) -> ProfilePlatform | None:
    by_host = load_platforms().by_host
    if host in by_host:
        return by_host[host]
    bare = _SUBDOMAIN.sub("", host, count=1) if _SUBDOMAIN.match(host) else host
    if _PINTEREST_HOST.fullmatch(bare):
        return by_host["pinterest"]
    return by_host.get(bare) if "." in bare else None


def _decode_path(rest: str) -> str:
    """Decode path and query; the fragment is kept only for `#!/` paths, which X once used."""
    if not rest.startswith("#!/"):
        rest = rest.partition("#")[0]
    path, mark, query = rest.partition("?")
    path = (
        _TRAILING_MARKUP.sub("", unquote(re.sub(r"/{2,}", "/", path).strip("/"))).strip().strip("/")
    )
    return path + mark + unquote(query)


def _match_platform(platform: ProfilePlatform, path: str) -> SocialProfile | None:
    for shape in platform.shapes:
        if match := shape.pattern.fullmatch(path):
            break
    else:
        return None
    groups = match.groups() if shape.keeps_case else tuple(map(str.lower, match.groups()))
    is_platforms_own = shape.path == "{0}" and groups[0].lower() in platform.reserved
    if is_platforms_own or _is_placeholder_handle(groups[-1]):
        return None
    handle = shape.handle.format(*groups)
    path = shape.path.format(*(quote(group, safe="@:/+&'") for group in groups))
    return SocialProfile(platform.name, handle, platform.base + path)


def _is_placeholder_handle(handle: str) -> bool:
    return (
        handle.lower().lstrip("@") in load_platforms().site_builders
        or PLACEHOLDER_HANDLE.fullmatch(handle) is not None
    )


def _match_mastodon(host: str, path: str) -> SocialProfile | None:
    match = _MASTODON_PATH.fullmatch(path)
    if match is None or _is_placeholder_handle(match[1]):
        return None
    name, home = match[1].lower(), (match[2] or host).lower()
    if home in load_platforms().mastodon_hosts:
        return SocialProfile("mastodon", f"{name}@{home}", f"https://{home}/@{name}")
    return SocialProfile("mastodon", f"{name}@{home}", f"https://{host}/@{name}@{home}")
