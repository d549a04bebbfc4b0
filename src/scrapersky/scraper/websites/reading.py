"""Read the text of a website field: what it names, and whether that is a site of its own.

Whatever stands in the field, the answer is a `Website`; nobody is asked, and nothing is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from scrapersky.errors import InvalidInput
from scrapersky.scraper.addresses import AddressRules, parse_ip
from scrapersky.scraper.contact_finder.profiles import profile_of
from scrapersky.scraper.contact_finder.suffixes import publicly_registered, registrable_domain
from scrapersky.scraper.email_types import is_free_mail
from scrapersky.scraper.urls import Site, normalise_site
from scrapersky.scraper.websites.hosts import Found, shared_host
from scrapersky.scraper.websites.model import Website, WebsiteKind
from scrapersky.scraper.websites.splitting import (
    bare,
    email_in,
    is_phone_number,
    parts_of,
    says_nothing,
    with_scheme,
)
from scrapersky.scraper.websites.wrappers import unwrapped, without_tracking

SHOWN_CHARACTERS = 80
_BEST_FIRST: tuple[Callable[[Website], bool], ...] = (
    lambda each: each.kind is WebsiteKind.OWN,
    lambda each: each.ask is not None,
    lambda each: each.profile is not None,
    lambda each: each.kind is not WebsiteKind.UNUSABLE,
    lambda each: each.email is not None,
)


def read_website(text: str | None, *, rules: AddressRules | None = None) -> Website:
    """Of several addresses the first that is a site of its own; profiles are kept from all."""
    given = bare(text) if isinstance(text, str) else ""
    if says_nothing(given):
        return Website(WebsiteKind.NONE, reason="No website is named.")
    if is_phone_number(given):
        said = f"{_shown(given)} is a phone number, not a website."
        return replace(_unusable(said), phone=given)
    read = [_read(part, rules or AddressRules()) for part in parts_of(given)]
    if not read:
        return _unusable(f"{_shown(given)} is not the address of a website.")
    return _together(read)


def _together(read: Sequence[Website]) -> Website:
    best = min(read, key=_rank)
    profiles = tuple(dict.fromkeys(each.profile for each in read if each.profile))
    reason = best.reason
    if best.kind is WebsiteKind.OWN and len(read) > 1:
        reason = f"Of the {len(read)} addresses named, it is the first that is a site of its own."
    return replace(
        best,
        profile=profiles[0] if profiles else None,
        profiles=profiles,
        reason=reason,
        email=next((each.email for each in read if each.email), None),
        suggested=next((each.suggested for each in read if each.suggested), None),
    )


def _rank(website: Website) -> int:
    return next((n for n, holds in enumerate(_BEST_FIRST) if holds(website)), len(_BEST_FIRST))


def _read(part: str, rules: AddressRules) -> Website:
    if email := email_in(part):
        return _of_email(email)
    url, is_written_as_url = with_scheme(part)
    url = unwrapped(url)
    try:
        site = normalise_site(
            url,
            allowed_networks=rules.allowed_networks,
            allowed_ports=rules.allowed_ports,
            resolve=rules.resolve,
        )
    except InvalidInput as error:
        return _unusable(str(error))
    return _of_site(site, url, rules, is_sure=is_written_as_url or part.lower().startswith("www."))


def _of_email(email: str) -> Website:
    try:
        site = normalise_site(email.rpartition("@")[2])
        address = f"{email.rpartition('@')[0].lower()}@{site.host}"
    except InvalidInput as error:
        return _unusable(str(error))
    said = f"{_shown(address)} is an e-mail address, not a website"
    if is_free_mail(site.host) or publicly_registered(site.host) is None:
        return replace(_unusable(f"{said}."), email=address)
    guess = f"{said}; {site.host} may be the site, but nobody says so."
    return replace(_unusable(guess), email=address, suggested=site.host)


def _of_site(site: Site, url: str, rules: AddressRules, *, is_sure: bool) -> Website:
    host, path = site.host, urlsplit(url).path or "/"
    if profile := profile_of(url):
        return Website(
            WebsiteKind.PROFILE,
            url=without_tracking(url),
            profile=profile.url,
            reason=f"It is a profile on {profile.platform}, not a site of its own.",
        )
    if found := shared_host(host, path):
        return _OF_GROUP[found.group.kind](site, url, found)
    if rules.is_exempt(host):
        return _own(site, url)
    if path.startswith("/~"):
        said = f"{host} has pages of many people; only this page is the business's."
        return Website(WebsiteKind.SITE_BUILDER, url=without_tracking(url), reason=said)
    if parse_ip(host) is not None:
        return _unusable(f"{host} is a bare address, which belongs to nobody for long.")
    return _of_own_host(site, url, is_sure=is_sure)


def _of_own_host(site: Site, url: str, *, is_sure: bool) -> Website:
    registered = publicly_registered(site.host)
    if registered is None and not is_sure:
        return _unusable(f"{_shown(site.host)} is not the address of a website.")
    if registrable_domain(site.host) is None:
        return _unusable(f"{site.host} is what domains end in; it is nobody's site.")
    if registered == site.host and is_free_mail(site.host):
        return _unusable(f"{site.host} is a mail provider's, not a business's.")
    return _own(site, url)


def _own(site: Site, url: str) -> Website:
    return Website(WebsiteKind.OWN, url=without_tracking(url), site_key=site.key)


def _listed(kind: WebsiteKind) -> Callable[[Site, str, Found], Website]:
    def read(site: Site, url: str, found: Found) -> Website:
        said = f"{site.host} {found.group.reason}; this page is not a site of its own."
        return Website(kind, url=without_tracking(url), reason=said)

    return read


def _on_platform(site: Site, url: str, found: Found) -> Website:
    said = f"{site.host} {found.group.reason}."
    return Website(WebsiteKind.PROFILE, url=without_tracking(url), reason=said)


def _on_page_of_platform(site: Site, url: str, found: Found) -> Website:
    path = urlsplit(url).path.rstrip("/")
    profile = f"https://{site.host}{path}" if path or site.host != found.entry else None
    said = f"{site.host} {found.group.reason}; it is not a site of its own."
    return Website(WebsiteKind.PROFILE, url=without_tracking(url), profile=profile, reason=said)


def _on_builder(site: Site, url: str, found: Found) -> Website:
    """A subdomain of its own is a site like any other."""
    return _page(site, url, found) if site.host == found.entry else _own(site, url)


def _page(site: Site, url: str, found: Found) -> Website:
    said = f"{site.host} {found.group.reason}; only this page is the business's."
    return Website(WebsiteKind.SITE_BUILDER, url=without_tracking(url), reason=said)


def _short(site: Site, url: str, found: Found) -> Website:
    if not urlsplit(url).path.strip("/"):
        return _unusable(f"{site.host} makes short links, and this is none.")
    said = f"{site.host} makes short links; {found.group.reason}."
    return Website(WebsiteKind.UNUSABLE, url=url, reason=said, ask=url)


def _of_nobody(site: Site, url: str, found: Found) -> Website:
    return _unusable(f"{site.host} {found.group.reason}.")


_OF_GROUP: dict[str, Callable[[Site, str, Found], Website]] = {
    "directory": _listed(WebsiteKind.DIRECTORY),
    "marketplace": _listed(WebsiteKind.MARKETPLACE),
    "platform": _on_platform,
    "profile": _on_page_of_platform,
    "builder": _on_builder,
    "pages": _page,
    "short": _short,
    "unusable": _of_nobody,
}


def _unusable(reason: str) -> Website:
    return Website(WebsiteKind.UNUSABLE, reason=reason)


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…")
