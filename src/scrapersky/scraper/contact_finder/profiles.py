"""Whether a link leads to somebody's profile on a social platform, and to whose."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from scrapersky.scraper.contact_finder.profile_platforms import (
    MAKERS,
    MASTODON_HOSTS,
    PINTEREST,
    PLACEHOLDER,
    PLATFORMS,
    WHATSAPP,
    Platform,
    Shape,
)

MAX_URL_CHARACTERS = 1000
"""No profile has an address this long."""


@dataclass(frozen=True, slots=True)
class Profile:
    """`handle` tells profiles of a platform apart; `url` is the one spelling of its address."""

    platform: str
    handle: str
    url: str


_URL = re.compile(
    r"(?:(?:https?:)?/{1,3})?(?P<host>[a-z0-9.-]+)(?::\d+)?(?:/(?P<rest>.*)|(?P<query>\?.*))?",
    re.IGNORECASE | re.DOTALL,
)
_BROKEN_OFF = re.compile(r"[<>\"].*", re.DOTALL)
_UNSEEN = re.compile(r"[\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+")
_SUBDOMAIN = re.compile(r"(?:www\d?|m|mobile|web|touch|mbasic|[a-z]{2}(?:[-_][a-z]{2})?)\.")
_PINTEREST = re.compile(r"pinterest\.(?:[a-z]{2,3}|com?\.[a-z]{2})")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[\s().-]+(?=\d)")
_WHATSAPP_SCHEME = re.compile(r"\s*whatsapp:/{0,3}send/?(?=\?)", re.IGNORECASE)
_MASTODON_PATH = re.compile(
    r"(?:web/)?(?:@|users/)([\w.-]{1,30})(?:@([a-z0-9.-]+))?/?(?:\?.*)?", re.IGNORECASE
)

_PLATFORM_BY_HOST = {host: platform for platform in PLATFORMS for host in platform.hosts}


def profile_of(url: str) -> Profile | None:
    """The profile a link leads to; None for anything else, such as posts and share buttons."""
    url = _UNSEEN.sub("", _BROKEN_OFF.sub("", url[: MAX_URL_CHARACTERS + 1]))
    url = _WHATSAPP_SCHEME.sub("https://api.whatsapp.com/send", url, count=1)
    address = _URL.fullmatch(url)
    if address is None or len(url) > MAX_URL_CHARACTERS:
        return None
    host = address["host"].lower().rstrip(".")
    path = _path(address["rest"] or address["query"] or "")
    if host in MASTODON_HOSTS:
        return _on_mastodon(host, path)
    platform = _platform_at(host)
    if platform is WHATSAPP:
        path = _BETWEEN_DIGITS.sub("", path)
    return _on_platform(platform, path) if platform and path else None


def _platform_at(host: str) -> Platform | None:
    if host in _PLATFORM_BY_HOST:
        return _PLATFORM_BY_HOST[host]
    bare = _SUBDOMAIN.sub("", host, count=1) if _SUBDOMAIN.match(host) else host
    if _PINTEREST.fullmatch(bare):
        return PINTEREST
    return _PLATFORM_BY_HOST.get(bare) if "." in bare else None


def _path(rest: str) -> str:
    """Path and query, decoded; the fragment only where the path is in it, as it once was on X."""
    if not rest.startswith("#!/"):
        rest = rest.partition("#")[0]
    path, mark, query = rest.partition("?")
    path = _BROKEN_OFF.sub("", unquote(re.sub(r"/{2,}", "/", path).strip("/"))).strip().strip("/")
    return path + mark + unquote(query)


def _on_platform(platform: Platform, path: str) -> Profile | None:
    for shape in platform.shapes:
        if found := shape.pattern.fullmatch(path):
            return _profile(platform, shape, found)
    return None


def _profile(platform: Platform, shape: Shape, found: re.Match[str]) -> Profile | None:
    groups = found.groups() if shape.keeps_case else tuple(map(str.lower, found.groups()))
    is_platforms_own = shape.path == "{0}" and groups[0].lower() in platform.reserved
    if is_platforms_own or _is_nobodys(groups[-1]):
        return None
    handle = shape.handle.format(*groups)
    path = shape.path.format(*(quote(group, safe="@:/+&'") for group in groups))
    return Profile(platform.name, handle, platform.base + path)


def _is_nobodys(handle: str) -> bool:
    return handle.lower().lstrip("@") in MAKERS or PLACEHOLDER.fullmatch(handle) is not None


def _on_mastodon(host: str, path: str) -> Profile | None:
    found = _MASTODON_PATH.fullmatch(path)
    if found is None or _is_nobodys(found[1]):
        return None
    name, home = found[1].lower(), (found[2] or host).lower()
    if home in MASTODON_HOSTS:
        return Profile("mastodon", f"{name}@{home}", f"https://{home}/@{name}")
    return Profile("mastodon", f"{name}@{home}", f"https://{host}/@{name}@{home}")
