"""Extract unobfuscated contacts: links, text, attributes, forms, scripts and profiles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from urllib.parse import unquote

from scrapersky.scraper.contacts.emails import is_mailto, parse_email, parse_recipients
from scrapersky.scraper.contacts.javascript_strings import unescape_script
from scrapersky.scraper.contacts.markup import extract_text, unescape_entities
from scrapersky.scraper.contacts.model import (
    ContactChannel,
    ContactSighting,
    ExtractionMethod,
    split_words,
)
from scrapersky.scraper.contacts.page import TokenizedPage, get_snippet
from scrapersky.scraper.contacts.phone_numbers import parse_phone, parse_tel_link
from scrapersky.scraper.contacts.phones import find_phones
from scrapersky.scraper.contacts.profiles import load_platforms, parse_profile
from scrapersky.scraper.contacts.structured_data import is_data_script

MAX_PHONES = 100
"""Limit per text: libphonenumber needs close to a millisecond for some numbers."""
MAX_PHONE_LINKS = 200
_PHONE_SCHEME = re.compile(r"\s*(?:tel|phone|callto|sms)", re.IGNORECASE)
_PHONE_HANDLER = re.compile(
    r"""on[cC]lick\s?=\s?(?:"[^"]{0,300}?|'[^']{0,300}?)\b(tel:[^"'<>]{5,40})"""
)
_PHONE_FIELDS = (
    "data-phone",
    "data-tel",
    "data-phone-number",
    "data-telephone",
    "data-phonenumber",
)


def read_phones(page: TokenizedPage, regions: Sequence[str]) -> Iterator[ContactSighting]:
    yield from _read_phone_links(page, regions)
    yield from _read_phone_handlers(page, regions)
    yield from _read_phone_fields(page, regions)
    phones = find_phones(page.text, regions=regions, limit=MAX_PHONES)
    if phones.capped:
        page.capped["phones"] = None
    for phone in phones.found:
        span = (phone.start, phone.end)
        yield ContactSighting(
            ContactChannel.PHONE, phone.value, phone.raw, ExtractionMethod.TEXT, span=span
        )


def _read_phone_links(page: TokenizedPage, regions: Sequence[str]) -> Iterator[ContactSighting]:
    links = [link for link in page.links if _PHONE_SCHEME.match(link[0])]
    if len(links) > MAX_PHONE_LINKS:
        page.capped["phones"] = None
    for href, place in links[:MAX_PHONE_LINKS]:
        for value, raw in parse_tel_link(href, regions):
            yield ContactSighting(ContactChannel.PHONE, value, raw, ExtractionMethod.TEL, place)


def _read_phone_handlers(page: TokenizedPage, regions: Sequence[str]) -> Iterator[ContactSighting]:
    if "tel:" not in page.lowercase_attributes or "onclick" not in page.lowercase_attributes:
        return
    for number, match in enumerate(_PHONE_HANDLER.finditer(page.attributes)):
        if number == MAX_PHONE_LINKS:
            return
        for value, raw in parse_tel_link(unescape_entities(match[1]), regions):
            yield ContactSighting(
                ContactChannel.PHONE, value, raw, ExtractionMethod.ONCLICK, match.start()
            )


def _read_phone_fields(page: TokenizedPage, regions: Sequence[str]) -> Iterator[ContactSighting]:
    """Read `<meta>` and `data-` attributes named after a phone number."""
    count = 0
    for word in ("phone", "data-tel"):
        for tag in page.find_tags(word):
            attributes = tag.attributes
            called = attributes.get("property", "") + attributes.get("name", "")
            is_meta = tag.name == "meta" and "phone" in called
            names = ("content",) if is_meta else _PHONE_FIELDS
            for written in (attributes[name] for name in names if name in attributes):
                count += 1
                value = parse_phone(written, regions=regions) if count <= MAX_PHONE_LINKS else None
                if value:
                    method = ExtractionMethod.META if is_meta else ExtractionMethod.ATTRIBUTE
                    yield ContactSighting(
                        ContactChannel.PHONE, value, written, method, page.get_position(tag.index)
                    )


MAX_AT_SIGNS = 1_500
"""Limit per text; a typical page has fewer than ten."""
MAX_RECIPIENTS = 1_000

_REST_OF_VALUE = re.compile(r"""[^"'<>]{0,300}""")
_TEXT_ATTRIBUTES = split_words(
    "title aria-label alt content label summary props email e-mail mail address recipient"
)
_TEXT_ATTRIBUTE_PREFIXES = ("data-", "onclick", "onmouse", ":", "v-", "x-", "ng-", "wire:")
"""Includes the attribute prefixes of JavaScript frameworks: Vue, Alpine, Angular and Livewire."""
_FORM_SERVICE = re.compile(
    r"""action\s?=\s?["']?\s?(?:https?:)?//[^"'\s<>]{0,60}/"""
    r"""([^"'\s<>/?#]{1,64}(?:@|%40)[^"'\s<>/?#]{3,100})"""
)
_FORM_MAILTO = re.compile(r"""action\s?=\s?["']?\s?(mailto:[^"'\s<>]{3,400})""")
_QUOTED_ADDRESS = re.compile(
    r"""(?:["'>]|mailto:|[Mm]ail: ?)([\w.+%\-]{1,64}@[\w.\-]{3,120})(?:\?[^"'\n]{0,300})?["'\\<]"""
)
_METHOD_BY_ATTRIBUTE = {
    "content": ExtractionMethod.META,
    "onclick": ExtractionMethod.ONCLICK,
    "onmouse": ExtractionMethod.ONCLICK,
}
_AT_SIGNS = ("@", "0040", "\\x40")
_SCRIPT_ESCAPE = re.compile(r"\\u00|\\x")


def read_mailto_links(page: TokenizedPage) -> Iterator[ContactSighting]:
    recipients = (
        (written, place)
        for href, place in page.links
        if href[:1] in "mMeEhH/" and "mail" in href[:20].lower() and is_mailto(href)
        for written in parse_recipients(href)
    )
    for number, (written, place) in enumerate(recipients):
        if number == MAX_RECIPIENTS:
            page.capped["recipients"] = None
            return
        if email := parse_email(written, site=page.site):
            yield ContactSighting(
                ContactChannel.EMAIL, email, written, ExtractionMethod.MAILTO, place
            )


def read_text_emails(page: TokenizedPage) -> Iterator[ContactSighting]:
    if page.text.count("@") > MAX_AT_SIGNS:
        page.capped["at_signs"] = None
    emails = list(page.find_emails(page.text, limit=MAX_AT_SIGNS))
    inside = Counter(
        email.value for email in page.find_emails(page.noscript_text, limit=MAX_AT_SIGNS)
    )
    everywhere = Counter(email.value for email in emails) if inside else inside
    for email in emails:
        only_there = 0 < everywhere[email.value] <= inside[email.value]
        method = ExtractionMethod.NOSCRIPT if only_there else ExtractionMethod.TEXT
        span = (email.start, email.end)
        yield ContactSighting(ContactChannel.EMAIL, email.value, email.raw, method, span=span)


def read_attribute_emails(page: TokenizedPage) -> Iterator[ContactSighting]:
    """Read attributes that visitors see or scripts use; URLs to load from are skipped."""
    at = -1
    for _ in range(MAX_AT_SIGNS):
        at = page.attributes.find("@", at + 1)
        if at < 0:
            return
        name, before = _parse_attribute_prefix(page.attributes[max(0, at - 300) : at])
        is_open = name.startswith(_TEXT_ATTRIBUTE_PREFIXES) or name in _TEXT_ATTRIBUTES
        if (is_open and "placeholder" not in name) or _is_form_recipient(page, name, at):
            rest = _REST_OF_VALUE.match(page.attributes, at)
            method = _METHOD_BY_ATTRIBUTE.get(name[:7], ExtractionMethod.ATTRIBUTE)
            value = extract_text(unescape_entities(before + (rest[0] if rest else "")))
            for email in page.find_emails(value, limit=20):
                yield ContactSighting(ContactChannel.EMAIL, email.value, email.raw, method, at)
    page.capped["at_signs"] = None


def _parse_attribute_prefix(written: str) -> tuple[str, str]:
    """Return the attribute that is open at the end of the text, and its value so far."""
    equals = max(written.rfind('="'), written.rfind("='"))
    value = written[equals + 2 :]
    if equals < 0 or written[equals + 1] in value or ">" in value:
        return "", ""
    name = written[:equals].rpartition(" ")[2].lower()
    return name.partition("=")[0], value  # `onclick="location='` is a string in a script


def _is_form_recipient(page: TokenizedPage, name: str, place: int) -> bool:
    """Return whether the address is the value of a hidden form field, which holds the recipient.

    Values of visible fields are only examples of an address.
    """
    if name != "value":
        return False
    return page.tag(page.get_tag_index(place)).attributes.get("type", "").lower() == "hidden"


def read_form_emails(page: TokenizedPage) -> Iterator[ContactSighting]:
    if "action" not in page.lowercase_attributes:
        return
    for match in _FORM_MAILTO.finditer(page.attributes):
        for written in parse_recipients(unescape_entities(match[1])):
            if email := parse_email(written, site=page.site):
                yield ContactSighting(
                    ContactChannel.EMAIL, email, written, ExtractionMethod.FORM, match.start()
                )
    for match in _FORM_SERVICE.finditer(page.attributes):
        if email := parse_email(unquote(match[1]), site=page.site):
            yield ContactSighting(
                ContactChannel.EMAIL, email, match[1], ExtractionMethod.FORM, match.start()
            )


def read_script_emails(page: TokenizedPage) -> Iterator[ContactSighting]:
    """Read strings, links and elements in scripts that consist of an address and nothing else.

    An address among other words in a script is usually an author's credit in a comment.
    """
    for script, place in page.scripts:
        if "json" in script.kind or not any(sign in script.text for sign in _AT_SIGNS):
            continue
        text = script.text
        text = unescape_script(text) if _SCRIPT_ESCAPE.search(text) else text
        if is_data_script(text):
            yield from _read_data_script(page, text, place)
            continue
        for match in islice(_QUOTED_ADDRESS.finditer(text), MAX_AT_SIGNS):
            if email := parse_email(match[1], site=page.site):
                snippet = match[0][:200]
                yield ContactSighting(
                    ContactChannel.EMAIL,
                    email,
                    match[1],
                    ExtractionMethod.SCRIPT,
                    place,
                    snippet=snippet,
                )


def _read_data_script(page: TokenizedPage, text: str, place: int) -> Iterator[ContactSighting]:
    """Search a script that only carries page data in the same way as text."""
    for email in page.find_emails(text, limit=MAX_AT_SIGNS):
        snippet = get_snippet(text, email.start, email.end)
        yield ContactSighting(
            ContactChannel.EMAIL,
            email.value,
            email.raw,
            ExtractionMethod.JSON,
            place,
            snippet=snippet,
        )


MAX_PROFILE_CANDIDATES = 600
_MAX_HOST_CHARACTERS = 100
_END_OF_HOST = re.compile(r"\.[a-zA-Z]{2,8}/(?=[\w@])")
_START_OF_HOST = re.compile(r"[^\s\"'<>()\[\]{}|,;]{0,100}\Z")
_URL_TOKEN = re.compile(r"[^\s\"'<>()\[\]{}|]{1,300}")
_X_HANDLE = re.compile(r"@\w{1,15}\Z")


def read_profiles(page: TokenizedPage) -> Iterator[ContactSighting]:
    yield from _read_profile_links(page)
    yield from _read_profile_text(page)
    yield from _read_profile_metadata(page)


def _read_profile_links(page: TokenizedPage) -> Iterator[ContactSighting]:
    candidates = 0
    for href, place in page.links:
        if not is_platform_url(href):
            continue
        candidates += 1
        if candidates > MAX_PROFILE_CANDIDATES:
            page.capped["profiles"] = None
            return
        yield from _build_profile_sightings(href, ExtractionMethod.LINK, place=place)


def is_platform_url(href: str) -> bool:
    """Return whether the link leads to a known platform.

    Cheap, because a page has hundreds of links.
    """
    if href[:9].lower() == "whatsapp:":
        return True
    start = href.find("//", 0, 8)
    host = href[start + 2 :] if start >= 0 else href
    return _is_platform_host(host[:100].partition("/")[0].lower())


@lru_cache(maxsize=2048)
def _is_platform_host(host: str) -> bool:
    host = host.partition(":")[0].rstrip(".")
    labels, table = host.split("."), load_platforms()
    names = [".".join(labels[place:]) for place in range(len(labels))]
    if "pinterest." in host or any(name in table.by_host for name in names):
        return True
    return not table.mastodon_hosts.isdisjoint(names)


def _read_profile_text(page: TokenizedPage) -> Iterator[ContactSighting]:
    """Read profile URLs that are written out in the text."""
    for number, match in enumerate(_END_OF_HOST.finditer(page.text)):
        if number == MAX_PROFILE_CANDIDATES:
            page.capped["profiles"] = None
            return
        before = _START_OF_HOST.search(
            page.text[max(0, match.start() - _MAX_HOST_CHARACTERS) : match.start()]
        )
        start = match.start() - len(before[0]) if before else match.start()
        token = _URL_TOKEN.match(page.text, start)
        written = token[0].rstrip(".,;:!?'*") if token else ""
        if is_platform_url(written):
            yield from _build_profile_sightings(
                written, ExtractionMethod.TEXT, span=(start, start + len(written))
            )


def _read_profile_metadata(page: TokenizedPage) -> Iterator[ContactSighting]:
    for word in ("twitter:site", "article:publisher"):
        for tag in page.find_tags(word):
            value = tag.attributes.get("content", "").strip()
            value = f"https://x.com/{value[1:]}" if _X_HANDLE.match(value) else value
            if tag.name == "meta" and is_platform_url(value):
                yield from _build_profile_sightings(
                    value, ExtractionMethod.META, place=page.get_position(tag.index)
                )


def _build_profile_sightings(
    written: str,
    method: ExtractionMethod,
    *,
    place: int | None = None,
    span: tuple[int, int] | None = None,
) -> Iterator[ContactSighting]:
    profile = parse_profile(written)
    if profile is not None:
        yield ContactSighting(ContactChannel.SOCIAL, profile.url, written, method, place, span)
