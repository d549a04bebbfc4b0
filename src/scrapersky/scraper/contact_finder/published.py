"""Contacts that a page shows openly: links, text, attributes, scripts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

from scrapersky.scraper.contact_finder.cloaks.literals import unescape_script
from scrapersky.scraper.contact_finder.data_scripts import carries_data
from scrapersky.scraper.contact_finder.emails import email_of
from scrapersky.scraper.contact_finder.found import Kind, Method, Sighting
from scrapersky.scraper.contact_finder.mailto import is_mailto, recipients
from scrapersky.scraper.contact_finder.markup import text_of, unescaped
from scrapersky.scraper.contact_finder.page import Page, snippet_of
from scrapersky.scraper.contact_finder.words import words_of

MAX_AT_SIGNS = 1_500
"""In one text; an ordinary page has fewer than ten."""
MAX_RECIPIENTS = 1_000

_REST_OF_VALUE = re.compile(r"""[^"'<>]{0,300}""")
_OPEN_NAMES = words_of(
    "title aria-label alt content label summary props email e-mail mail address recipient"
)
_OPEN_PREFIXES = ("data-", "onclick", "onmouse", ":", "v-", "x-", "ng-", "wire:")
"""Also what the frameworks of pages' own programs call theirs."""
_FORM_SERVICE = re.compile(
    r"""action\s?=\s?["']?\s?(?:https?:)?//[^"'\s<>]{0,60}/"""
    r"""([^"'\s<>/?#]{1,64}(?:@|%40)[^"'\s<>/?#]{3,100})"""
)
_FORM_MAILTO = re.compile(r"""action\s?=\s?["']?\s?(mailto:[^"'\s<>]{3,400})""")
_QUOTED_ADDRESS = re.compile(
    r"""(?:["'>]|mailto:|[Mm]ail: ?)([\w.+%\-]{1,64}@[\w.\-]{3,120})(?:\?[^"'\n]{0,300})?["'\\<]"""
)
_METHODS = {"content": Method.META, "onclick": Method.ONCLICK, "onmouse": Method.ONCLICK}
_AT_SIGNS = ("@", "0040", "\\x40")
_SCRIPT_ESCAPE = re.compile(r"\\u00|\\x")


def read_mailto_links(page: Page) -> Iterator[Sighting]:
    for number, (written, place) in enumerate(_recipients(page)):
        if number == MAX_RECIPIENTS:
            page.capped["recipients"] = None
            return
        email = email_of(written, site=page.site)
        if email:
            yield Sighting(Kind.EMAIL, email, written, Method.MAILTO, place)


def _recipients(page: Page) -> Iterator[tuple[str, int]]:
    for href, place in page.links:
        if href[:1] in "mMeEhH/" and "mail" in href[:20].lower() and is_mailto(href):
            for written in recipients(href):
                yield written, place


def read_text(page: Page) -> Iterator[Sighting]:
    if page.text.count("@") > MAX_AT_SIGNS:
        page.capped["at_signs"] = None
    emails = list(page.emails_in(page.text, limit=MAX_AT_SIGNS))
    inside = Counter(
        email.value for email in page.emails_in(page.noscript_text, limit=MAX_AT_SIGNS)
    )
    everywhere = Counter(email.value for email in emails) if inside else inside
    for email in emails:
        only_there = 0 < everywhere[email.value] <= inside[email.value]
        method = Method.NOSCRIPT if only_there else Method.TEXT
        span = (email.start, email.end)
        yield Sighting(Kind.EMAIL, email.value, email.raw, method, span=span)


def read_attributes(page: Page) -> Iterator[Sighting]:
    """Values that people see or that a page's own program uses; never where it loads from."""
    at = -1
    for _ in range(MAX_AT_SIGNS):
        at = page.attributes.find("@", at + 1)
        if at < 0:
            return
        name, before = _attribute_before(page.attributes[max(0, at - 300) : at])
        is_open = name.startswith(_OPEN_PREFIXES) or name in _OPEN_NAMES
        if (is_open and "placeholder" not in name) or _is_recipient(page, name, at):
            yield from _in_attribute(page, at, before, name)
    page.capped["at_signs"] = None


def _attribute_before(written: str) -> tuple[str, str]:
    """The name of the attribute that the text ends in, and its value so far."""
    equals = max(written.rfind('="'), written.rfind("='"))
    value = written[equals + 2 :]
    if equals < 0 or written[equals + 1] in value or ">" in value:
        return "", ""
    name = written[:equals].rpartition(" ")[2].lower()
    return name.partition("=")[0], value  # `onclick="location='` is a string in a script


def _in_attribute(page: Page, at: int, before: str, name: str) -> Iterator[Sighting]:
    rest = _REST_OF_VALUE.match(page.attributes, at)
    method = _METHODS.get(name[:7], Method.ATTRIBUTE)
    value = text_of(unescaped(before + (rest[0] if rest else "")))
    for email in page.emails_in(value, limit=20):
        yield Sighting(Kind.EMAIL, email.value, email.raw, method, at)


def _is_recipient(page: Page, name: str, place: int) -> bool:
    """A hidden field's value is the form's recipient; other fields show how one would look."""
    if name != "value":
        return False
    return page.tag(page.index_of(place)).attributes.get("type", "").lower() == "hidden"


def read_forms(page: Page) -> Iterator[Sighting]:
    if "action" not in page.lowered:
        return
    for match in _FORM_MAILTO.finditer(page.attributes):
        for written in recipients(unescaped(match[1])):
            if email := email_of(written, site=page.site):
                yield Sighting(Kind.EMAIL, email, written, Method.FORM, match.start())
    for match in _FORM_SERVICE.finditer(page.attributes):
        if email := email_of(unquote(match[1]), site=page.site):
            yield Sighting(Kind.EMAIL, email, match[1], Method.FORM, match.start())


def read_scripts(page: Page) -> Iterator[Sighting]:
    """Strings, links and elements in programs that are an address and nothing else.

    Where one stands among other words, it is mostly a programmer's name in a comment.
    """
    for script, place in page.scripts:
        if "json" in script.kind or not any(sign in script.text for sign in _AT_SIGNS):
            continue
        text = script.text
        text = unescape_script(text) if _SCRIPT_ESCAPE.search(text) else text
        if carries_data(text):
            yield from _in_data(page, text, place)
            continue
        for match in islice(_QUOTED_ADDRESS.finditer(text), MAX_AT_SIGNS):
            if email := email_of(match[1], site=page.site):
                said = match[0][:200]
                yield Sighting(Kind.EMAIL, email, match[1], Method.SCRIPT, place, said=said)


def _in_data(page: Page, text: str, place: int) -> Iterator[Sighting]:
    """A program that only carries the page's data is searched as a text is."""
    for email in page.emails_in(text, limit=MAX_AT_SIGNS):
        said = snippet_of(text, email.start, email.end)
        yield Sighting(Kind.EMAIL, email.value, email.raw, Method.JSON, place, said=said)
