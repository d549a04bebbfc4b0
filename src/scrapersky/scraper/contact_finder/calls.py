"""Offer a page's links, fields and text to the reader of phone numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from scrapersky.scraper.contact_finder.found import Kind, Method, Sighting
from scrapersky.scraper.contact_finder.markup import unescaped
from scrapersky.scraper.contact_finder.page import Page
from scrapersky.scraper.contact_finder.phones import find_phones, phone_of, phones_of_tel

MAX_PHONES = 100
"""Numbers read in one text: the library behind needs most of a millisecond for some of them."""
MAX_CALL_LINKS = 200
_CALL = re.compile(r"\s*(?:tel|phone|callto|sms)", re.IGNORECASE)
_HANDLER = re.compile(r"""on[cC]lick\s?=\s?(?:"[^"]{0,300}?|'[^']{0,300}?)\b(tel:[^"'<>]{5,40})""")
_FIELDS = ("data-phone", "data-tel", "data-phone-number", "data-telephone", "data-phonenumber")


def read_phones(page: Page, regions: Sequence[str]) -> Iterator[Sighting]:
    yield from _read_links(page, regions)
    yield from _read_handlers(page, regions)
    yield from _read_fields(page, regions)
    found = find_phones(page.text, regions=regions, limit=MAX_PHONES)
    if found.capped:
        page.capped["phones"] = None
    for phone in found.found:
        span = (phone.start, phone.end)
        yield Sighting(Kind.PHONE, phone.value, phone.raw, Method.TEXT, span=span)


def _read_links(page: Page, regions: Sequence[str]) -> Iterator[Sighting]:
    links = [link for link in page.links if _CALL.match(link[0])]
    if len(links) > MAX_CALL_LINKS:
        page.capped["phones"] = None
    for href, place in links[:MAX_CALL_LINKS]:
        for value, raw in phones_of_tel(href, regions):
            yield Sighting(Kind.PHONE, value, raw, Method.TEL, place)


def _read_handlers(page: Page, regions: Sequence[str]) -> Iterator[Sighting]:
    if "tel:" not in page.lowered or "onclick" not in page.lowered:
        return
    for number, match in enumerate(_HANDLER.finditer(page.attributes)):
        if number == MAX_CALL_LINKS:
            return
        for value, raw in phones_of_tel(unescaped(match[1]), regions):
            yield Sighting(Kind.PHONE, value, raw, Method.ONCLICK, match.start())


def _read_fields(page: Page, regions: Sequence[str]) -> Iterator[Sighting]:
    """`<meta>` and `data-` attributes that are called a phone number."""
    seen = 0
    for word in ("phone", "data-tel"):
        for tag in page.tags_saying(word):
            attributes = tag.attributes
            called = attributes.get("property", "") + attributes.get("name", "")
            is_meta = tag.name == "meta" and "phone" in called
            names = ("content",) if is_meta else _FIELDS
            for written in (attributes[name] for name in names if name in attributes):
                seen += 1
                value = phone_of(written, regions=regions) if seen <= MAX_CALL_LINKS else None
                if value:
                    method = Method.META if is_meta else Method.ATTRIBUTE
                    yield Sighting(Kind.PHONE, value, written, method, page.place_of(tag.index))
