"""The one spelling of an address, a number, a profile or a domain that somebody typed."""

from __future__ import annotations

import re

from scrapersky.errors import InvalidInput
from scrapersky.models import ContactKind, SuppressionKind
from scrapersky.scraper.contact_finder.emails import a_label, email_of
from scrapersky.scraper.contact_finder.phone_numbers import phones_in_value
from scrapersky.scraper.contact_finder.phone_regions import regions_of
from scrapersky.scraper.contact_finder.profiles import profile_of
from scrapersky.scraper.contact_finder.suffixes import registrable_domain
from scrapersky.scraper.urls import host_of, normalise_site

MAX_VALUE_CHARACTERS = 1_000
SHOWN_CHARACTERS = 80

_LOCAL_PART = re.compile(r"[a-z0-9_](?:[a-z0-9._%+'\-]{0,62}[a-z0-9_])?\Z")
_NUMBER = re.compile(r"(?:tel:)?\s*(?:\+|00)[\d\s()./\-]+\Z", re.IGNORECASE)
_SLASH = re.compile(r"\s/\s")
_AROUND = " \t\r\n<>\"'.,;:"


def contact_value(kind: ContactKind, text: str, *, site: str) -> str:
    """By the rules that pages are read by; `site` is the domain it is to belong to."""
    if kind is ContactKind.EMAIL:
        return _email_of_site(text, site)
    if kind is ContactKind.PHONE:
        return phone_number(text, regions=regions_of(None, f"https://{host_of(site)}/"))
    profile = profile_of(text)
    if profile is None:
        raise InvalidInput(f"{_shown(text)} is no profile on a platform that is known.")
    return profile.url


def _email_of_site(text: str, site: str) -> str:
    address = email_address(text)
    if email_of(address, site=host_of(site)) is None:
        raise InvalidInput(
            f"{_shown(text)} is an address nobody can be reached under: its ending does not exist, "
            "or it only stands where an owner's should be."
        )
    return address


def email_address(text: str) -> str:
    """Lower case, the domain as the DNS knows it; whether anybody reads there is not asked."""
    bare = text.strip(_AROUND)
    bare = bare[7:] if bare.lower().startswith("mailto:") else bare
    local, _, domain = bare.lower().rpartition("@")
    ascii_domain = a_label(domain)
    if ascii_domain is None or not _LOCAL_PART.match(local) or ".." in local:
        raise InvalidInput(f"{_shown(text)} is no e-mail address; write for example anna@acme.com.")
    return f"{local}@{ascii_domain}"


def phone_number(text: str, *, regions: tuple[str, ...] = ()) -> str:
    """E.164. Where no region is known the country has to be written."""
    text = text[:MAX_VALUE_CHARACTERS]
    # A slash with blanks around it may stand between two numbers, or within one.
    found = _numbers(_SLASH.sub("/", text), regions) or _numbers(text, regions)
    if len(found) == 1:
        return found.pop()
    if found:
        raise InvalidInput(f"{_shown(text)} is more than one number; give one at a time.")
    raise InvalidInput(
        f"{_shown(text)} is no phone number that can be dialled from anywhere; "
        "write it with its country, for example +49 30 901820."
    )


def _numbers(text: str, regions: tuple[str, ...]) -> set[str]:
    return {number for number, _ in phones_in_value(text, regions)}


def suppressed_domain(text: str) -> str:
    """A domain of somebody's: nobody means everything under `co.uk`."""
    host = normalise_site(text.strip().removeprefix("*").removeprefix("@")).host
    if registrable_domain(host) is None:
        raise InvalidInput(f"{_shown(text)} is no domain that anybody has.")
    return host


def suppressed_value(kind: SuppressionKind, text: str) -> str:
    if kind is SuppressionKind.EMAIL:
        return email_address(text)
    return phone_number(text) if kind is SuppressionKind.PHONE else suppressed_domain(text)


def kind_of(text: str) -> SuppressionKind:
    """As lists of addresses mean it: `@acme.com` and `*@acme.com` are everybody at that domain."""
    bare = text.strip(_AROUND)
    if "@" in bare and bare.lstrip("*")[:1] != "@":
        return SuppressionKind.EMAIL
    return SuppressionKind.PHONE if _NUMBER.match(bare) else SuppressionKind.DOMAIN


def contact_kind_of(text: str) -> ContactKind:
    """A profile's URL may hold an "@", and an address none of a platform's names."""
    if profile_of(text) is not None:
        return ContactKind.SOCIAL
    return ContactKind.EMAIL if "@" in text else ContactKind.PHONE


def is_at_site(email: str, site: str) -> bool:
    """Whether the address is at the domain that the site's owner registered."""
    own = registrable_domain(host_of(site))
    return own is not None and registrable_domain(email.rpartition("@")[2]) == own


def _shown(text: str) -> str:
    bare = text.strip()
    return f"{bare[:SHOWN_CHARACTERS]}…" if len(bare) > SHOWN_CHARACTERS else bare or "Nothing"
