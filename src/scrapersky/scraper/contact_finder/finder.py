"""Find the contacts of a page, each once, with its best evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from scrapersky.scraper.contact_finder import phone_regions, published
from scrapersky.scraper.contact_finder.calls import read_phones
from scrapersky.scraper.contact_finder.cloaks import Uncloaked, read_at_dot, uncloaked
from scrapersky.scraper.contact_finder.evidence import contact_of
from scrapersky.scraper.contact_finder.found import (
    CONFIDENCE,
    ContactsFound,
    FoundContact,
    Kind,
    Method,
    Sighting,
    storable,
)
from scrapersky.scraper.contact_finder.mailto import is_mailto, recipients
from scrapersky.scraper.contact_finder.page import Page
from scrapersky.scraper.contact_finder.phone_places import country_of_addresses
from scrapersky.scraper.contact_finder.phones import phone_of, phones_of_tel, regions_of
from scrapersky.scraper.contact_finder.profiles import profile_of
from scrapersky.scraper.contact_finder.social import is_on_platform, read_profiles
from scrapersky.scraper.contact_finder.structured import Says, Statement, statements

MAX_CONTACTS = 500
"""A page with more is a directory, and nobody's contacts."""
MAX_STATEMENTS = 500
MAX_UNCLOAKED = 600
MAX_UNCLOAKED_CHARACTERS = 100_000
"""What sites hide is short; these are thousands of addresses."""
_EMAILS_IN_ONE = 50


def find_contacts(
    html: str, *, url: str, default_region: str | None = None, decode_obfuscated: bool = True
) -> list[FoundContact]:
    """The e-mail addresses, phone numbers and profiles that a page gives, the surest first.

    `default_region` reads national phone numbers where the page does not tell its country.
    Without `decode_obfuscated`, addresses that a site hid from programs stay hidden.
    """
    found = read_contacts(
        html, url=url, default_region=default_region, decode_obfuscated=decode_obfuscated
    )
    return list(found.contacts)


def read_contacts(
    html: str, *, url: str, default_region: str | None = None, decode_obfuscated: bool = True
) -> ContactsFound:
    """As `find_contacts`, and which limits the page met."""
    page = Page(html, url)
    said = _first_of(statements(page), MAX_STATEMENTS, page, "structured_data")
    country = next((s.value for s in said if s.says is Says.COUNTRY), None)
    is_told = country or phone_regions.is_told(page.language, url)
    named = country_of_addresses(page.text) if not is_told else None
    regions = regions_of(page.language, url, country, default_region, named_region=named)
    seen = _Sightings()
    for sighting in chain(
        _stated(said, page, regions, decode=decode_obfuscated),
        published.read_mailto_links(page),
        published.read_text(page),
        published.read_attributes(page),
        published.read_forms(page),
        published.read_scripts(page),
        _decoded(page) if decode_obfuscated else (),
        read_phones(page, regions),
        read_profiles(page),
    ):
        seen.add(sighting)
    best = [each for each in seen.best(page) if each.value == storable(each.value)]
    contacts = [contact_of(sighting, page) for sighting in best]
    return ContactsFound(tuple(contacts), tuple(page.capped))


@dataclass
class _Sightings:
    """The best sighting of each contact; a name or role from any of them."""

    _by_contact: dict[tuple[Kind, str], Sighting] = field(default_factory=dict)

    def add(self, sighting: Sighting) -> None:
        key = (sighting.kind, sighting.value)
        known = self._by_contact.get(key)
        if known is None:
            self._by_contact[key] = sighting
            return
        if _sureness(sighting) > _sureness(known):
            sighting, known = known, sighting
        self._by_contact[key] = known.with_name_of(sighting)

    def best(self, page: Page) -> Sequence[Sighting]:
        """In the order of kinds, the surest first, then as the page had them."""
        kinds = list(Kind)
        ordered = sorted(
            self._by_contact.values(), key=lambda s: (kinds.index(s.kind), -_sureness(s))
        )
        if len(ordered) > MAX_CONTACTS:
            page.capped["contacts"] = None
        return ordered[:MAX_CONTACTS]


def _sureness(sighting: Sighting) -> float:
    return CONFIDENCE[sighting.method]


def _first_of(said: Iterator[Statement], limit: int, page: Page, reason: str) -> list[Statement]:
    first = [statement for statement, _ in zip(said, range(limit), strict=False)]
    if len(first) == limit:
        page.capped[reason] = None
    return first


def _stated(
    said: list[Statement], page: Page, regions: Sequence[str], *, decode: bool
) -> Iterator[Sighting]:
    for stated in said:
        statement = _spelled_out(stated, page) if decode else stated
        for kind, value in _values_of(statement, page, regions):
            method = statement.method
            if statement.says is Says.PROFILE and method is Method.JSON_LD:
                method = Method.SAME_AS
            yield Sighting(
                kind, value, statement.value[:300], method, statement.place,
                said=statement.said, name=statement.name, role=statement.role,
            )  # fmt: skip


def _spelled_out(statement: Statement, page: Page) -> Statement:
    """`desk (at) example.org` with its signs: people write that into structured data, too."""
    if statement.says is not Says.EMAIL or "@" in statement.value:
        return statement
    addresses = [found.text for found in read_at_dot(statement.value[:500], site=page.site)]
    return replace(statement, value=" ".join(addresses)) if addresses else statement


def _values_of(
    statement: Statement, page: Page, regions: Sequence[str]
) -> Iterator[tuple[Kind, str]]:
    written = storable(statement.value)
    if statement.says is Says.EMAIL:
        text = " ".join(recipients(written)) if is_mailto(written) else written
        for email in page.emails_in(text, limit=_EMAILS_IN_ONE):
            yield Kind.EMAIL, email.value
    elif statement.says is Says.PHONE:
        for value, _ in phones_of_tel(written, regions):
            yield Kind.PHONE, value
        if ":" not in written[:12] and (phone := phone_of(written, regions=regions)):
            yield Kind.PHONE, phone
    elif statement.says is Says.PROFILE and is_on_platform(written):
        profile = profile_of(written)
        if profile is not None:
            yield Kind.SOCIAL, profile.url


def _decoded(page: Page) -> Iterator[Sighting]:
    characters = 0
    for number, found in enumerate(uncloaked(page)):
        characters += len(found.text)
        if number == MAX_UNCLOAKED or characters > MAX_UNCLOAKED_CHARACTERS:
            page.capped["decoded"] = None
            return
        yield from _emails_of(found, page)


def _emails_of(found: Uncloaked, page: Page) -> Iterator[Sighting]:
    values = [e.value for e in page.emails_in(found.text, limit=_EMAILS_IN_ONE)]
    if not values and found.method is not Method.AT_DOT:
        values = [again.text for again in read_at_dot(found.text, site=page.site)]
    for value in values:
        yield Sighting(Kind.EMAIL, value, found.raw[:300], found.method, found.place, found.span)
