"""Classify a business's website field: own site, profile, directory page, or unusable.

`classify_website` makes no request and never raises. `follow_short_link` resolves short links: it
requests the shortener's host only, not the target site.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib.resources import files
from urllib.parse import urlsplit

from scrapersky.errors import InvalidInput
from scrapersky.scraper.contacts.emails import is_free_mail
from scrapersky.scraper.contacts.profiles import parse_profile
from scrapersky.scraper.http.addresses import AddressRules, parse_ip
from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.http.fetch_errors import FetchFailed
from scrapersky.scraper.http.responses import is_transient
from scrapersky.scraper.http.urls import (
    Site,
    clean_url,
    get_icann_domain,
    get_registrable_domain,
    normalise_site,
)
from scrapersky.scraper.site import website_text

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
    for line in files(__package__).joinpath("shared_hosts.txt").read_text("utf-8").splitlines():
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
    return f"{host.removesuffix(suffix)}*"


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
    repaired = website_text.repair_text(text) if isinstance(text, str) else ""
    if website_text.is_empty_value(repaired):
        return Website(WebsiteType.NONE, reason="No website given.")
    if website_text.is_phone_number(repaired):
        sentence = f"{_quote_text(repaired)} is a phone number, not a website."
        return replace(_build_unusable(sentence), phone=repaired)
    read = [
        _classify_part(part, rules or AddressRules())
        for part in website_text.split_addresses(repaired)
    ]
    if not read:
        return _build_unusable(f"{_quote_text(repaired)} is not a website address.")
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
    if email := website_text.find_email(part):
        return _classify_email(email)
    url, is_written_as_url = website_text.add_scheme(part)
    url = website_text.unwrap_url(url)
    try:
        site = normalise_site(url, rules)
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
    reason = f"{_quote_text(address)} is an e-mail address, not a website"
    if is_free_mail(site.host) or get_icann_domain(site.host) is None:
        return replace(_build_unusable(f"{reason}."), email=address)
    guess = f"{reason}; {site.host} may be the website, but this is unconfirmed."
    return replace(_build_unusable(guess), email=address, suggested=site.host)


def _classify_site(site: Site, url: str, rules: AddressRules, *, is_sure: bool) -> Website:
    host, path = site.host, urlsplit(url).path or "/"
    if profile := parse_profile(url):
        return Website(
            WebsiteType.PROFILE,
            url=website_text.strip_tracking(url),
            profile=profile.url,
            reason=f"This is a profile on {profile.platform}, not the business's own site.",
        )
    if match := find_shared_host(host, path):
        return _classify_shared_host(site, url, match)
    if rules.is_exempt(host):
        return _build_own_site(site, url)
    if path.startswith("/~"):
        reason = f"{host} hosts pages of many users; only this page belongs to the business."
        return Website(
            WebsiteType.SITE_BUILDER, url=website_text.strip_tracking(url), reason=reason
        )
    if parse_ip(host) is not None:
        return _build_unusable(f"{host} is an IP address, which can change owners at any time.")
    registered = get_icann_domain(site.host)
    if registered is None and not is_sure:
        return _build_unusable(f"{_quote_text(site.host)} is not a website address.")
    if get_registrable_domain(site.host) is None:
        return _build_unusable(f"{site.host} is a public suffix, not a site.")
    if registered == site.host and is_free_mail(site.host):
        return _build_unusable(f"{site.host} belongs to a mail provider, not to the business.")
    return _build_own_site(site, url)


def _build_own_site(site: Site, url: str) -> Website:
    return Website(WebsiteType.OWN, url=website_text.strip_tracking(url), site_key=site.key)


def _classify_shared_host(site: Site, url: str, match: SharedHostMatch) -> Website:
    """Classify a page on a host that many businesses use, by the kind of the host."""
    host, kind, why = site.host, match.group.kind, match.group.reason
    path, clean_url = urlsplit(url).path, website_text.strip_tracking(url)
    if kind == "unusable":
        return _build_unusable(f"{host} {why}.")
    if kind == "short":
        if not path.strip("/"):
            return _build_unusable(f"{host} is a link shortener, but this is not a short link.")
        reason = f"{host} is a link shortener; {why}."
        return Website(WebsiteType.UNUSABLE, url=url, reason=reason, ask=url)
    if kind in ("directory", "marketplace"):
        reason = f"{host} {why}; this page is not the business's own site."
        return Website(WebsiteType(kind), url=clean_url, reason=reason)
    if kind == "platform":
        return Website(WebsiteType.PROFILE, url=clean_url, reason=f"{host} {why}.")
    if kind == "profile":
        path = path.rstrip("/")
        profile = f"https://{host}{path}" if path or host != match.entry else None
        reason = f"{host} {why}; it is not the business's own site."
        return Website(WebsiteType.PROFILE, url=clean_url, profile=profile, reason=reason)
    if kind == "builder" and host != match.entry:  # a subdomain is a site like any other
        return _build_own_site(site, url)
    reason = f"{host} {why}; only this page belongs to the business."
    return Website(WebsiteType.SITE_BUILDER, url=clean_url, reason=reason)


def _build_unusable(reason: str) -> Website:
    return Website(WebsiteType.UNUSABLE, reason=reason)


def _quote_text(text: str) -> str:
    return repr(text if len(text) <= MAX_QUOTED_CHARACTERS else f"{text[:MAX_QUOTED_CHARACTERS]}…")


MAX_HOPS = 5
MAX_ANSWER_BYTES = 16_384
"""Limit for a response of which only the headers are used."""


class ShortLinkFailed(FetchFailed):
    """The shortener failed temporarily."""


async def follow_short_link(website: Website, fetch: Fetcher, *, rules: AddressRules) -> Website:
    """Resolve a short link and classify its target; raise `FetchFailed` if a retry may help."""
    link, visited = website.ask, set[str]()
    for _ in range(MAX_HOPS):
        if website.ask is None or website.ask in visited:
            break
        visited.add(website.ask)
        after = await _follow_once(website.ask, fetch, rules)
        # Profiles, e-mail address and suggested domain of the original field are kept.
        profiles = tuple(dict.fromkeys((*after.profiles, *website.profiles)))
        website = replace(
            after,
            profiles=profiles,
            profile=profiles[0] if profiles else None,
            email=website.email or after.email,
            suggested=website.suggested or after.suggested,
        )
    if website.ask is not None:
        reason = f"{link} redirects in a loop or too many times."
        return replace(website, kind=WebsiteType.UNUSABLE, url=None, ask=None, reason=reason)
    origin = f"Resolved from {link}." if link else None
    return replace(website, reason=" ".join(filter(None, (origin, website.reason))) or None)


async def _follow_once(url: str, fetch: Fetcher, rules: AddressRules) -> Website:
    try:
        answer = await fetch.ask(url, headers={}, max_bytes=MAX_ANSWER_BYTES)
    except FetchFailed as error:
        if not error.permanent:
            raise
        return Website(WebsiteType.UNUSABLE, url=url, reason=str(error))
    if is_transient(answer.status):
        raise ShortLinkFailed(f"{url} answered {answer.status}.", url=url)
    location = answer.headers.get("Location", "")
    target = clean_url(location, answer.url) if 300 <= answer.status < 400 else None
    if target is None:
        reason = f"{url} answered {answer.status} without a redirect."
        return Website(WebsiteType.UNUSABLE, url=url, reason=reason)
    return classify_website(target, rules=rules)
