"""Normalise typed e-mail addresses, phone numbers, profiles and domains."""

from __future__ import annotations

import re

from scrapersky.errors import InvalidInput
from scrapersky.models import ContactKind, SuppressionKind
from scrapersky.scraper.contacts.emails import parse_email, to_a_label
from scrapersky.scraper.contacts.phone_numbers import parse_phones
from scrapersky.scraper.contacts.phone_regions import guess_regions
from scrapersky.scraper.contacts.profiles import parse_profile
from scrapersky.scraper.http.public_suffixes import get_registrable_domain
from scrapersky.scraper.http.urls import get_host, normalise_site

MAX_VALUE_CHARACTERS = 1_000
MAX_SHOWN_CHARACTERS = 80

_LOCAL_PART = re.compile(r"[a-z0-9_](?:[a-z0-9._%+'\-]{0,62}[a-z0-9_])?\Z")
_NUMBER = re.compile(r"(?:tel:)?\s*(?:\+|00)[\d\s()./\-]+\Z", re.IGNORECASE)
_SLASH = re.compile(r"\s/\s")
_STRIPPED_CHARACTERS = " \t\r\n<>\"'.,;:"


def parse_contact_value(kind: ContactKind, text: str, *, site: str) -> str:
    """By the rules that pages are read by; `site` is the domain it is to belong to."""
    if kind is ContactKind.EMAIL:
        return _parse_site_email(text, site)
    if kind is ContactKind.PHONE:
        return parse_contact_phone(text, regions=guess_regions(None, f"https://{get_host(site)}/"))
    profile = parse_profile(text)
    if profile is None:
        raise InvalidInput(f"{_shorten(text)} is no profile on a platform that is known.")
    return profile.url


def _parse_site_email(text: str, site: str) -> str:
    address = parse_contact_email(text)
    if parse_email(address, site=get_host(site)) is None:
        raise InvalidInput(
            f"{_shorten(text)} is an address nobody can be reached under: its ending does not exist, "
            "or it only stands where an owner's should be."
        )
    return address


def parse_contact_email(text: str) -> str:
    """Lower case, the domain as the DNS knows it; whether anybody reads there is not asked."""
    bare = text.strip(_STRIPPED_CHARACTERS)
    bare = bare[7:] if bare.lower().startswith("mailto:") else bare
    local, _, domain = bare.lower().rpartition("@")
    ascii_domain = to_a_label(domain)
    if ascii_domain is None or not _LOCAL_PART.match(local) or ".." in local:
        raise InvalidInput(
            f"{_shorten(text)} is no e-mail address; write for example anna@acme.com."
        )
    return f"{local}@{ascii_domain}"


def parse_contact_phone(text: str, *, regions: tuple[str, ...] = ()) -> str:
    """E.164. Where no region is known the country has to be written."""
    text = text[:MAX_VALUE_CHARACTERS]
    # A slash with blanks around it may stand between two numbers, or within one.
    found = _find_numbers(_SLASH.sub("/", text), regions) or _find_numbers(text, regions)
    if len(found) == 1:
        return found.pop()
    if found:
        raise InvalidInput(f"{_shorten(text)} is more than one number; give one at a time.")
    raise InvalidInput(
        f"{_shorten(text)} is no phone number that can be dialled from anywhere; "
        "write it with its country, for example +49 30 901820."
    )


def _find_numbers(text: str, regions: tuple[str, ...]) -> set[str]:
    return {number for number, _ in parse_phones(text, regions)}


def parse_suppressed_domain(text: str) -> str:
    """A domain of somebody's: nobody means everything under `co.uk`."""
    host = normalise_site(text.strip().removeprefix("*").removeprefix("@")).host
    if get_registrable_domain(host) is None:
        raise InvalidInput(f"{_shorten(text)} is no domain that anybody has.")
    return host


def parse_suppressed_value(kind: SuppressionKind, text: str) -> str:
    if kind is SuppressionKind.EMAIL:
        return parse_contact_email(text)
    return (
        parse_contact_phone(text)
        if kind is SuppressionKind.PHONE
        else parse_suppressed_domain(text)
    )


def guess_suppression_kind(text: str) -> SuppressionKind:
    """As lists of addresses mean it: `@acme.com` and `*@acme.com` are everybody at that domain."""
    bare = text.strip(_STRIPPED_CHARACTERS)
    if "@" in bare and bare.lstrip("*")[:1] != "@":
        return SuppressionKind.EMAIL
    return SuppressionKind.PHONE if _NUMBER.match(bare) else SuppressionKind.DOMAIN


def guess_contact_kind(text: str) -> ContactKind:
    """A profile's URL may hold an "@", and an address none of a platform's names."""
    if parse_profile(text) is not None:
        return ContactKind.SOCIAL
    return ContactKind.EMAIL if "@" in text else ContactKind.PHONE


def is_at_site(email: str, site: str) -> bool:
    """Whether the address is at the domain that the site's owner registered."""
    own = get_registrable_domain(get_host(site))
    return own is not None and get_registrable_domain(email.rpartition("@")[2]) == own


def _shorten(text: str) -> str:
    bare = text.strip()
    return (
        f"{bare[:MAX_SHOWN_CHARACTERS]}…" if len(bare) > MAX_SHOWN_CHARACTERS else bare or "Nothing"
    )
