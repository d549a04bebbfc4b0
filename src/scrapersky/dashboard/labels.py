"""Describe providers, searches, prices, opening hours and extraction methods in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from scrapersky.dashboard.formats import EMPTY_VALUE

MAX_DAYS = 14
PRICE_LABELS = ("free", "inexpensive", "moderate", "expensive", "very expensive")
MATCH_REASONS = {
    "first": "It was the first to tell us of it",
    "place_id": "Known by the provider's own id",
    "moved": "The provider says that it moved",
    "domain": "Taken for it by the same website",
    "phone": "Taken for it by the same phone number",
    "name_and_distance": "Taken for it by its name and where it lies",
    "person": "A person said so",
}


def describe_match(by: str) -> str:
    """Why a sighting is taken for a business."""
    return MATCH_REASONS.get(by, f"Taken for it by {by.replace('_', ' ')}")


def describe_price(level: int | None) -> str | None:
    return PRICE_LABELS[level] if level is not None and 0 <= level < len(PRICE_LABELS) else None


def format_hours(hours: Mapping[str, Any] | None) -> Sequence[str]:
    """A line a day where there are days, else as it was written."""
    if not hours:
        return ()
    if hours.get("always_open"):
        return ("always open",)
    days = hours.get("days")
    if isinstance(days, list) and days:
        return [str(each) for each in days[:MAX_DAYS]]
    written = hours.get("osm")
    return (written,) if isinstance(written, str) else ()


MARK = Markup("<mark>{}</mark>")
BIDI_ISOLATE = Markup("<bdi>{}</bdi>")
MAX_CONTEXT_LENGTH = 300
"""Characters shown before and after what was found."""
MIN_DIGITS = 6
"""Fewer are found everywhere."""
DIGIT_SEPARATORS = r"[\s().\-/]*"

EXTRACTION_METHODS = {
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


def describe_extraction_method(method: str) -> str:
    return EXTRACTION_METHODS.get(method, method.replace("_", " "))


def highlight_snippet(snippet: str | None, *found: str | None) -> Markup:
    """The snippet with what was found marked in it, whichever of its spellings is there."""
    if not snippet:
        return EMPTY_VALUE
    pattern = _build_pattern([each for each in found if each])
    first = pattern.search(snippet) if pattern else None
    text, before, after = _cut_window(snippet, first)
    pieces = Markup("").join(_iter_pieces(text, pattern))
    return BIDI_ISOLATE.format(Markup("{}{}{}").format(before, pieces, after))


def _cut_window(snippet: str, first: re.Match[str] | None) -> tuple[str, str, str]:
    """Of a very long one the part around what was found, with what tells of the rest."""
    place = first.start() if first else 0
    start = max(place - MAX_CONTEXT_LENGTH, 0)
    end = (first.end() if first else place) + MAX_CONTEXT_LENGTH
    return snippet[start:end], "…" if start else "", "…" if end < len(snippet) else ""


def _build_pattern(found: list[str]) -> re.Pattern[str] | None:
    spellings = [re.escape(each[:500]) for each in sorted(set(found), key=len, reverse=True)]
    spellings += filter(None, map(_build_digit_pattern, found))
    return re.compile("|".join(spellings), re.IGNORECASE) if spellings else None


def _build_digit_pattern(text: str) -> str:
    """A number as people write it, with blanks and strokes between its digits."""
    if "@" in text or re.search(r"[A-Za-z]", text):
        return ""
    digits = re.sub(r"\D", "", text)[-20:]
    return DIGIT_SEPARATORS.join(digits) if len(digits) >= MIN_DIGITS else ""


def _iter_pieces(text: str, pattern: re.Pattern[str] | None) -> Iterator[Markup]:
    end = 0
    for match in pattern.finditer(text) if pattern else ():
        yield escape(text[end : match.start()])
        yield MARK.format(match[0])
        end = match.end()
    yield escape(text[end:])


BILLED_METHODS = {"SearchText": "Searches", "GetPlace": "Details of places"}
PROVIDER_LABELS = {
    "google": "Google",
    "osm": "OpenStreetMap",
    "csv": "a list of your own",
    "site": "the site itself",
}


def describe_sku(sku: str) -> str:
    """`text_search.enterprise` → `Text search, enterprise`."""
    return sku.replace("_", " ").replace(".", ", ").capitalize()


def describe_billed_method(method: str) -> str:
    return BILLED_METHODS.get(method, method)


def get_provider_label(provider: str | None) -> str:
    return PROVIDER_LABELS.get(provider or "", provider or "")


SearchParams = Mapping[str, Any]
PRESENCE_LABELS = {True: "only with one", False: "only without one"}
OPEN_LABELS = {True: "only those that are", False: "only those that closed"}


def describe_search(params: SearchParams) -> str:
    """`bakery in Leipzig`."""
    return f"{params.get('business_type') or 'places'} {describe_area(params)}".strip()


def describe_area(params: SearchParams) -> str:
    radius = params.get("radius_km")
    within = f"within {radius:g} km of " if radius else ""
    if location := params.get("location"):
        return f"{within}{location}" if within else f"in {location}"
    if at := params.get("center"):
        return f"{within or 'at '}{at['latitude']:.4g}, {at['longitude']:.4g}"
    if area := params.get("area"):
        return (
            f"between {area['south']:.4g}, {area['west']:.4g} "
            f"and {area['north']:.4g}, {area['east']:.4g}"
        )
    return ""


def is_named_area(params: SearchParams) -> bool:
    """Whether OpenStreetMap said where it lies."""
    return bool(params.get("location") and not params.get("center") and not params.get("area"))


def list_search_facts(params: SearchParams) -> dict[str, str]:
    """Everything else that was asked, for a list of facts."""
    filters = params.get("filters") or {}
    said = {
        "What": params.get("business_type"),
        "Where": describe_area(params),
        "Provider": get_provider_label(params.get("provider")),
        "At most": _format_limit(params.get("max_results"), "places"),
        "Website": _describe_presence(filters.get("has_website")),
        "Phone": _describe_presence(filters.get("has_phone")),
        "Rating": _describe_minimum(filters.get("min_rating")),
        "In business": _describe_open(filters.get("open")),
        "Language": params.get("language"),
        "Region": params.get("region"),
        "Goes on": None if params.get("go_on", True) else "no: the places wait to be selected",
    }
    return {name: str(value) for name, value in said.items() if value}


def _format_limit(value: Any, noun: str) -> str | None:
    return f"{value:,} {noun}" if isinstance(value, int) else None


def _describe_presence(value: Any) -> str | None:
    return PRESENCE_LABELS.get(value) if isinstance(value, bool) else None


def _describe_open(value: Any) -> str | None:
    return OPEN_LABELS.get(value) if isinstance(value, bool) else None


def _describe_minimum(value: Any) -> str | None:
    return f"{value:g} or better" if isinstance(value, int | float) else None
