"""Normalise typed e-mail addresses, phone numbers, profiles and domains."""

from __future__ import annotations

import re

from scrapersky.errors import InvalidInput
from scrapersky.models import ContactKind, SuppressionKind
from scrapersky.scraper.contacts.emails import parse_email, to_a_label
from scrapersky.scraper.contacts.phone_numbers import parse_phones
from scrapersky.scraper.contacts.phone_regions import guess_regions
from scrapersky.scraper.contacts.profiles import parse_profile
from scrapersky.scraper.http.urls import get_host, get_registrable_domain, normalise_site

MAX_VALUE_CHARACTERS = 1_000
MAX_SHOWN_CHARACTERS = 80

_LOCAL_PART = re.compile(r"[a-z0-9_](?:[a-z0-9._%+'\-]{0,62}[a-z0-9_])?\Z")
_NUMBER = re.compile(r"(?:tel:)?\s*(?:\+|00)[\d\s()./\-]+\Z", re.IGNORECASE)
_SLASH = re.compile(r"\s/\s")
_STRIPPED_CHARACTERS = " \t\r\n<>\"'.,;:"


def parse_contact_value(kind: ContactKind, text: str, *, site: str) -> str:
    """Normalise a value by the rules of extraction. `site` is the domain that it belongs to."""
    if kind is ContactKind.EMAIL:
        return _parse_site_email(text, site)
    if kind is ContactKind.PHONE:
        return parse_contact_phone(text, regions=guess_regions(None, f"https://{get_host(site)}/"))
    profile = parse_profile(text)
    if profile is None:
        raise InvalidInput(f"{_shorten(text)} is not a profile on a supported platform.")
    return profile.url


def _parse_site_email(text: str, site: str) -> str:
    address = parse_contact_email(text)
    if parse_email(address, site=get_host(site)) is None:
        raise InvalidInput(
            f"{_shorten(text)} cannot receive mail: its top-level domain does not exist or it is a "
            "placeholder."
        )
    return address


def parse_contact_email(text: str) -> str:
    """Return the address in lower case with an ASCII domain. Deliverability is not checked."""
    bare = text.strip(_STRIPPED_CHARACTERS)
    bare = bare[7:] if bare.lower().startswith("mailto:") else bare
    local, _, domain = bare.lower().rpartition("@")
    ascii_domain = to_a_label(domain)
    if ascii_domain is None or not _LOCAL_PART.match(local) or ".." in local:
        raise InvalidInput(
            f"{_shorten(text)} is not an e-mail address. Use a form like anna@acme.com."
        )
    return f"{local}@{ascii_domain}"


def parse_contact_phone(text: str, *, regions: tuple[str, ...] = ()) -> str:
    """Return the number in E.164 format. Without regions it must include its country code."""
    text = text[:MAX_VALUE_CHARACTERS]
    # A slash between spaces may separate two numbers or be part of one.
    numbers = _find_numbers(_SLASH.sub("/", text), regions) or _find_numbers(text, regions)
    if len(numbers) == 1:
        return numbers.pop()
    if numbers:
        raise InvalidInput(f"{_shorten(text)} contains more than one number. Enter one at a time.")
    raise InvalidInput(
        f"{_shorten(text)} is not an international phone number. "
        "Include the country code, for example +49 30 901820."
    )


def _find_numbers(text: str, regions: tuple[str, ...]) -> set[str]:
    return {number for number, _ in parse_phones(text, regions)}


def parse_suppressed_domain(text: str) -> str:
    """Return the host. Raise `InvalidInput` for a public suffix such as `co.uk`."""
    host = normalise_site(text.strip().removeprefix("*").removeprefix("@")).host
    if get_registrable_domain(host) is None:
        raise InvalidInput(f"{_shorten(text)} is not a registrable domain.")
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
    """Guess the kind as mailing lists mean it: `@acme.com` and `*@acme.com` are a whole domain."""
    bare = text.strip(_STRIPPED_CHARACTERS)
    if "@" in bare and bare.lstrip("*")[:1] != "@":
        return SuppressionKind.EMAIL
    return SuppressionKind.PHONE if _NUMBER.match(bare) else SuppressionKind.DOMAIN


def guess_contact_kind(text: str) -> ContactKind:
    """Guess the kind. Profiles come first, because a profile URL may contain an "@"."""
    if parse_profile(text) is not None:
        return ContactKind.SOCIAL
    return ContactKind.EMAIL if "@" in text else ContactKind.PHONE


def is_at_site(email: str, site: str) -> bool:
    """Return whether the address is at the registrable domain of the site."""
    own = get_registrable_domain(get_host(site))
    return own is not None and get_registrable_domain(email.rpartition("@")[2]) == own


def _shorten(text: str) -> str:
    bare = text.strip()
    return (
        f"{bare[:MAX_SHOWN_CHARACTERS]}…" if len(bare) > MAX_SHOWN_CHARACTERS else bare or "Nothing"
    )
