"""Classify a business's website field: own site, profile, directory page, or unusable.

`classify_website` makes no request and never raises. `follow_short_link` resolves short links: it
requests the shortener's host only, not the target site.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib.resources import files
from urllib.parse import urlsplit

from scrapersky.errors import InvalidInput
from scrapersky.scraper.contacts.email_types import is_free_mail
from scrapersky.scraper.contacts.profiles import parse_profile
from scrapersky.scraper.http.addresses import AddressRules, parse_ip
from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.http.fetch_errors import FetchFailed
from scrapersky.scraper.http.public_suffixes import get_icann_domain, get_registrable_domain
from scrapersky.scraper.http.responses import Response
from scrapersky.scraper.http.urls import Site, clean_url, normalise_site
from scrapersky.scraper.site.website_text import (
    add_scheme,
    find_email,
    is_empty_value,
    is_phone_number,
    repair_text,
    split_addresses,
    strip_tracking,
    unwrap_url,
)

SHARED_HOSTS_FILE = "shared_hosts.txt"
ANY_SUFFIX = "*"
_SECTION = re.compile(r"\[(?P<kind>\w+)\] (?P<reason>.+)")


@dataclass(frozen=True, slots=True)
class SharedHostGroup:
    """A group of shared hosts: what a website there is, and why."""

    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class SharedHostMatch:
    """The matching entry and its group."""

    entry: str
    group: SharedHostGroup


def find_shared_host(host: str, path: str = "/") -> SharedHostMatch | None:
    """Return the longest entry that matches a lower-case host without `www.`."""
    table = _load_shared_hosts()
    for name in _iter_parent_names(host):
        entries = table.get(name, {})
        if name in (host, _replace_suffix(host)):
            for start in sorted(filter(None, entries), key=len, reverse=True):
                if f"{path}/".startswith(f"/{start}/"):
                    return SharedHostMatch(name, entries[start])
        if "" in entries:
            return SharedHostMatch(name, entries[""])
    return None


def _iter_parent_names(host: str) -> Iterator[str]:
    """Yield the host and its parent domains, longest first, each also with its suffix as `*`."""
    starred = _replace_suffix(host)
    labels = host.split(".")
    for place in range(len(labels)):
        name = ".".join(labels[place:])
        yield name
        if starred and len(rest := starred.split(".")) > place + 1:
            yield ".".join(rest[place:])


@cache
def _load_shared_hosts() -> dict[str, dict[str, SharedHostGroup]]:
    """Load the groups by host, then by path prefix; the empty prefix matches the whole host."""
    table: dict[str, dict[str, SharedHostGroup]] = {}
    group: SharedHostGroup | None = None
    for line in files(__package__).joinpath(SHARED_HOSTS_FILE).read_text("utf-8").splitlines():
        if section := _SECTION.fullmatch(line):
            group = SharedHostGroup(section["kind"], section["reason"])
        elif group is not None and not line.startswith("#"):
            for entry in line.split():
                host, _, path = entry.partition("/")
                table.setdefault(host, {})[path] = group
    return table


def _replace_suffix(host: str) -> str | None:
    """Replace the public suffix: `yelp.co.uk` becomes `yelp.*`."""
    registered = get_icann_domain(host)
    if registered is None:
        return None
    suffix = registered.partition(".")[2]
    return f"{host.removesuffix(suffix)}{ANY_SUFFIX}"


def iter_shared_hosts() -> Iterator[tuple[str, SharedHostGroup]]:
    """Yield every entry of the table with its group."""
    for host, paths in _load_shared_hosts().items():
        for path, group in paths.items():
            yield (f"{host}/{path}" if path else host), group


class WebsiteType(StrEnum):
    """What a business's website field refers to."""

    OWN = "own"
    PROFILE = "profile"
    DIRECTORY = "directory"
    MARKETPLACE = "marketplace"
    SITE_BUILDER = "site_builder"
    """A page on a builder's shared host; only that page belongs to the business."""
    UNUSABLE = "unusable"
    """A phone number, an e-mail address or other text."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Website:
    """A classified website field; `reason` is a sentence for users, or None if none is needed."""

    kind: WebsiteType
    url: str | None = None
    """Without redirect wrappers and tracking parameters; None if the field has no URL."""
    site_key: str | None = None
    """Normalized domain of the business's own site, as stored in `domains`."""
    profile: str | None = None
    """The first of `profiles`."""
    profiles: tuple[str, ...] = ()
    """All profiles in the field, including those next to the business's own site."""
    reason: str | None = None
    suggested: str | None = None
    """A domain that may be the site, such as that of an e-mail address; unconfirmed."""
    email: str | None = None
    """An e-mail address found in the field."""
    phone: str | None = None
    """A phone number given instead of a website, as written."""
    ask: str | None = None
    """A short link whose target must be requested from the shortener."""


MAX_QUOTED_CHARACTERS = 80
_PREFERENCE: tuple[Callable[[Website], bool], ...] = (
    lambda each: each.kind is WebsiteType.OWN,
    lambda each: each.ask is not None,
    lambda each: each.profile is not None,
    lambda each: each.kind is not WebsiteType.UNUSABLE,
    lambda each: each.email is not None,
)


def classify_website(text: str | None, *, rules: AddressRules | None = None) -> Website:
    """Classify the text of a website field.

    Of several addresses, the first that is the business's own site wins; profiles are collected
    from all of them.
    """
    given = repair_text(text) if isinstance(text, str) else ""
    if is_empty_value(given):
        return Website(WebsiteType.NONE, reason="No website given.")
    if is_phone_number(given):
        said = f"{_quote_text(given)} is a phone number, not a website."
        return replace(_build_unusable(said), phone=given)
    read = [_classify_part(part, rules or AddressRules()) for part in split_addresses(given)]
    if not read:
        return _build_unusable(f"{_quote_text(given)} is not a website address.")
    return _combine_websites(read)


def _combine_websites(read: Sequence[Website]) -> Website:
    best = min(read, key=_get_rank)
    profiles = tuple(dict.fromkeys(each.profile for each in read if each.profile))
    reason = best.reason
    if best.kind is WebsiteType.OWN and len(read) > 1:
        reason = f"Of {len(read)} addresses, this is the first that is the business's own site."
    return replace(
        best,
        profile=profiles[0] if profiles else None,
        profiles=profiles,
        reason=reason,
        email=next((each.email for each in read if each.email), None),
        suggested=next((each.suggested for each in read if each.suggested), None),
    )


def _get_rank(website: Website) -> int:
    return next((n for n, holds in enumerate(_PREFERENCE) if holds(website)), len(_PREFERENCE))


def _classify_part(part: str, rules: AddressRules) -> Website:
    if email := find_email(part):
        return _classify_email(email)
    url, is_written_as_url = add_scheme(part)
    url = unwrap_url(url)
    try:
        site = normalise_site(
            url,
            allowed_networks=rules.allowed_networks,
            allowed_ports=rules.allowed_ports,
            resolve=rules.resolve,
        )
    except InvalidInput as error:
        return _build_unusable(str(error))
    return _classify_site(
        site, url, rules, is_sure=is_written_as_url or part.lower().startswith("www.")
    )


def _classify_email(email: str) -> Website:
    try:
        site = normalise_site(email.rpartition("@")[2])
        address = f"{email.rpartition('@')[0].lower()}@{site.host}"
    except InvalidInput as error:
        return _build_unusable(str(error))
    said = f"{_quote_text(address)} is an e-mail address, not a website"
    if is_free_mail(site.host) or get_icann_domain(site.host) is None:
        return replace(_build_unusable(f"{said}."), email=address)
    guess = f"{said}; {site.host} may be the website, but this is unconfirmed."
    return replace(_build_unusable(guess), email=address, suggested=site.host)


def _classify_site(site: Site, url: str, rules: AddressRules, *, is_sure: bool) -> Website:
    host, path = site.host, urlsplit(url).path or "/"
    if profile := parse_profile(url):
        return Website(
            WebsiteType.PROFILE,
            url=strip_tracking(url),
            profile=profile.url,
            reason=f"This is a profile on {profile.platform}, not the business's own site.",
        )
    if found := find_shared_host(host, path):
        return _CLASSIFIERS[found.group.kind](site, url, found)
    if rules.is_exempt(host):
        return _build_own_site(site, url)
    if path.startswith("/~"):
        said = f"{host} hosts pages of many users; only this page belongs to the business."
        return Website(WebsiteType.SITE_BUILDER, url=strip_tracking(url), reason=said)
    if parse_ip(host) is not None:
        return _build_unusable(f"{host} is an IP address, which can change owners at any time.")
    return _classify_own_host(site, url, is_sure=is_sure)


def _classify_own_host(site: Site, url: str, *, is_sure: bool) -> Website:
    registered = get_icann_domain(site.host)
    if registered is None and not is_sure:
        return _build_unusable(f"{_quote_text(site.host)} is not a website address.")
    if get_registrable_domain(site.host) is None:
        return _build_unusable(f"{site.host} is a public suffix, not a site.")
    if registered == site.host and is_free_mail(site.host):
        return _build_unusable(f"{site.host} belongs to a mail provider, not to the business.")
    return _build_own_site(site, url)


def _build_own_site(site: Site, url: str) -> Website:
    return Website(WebsiteType.OWN, url=strip_tracking(url), site_key=site.key)


def _build_listing_classifier(kind: WebsiteType) -> Callable[[Site, str, SharedHostMatch], Website]:
    def read(site: Site, url: str, found: SharedHostMatch) -> Website:
        said = f"{site.host} {found.group.reason}; this page is not the business's own site."
        return Website(kind, url=strip_tracking(url), reason=said)

    return read


def _classify_platform(site: Site, url: str, found: SharedHostMatch) -> Website:
    said = f"{site.host} {found.group.reason}."
    return Website(WebsiteType.PROFILE, url=strip_tracking(url), reason=said)


def _classify_platform_page(site: Site, url: str, found: SharedHostMatch) -> Website:
    path = urlsplit(url).path.rstrip("/")
    profile = f"https://{site.host}{path}" if path or site.host != found.entry else None
    said = f"{site.host} {found.group.reason}; it is not the business's own site."
    return Website(WebsiteType.PROFILE, url=strip_tracking(url), profile=profile, reason=said)


def _classify_builder(site: Site, url: str, found: SharedHostMatch) -> Website:
    """Classify a page at a site builder; a subdomain is a site like any other."""
    return (
        _build_builder_page(site, url, found)
        if site.host == found.entry
        else _build_own_site(site, url)
    )


def _build_builder_page(site: Site, url: str, found: SharedHostMatch) -> Website:
    said = f"{site.host} {found.group.reason}; only this page belongs to the business."
    return Website(WebsiteType.SITE_BUILDER, url=strip_tracking(url), reason=said)


def _classify_short_link(site: Site, url: str, found: SharedHostMatch) -> Website:
    if not urlsplit(url).path.strip("/"):
        return _build_unusable(f"{site.host} is a link shortener, but this is not a short link.")
    said = f"{site.host} is a link shortener; {found.group.reason}."
    return Website(WebsiteType.UNUSABLE, url=url, reason=said, ask=url)


def _classify_unusable(site: Site, url: str, found: SharedHostMatch) -> Website:
    return _build_unusable(f"{site.host} {found.group.reason}.")


_CLASSIFIERS: dict[str, Callable[[Site, str, SharedHostMatch], Website]] = {
    "directory": _build_listing_classifier(WebsiteType.DIRECTORY),
    "marketplace": _build_listing_classifier(WebsiteType.MARKETPLACE),
    "platform": _classify_platform,
    "profile": _classify_platform_page,
    "builder": _classify_builder,
    "pages": _build_builder_page,
    "short": _classify_short_link,
    "unusable": _classify_unusable,
}


def _build_unusable(reason: str) -> Website:
    return Website(WebsiteType.UNUSABLE, reason=reason)


def _quote_text(text: str) -> str:
    return repr(text if len(text) <= MAX_QUOTED_CHARACTERS else f"{text[:MAX_QUOTED_CHARACTERS]}…")


MAX_HOPS = 5
MAX_ANSWER_BYTES = 16_384
"""Limit for a response of which only the headers are used."""
_TRANSIENT_STATUSES = frozenset({408, 425, 429})


class ShortLinkFailed(FetchFailed):
    """The shortener failed temporarily."""


async def follow_short_link(website: Website, fetch: Fetcher, *, rules: AddressRules) -> Website:
    """Resolve a short link and classify its target; raise `FetchFailed` if a retry may help."""
    link, seen = website.ask, set[str]()
    for _ in range(MAX_HOPS):
        if website.ask is None or website.ask in seen:
            break
        seen.add(website.ask)
        website = _merge_websites(website, await _follow_once(website.ask, fetch, rules))
    if website.ask is not None:
        return _build_dead_end(website, f"{link} redirects in a loop or too many times.")
    return replace(website, reason=_describe_origin(website, link))


async def _follow_once(url: str, fetch: Fetcher, rules: AddressRules) -> Website:
    try:
        answer = await fetch.ask(url, headers={}, max_bytes=MAX_ANSWER_BYTES)
    except FetchFailed as error:
        if not error.permanent:
            raise
        return Website(WebsiteType.UNUSABLE, url=url, reason=str(error))
    if answer.status in _TRANSIENT_STATUSES or answer.status >= 500:
        raise ShortLinkFailed(f"{url} answered {answer.status}.", url=url)
    target = _get_redirect_target(answer)
    if target is None:
        said = f"{url} answered {answer.status} without a redirect."
        return Website(WebsiteType.UNUSABLE, url=url, reason=said)
    return classify_website(target, rules=rules)


def _get_redirect_target(answer: Response) -> str | None:
    if not 300 <= answer.status < 400:
        return None
    return clean_url(answer.headers.get("Location", ""), answer.url)


def _merge_websites(before: Website, after: Website) -> Website:
    """Keep profiles, e-mail address and suggested domain from the original field."""
    profiles = tuple(dict.fromkeys((*after.profiles, *before.profiles)))
    return replace(
        after,
        profiles=profiles,
        profile=profiles[0] if profiles else None,
        email=before.email or after.email,
        suggested=before.suggested or after.suggested,
    )


def _build_dead_end(website: Website, reason: str) -> Website:
    return replace(website, kind=WebsiteType.UNUSABLE, url=None, ask=None, reason=reason)


def _describe_origin(website: Website, link: str | None) -> str | None:
    found = f"Resolved from {link}." if link else None
    return " ".join(filter(None, (found, website.reason))) or None
