"""Find the e-mail addresses, phone numbers and social profiles of a page.

Each contact is returned once, with its best evidence:

    for contact in find_contacts(html, url="https://example.com/contact", default_region="US"):
        print(contact.kind, contact.value, contact.method, contact.snippet)

`read_contacts` also reports which limits the page hit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from scrapersky.scraper.contacts import emails, extractors, phone_regions
from scrapersky.scraper.contacts.encodings import read_at_dot
from scrapersky.scraper.contacts.extractors import is_platform_url, read_phones, read_profiles
from scrapersky.scraper.contacts.model import (
    MAX_SNIPPET_CHARACTERS,
    OWN_DOMAIN_BONUS,
    PLACEHOLDER_DOMAIN_CONFIDENCE,
    ContactChannel,
    ContactSearchResult,
    ContactSighting,
    ContactStatement,
    ExtractionMethod,
    FoundContact,
    StatementKind,
    strip_unstorable,
)
from scrapersky.scraper.contacts.obfuscation import read_obfuscated
from scrapersky.scraper.contacts.page import TokenizedPage, get_snippet
from scrapersky.scraper.contacts.phone_numbers import parse_phone, parse_tel_link
from scrapersky.scraper.contacts.phone_regions import find_address_country, guess_regions
from scrapersky.scraper.contacts.profiles import parse_profile
from scrapersky.scraper.contacts.structured_data import read_structured_data
from scrapersky.scraper.html.charset import decode_page


def build_contact(sighting: ContactSighting, page: TokenizedPage) -> FoundContact:
    is_email = sighting.kind is ContactChannel.EMAIL
    domain = sighting.value.rpartition("@")[2] if is_email else ""
    same_site = (
        (page.site is not None and emails.is_same_or_subdomain(domain, page.site))
        if is_email
        else None
    )
    return FoundContact(
        kind=sighting.kind,
        value=sighting.value,
        raw=strip_unstorable(sighting.raw),
        method=sighting.method,
        snippet=strip_unstorable(_build_snippet(sighting, page)),
        confidence=_score_confidence(sighting, domain, same_site=bool(same_site)),
        name=strip_unstorable(sighting.name or "") or None,
        role=strip_unstorable(sighting.role or "") or None,
        is_role_address=is_email and emails.is_role_address(sighting.value),
        same_site=same_site,
    )


def _build_snippet(sighting: ContactSighting, page: TokenizedPage) -> str:
    if sighting.snippet:
        return sighting.snippet[:MAX_SNIPPET_CHARACTERS]
    if sighting.span is not None:
        return get_snippet(page.text, *sighting.span)
    return page.get_surrounding_text(sighting.place) if sighting.place is not None else ""


def _score_confidence(sighting: ContactSighting, domain: str, *, same_site: bool) -> float:
    if domain and emails.is_example_domain(domain) and not same_site:
        return PLACEHOLDER_DOMAIN_CONFIDENCE
    bonus = OWN_DOMAIN_BONUS if same_site else 0.0
    return round(sighting.method.confidence + bonus, 2)


MAX_CONTACTS = 500
"""A page with more is a directory rather than a contact page."""
MAX_STATEMENTS = 500
MAX_DECODED_TEXTS = 600
MAX_DECODED_CHARACTERS = 100_000
"""Obfuscated addresses are short; this is enough for thousands of them."""
_MAX_EMAILS_PER_VALUE = 50


def find_contacts(
    html: str | bytes,
    *,
    url: str,
    default_region: str | None = None,
    decode_obfuscated: bool = True,
) -> list[FoundContact]:
    """Return the e-mail addresses, phone numbers and profiles of a page.

        for contact in find_contacts(html, url="https://example.com/contact"):
            print(contact.kind, contact.value, contact.snippet)

    Bytes are decoded by their byte order mark, `meta` or content. Contacts are grouped by kind,
    highest confidence first. `default_region` is used for national phone numbers when the page does
    not reveal its country. With `decode_obfuscated=False`, addresses that the site hides from bots
    are not decoded.
    """
    contacts = read_contacts(
        html, url=url, default_region=default_region, decode_obfuscated=decode_obfuscated
    )
    return list(contacts.contacts)


def read_contacts(
    html: str | bytes,
    *,
    url: str,
    default_region: str | None = None,
    decode_obfuscated: bool = True,
) -> ContactSearchResult:
    """Return the contacts as `find_contacts` does, with the limits the page hit."""
    text = html if isinstance(html, str) else decode_page(html).text
    page = TokenizedPage(text, url)
    statements = list(islice(read_structured_data(page), MAX_STATEMENTS))
    if len(statements) == MAX_STATEMENTS:
        page.capped["structured_data"] = None
    country = next((s.value for s in statements if s.says is StatementKind.COUNTRY), None)
    is_told = country or phone_regions.has_country_hint(page.language, url)
    named = find_address_country(page.text) if not is_told else None
    regions = guess_regions(page.language, url, country, default_region, named_region=named)
    sightings = _SightingSet()
    for sighting in chain(
        _read_statements(statements, page, regions, decode=decode_obfuscated),
        extractors.read_mailto_links(page),
        extractors.read_text_emails(page),
        extractors.read_attribute_emails(page),
        extractors.read_form_emails(page),
        extractors.read_script_emails(page),
        _read_obfuscated_emails(page) if decode_obfuscated else (),
        read_phones(page, regions),
        read_profiles(page),
    ):
        sightings.add(sighting)
    best = [each for each in sightings.best(page) if each.value == strip_unstorable(each.value)]
    contacts = [build_contact(sighting, page) for sighting in best]
    return ContactSearchResult(tuple(contacts), tuple(page.capped))


@dataclass
class _SightingSet:
    """The best sighting of each contact, with a name or role from any of its sightings."""

    _by_contact: dict[tuple[ContactChannel, str], ContactSighting] = field(default_factory=dict)

    def add(self, sighting: ContactSighting) -> None:
        key = (sighting.kind, sighting.value)
        known = self._by_contact.get(key)
        if known is None:
            self._by_contact[key] = sighting
            return
        if sighting.method.confidence > known.method.confidence:
            sighting, known = known, sighting
        self._by_contact[key] = known.merge_person(sighting)

    def best(self, page: TokenizedPage) -> Sequence[ContactSighting]:
        """Return the best sightings by kind, then by confidence, then in page order."""
        kinds = list(ContactChannel)
        ordered = sorted(
            self._by_contact.values(), key=lambda s: (kinds.index(s.kind), -s.method.confidence)
        )
        if len(ordered) > MAX_CONTACTS:
            page.capped["contacts"] = None
        return ordered[:MAX_CONTACTS]


def _read_statements(
    statements: list[ContactStatement], page: TokenizedPage, regions: Sequence[str], *, decode: bool
) -> Iterator[ContactSighting]:
    for stated in statements:
        statement = _decode_at_dot(stated, page) if decode else stated
        for kind, value in _parse_statement(statement, page, regions):
            method = statement.method
            if statement.says is StatementKind.PROFILE and method is ExtractionMethod.JSON_LD:
                method = ExtractionMethod.SAME_AS
            yield ContactSighting(
                kind, value, statement.value[:300], method, statement.place,
                snippet=statement.snippet, name=statement.name, role=statement.role,
            )  # fmt: skip


def _decode_at_dot(statement: ContactStatement, page: TokenizedPage) -> ContactStatement:
    """Decode `desk (at) example.org`, which also occurs in structured data."""
    if statement.says is not StatementKind.EMAIL or "@" in statement.value:
        return statement
    addresses = [decoded.text for decoded in read_at_dot(statement.value[:500], site=page.site)]
    return replace(statement, value=" ".join(addresses)) if addresses else statement


def _parse_statement(
    statement: ContactStatement, page: TokenizedPage, regions: Sequence[str]
) -> Iterator[tuple[ContactChannel, str]]:
    written = strip_unstorable(statement.value)
    if statement.says is StatementKind.EMAIL:
        text = " ".join(emails.parse_recipients(written)) if emails.is_mailto(written) else written
        for email in page.find_emails(text, limit=_MAX_EMAILS_PER_VALUE):
            yield ContactChannel.EMAIL, email.value
    elif statement.says is StatementKind.PHONE:
        for value, _ in parse_tel_link(written, regions):
            yield ContactChannel.PHONE, value
        if ":" not in written[:12] and (phone := parse_phone(written, regions=regions)):
            yield ContactChannel.PHONE, phone
    elif statement.says is StatementKind.PROFILE and is_platform_url(written):
        profile = parse_profile(written)
        if profile is not None:
            yield ContactChannel.SOCIAL, profile.url


def _read_obfuscated_emails(page: TokenizedPage) -> Iterator[ContactSighting]:
    characters = 0
    for number, decoded in enumerate(read_obfuscated(page)):
        characters += len(decoded.text)
        if number == MAX_DECODED_TEXTS or characters > MAX_DECODED_CHARACTERS:
            page.capped["decoded"] = None
            return
        values = [e.value for e in page.find_emails(decoded.text, limit=_MAX_EMAILS_PER_VALUE)]
        if not values and decoded.method is not ExtractionMethod.AT_DOT:
            values = [again.text for again in read_at_dot(decoded.text, site=page.site)]
        for value in values:
            yield ContactSighting(
                ContactChannel.EMAIL,
                value,
                decoded.raw[:300],
                decoded.method,
                decoded.place,
                decoded.span,
            )
