"""How evidence reads: the found value marked where it stands, and the way it was found in words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

from scrapersky.dashboard.wording import NOTHING

MARK = Markup("<mark>{}</mark>")
TURNED_SAFE = Markup("<bdi>{}</bdi>")
AROUND = 300
"""Characters shown before and after what was found."""
FEWEST_DIGITS = 6
"""Fewer are found everywhere."""
BETWEEN_DIGITS = r"[\s().\-/]*"

METHODS = {
    "mailto": "a link that opens a mail to it",
    "tel": "a link that calls it",
    "link": "a link to the profile",
    "same_as": "structured data that names the profile as the site's own",
    "json_ld": "structured data (JSON-LD)",
    "microdata": "structured data (microdata)",
    "rdfa": "structured data (RDFa)",
    "hcard": "a business card in the page (hCard)",
    "vcard": "a business card to download (vCard)",
    "meta": "the page's header",
    "text": "the text people read",
    "noscript": "the text for browsers without scripts",
    "onclick": "what a click would open",
    "form": "where a form is sent to",
    "attribute": "an attribute of an element",
    "json": "data that the page brings along",
    "script": "a script's text",
    "cloudflare": "undone: Cloudflare's hiding of addresses",
    "typo3": "undone: TYPO3's hiding of addresses",
    "joomla": "undone: Joomla's hiding of addresses",
    "spamspan": "undone: SpamSpan's hiding of addresses",
    "wordpress_encoder": "undone: a WordPress plugin's hiding of addresses",
    "cryptx": "undone: CryptX's hiding of addresses",
    "enkoder": "undone: Enkoder's hiding of addresses",
    "javascript": "undone: an address put together by a script",
    "split_attributes": "undone: an address split over attributes",
    "base64": "undone: an address in Base64",
    "rot13": "undone: an address in ROT13",
    "reversed": "undone: an address written backwards",
    "at_dot": "undone: an address written with “at” and “dot”",
    "entities": "undone: an address written in character codes",
    "manual": "added by a person",
}


def method_in_words(method: str) -> str:
    return METHODS.get(method, method.replace("_", " "))


def highlighted(snippet: str | None, *found: str | None) -> Markup:
    """The snippet with what was found marked in it, whichever of its spellings is there."""
    if not snippet:
        return NOTHING
    pattern = _pattern([each for each in found if each])
    first = pattern.search(snippet) if pattern else None
    text, before, after = _window(snippet, first)
    pieces = Markup("").join(_pieces(text, pattern))
    return TURNED_SAFE.format(Markup("{}{}{}").format(before, pieces, after))


def _window(snippet: str, first: re.Match[str] | None) -> tuple[str, str, str]:
    """Of a very long one the part around what was found, with what tells of the rest."""
    place = first.start() if first else 0
    start = max(place - AROUND, 0)
    end = (first.end() if first else place) + AROUND
    return snippet[start:end], "…" if start else "", "…" if end < len(snippet) else ""


def _pattern(found: list[str]) -> re.Pattern[str] | None:
    spellings = [re.escape(each[:500]) for each in sorted(set(found), key=len, reverse=True)]
    spellings += filter(None, map(_digits, found))
    return re.compile("|".join(spellings), re.IGNORECASE) if spellings else None


def _digits(text: str) -> str:
    """A number as people write it, with blanks and strokes between its digits."""
    if "@" in text or re.search(r"[A-Za-z]", text):
        return ""
    digits = re.sub(r"\D", "", text)[-20:]
    return BETWEEN_DIGITS.join(digits) if len(digits) >= FEWEST_DIGITS else ""


def _pieces(text: str, pattern: re.Pattern[str] | None) -> Iterator[Markup]:
    end = 0
    for match in pattern.finditer(text) if pattern else ():
        yield escape(text[end : match.start()])
        yield MARK.format(match[0])
        end = match.end()
    yield escape(text[end:])
