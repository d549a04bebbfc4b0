"""Labels for providers, searches, prices, opening hours and extraction methods."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from scrapersky.dashboard.formats import EMPTY_VALUE

MAX_DAYS = 14
PRICE_LABELS = ("free", "inexpensive", "moderate", "expensive", "very expensive")
MATCH_REASONS = {
    "first": "First source of this business",
    "place_id": "Matched by provider id",
    "moved": "Reported as moved by the provider",
    "domain": "Matched by website",
    "phone": "Matched by phone number",
    "name_and_distance": "Matched by name and distance",
    "person": "Matched by a user",
}


def describe_match(by: str) -> str:
    """Describe why a sighting was matched to a business."""
    return MATCH_REASONS.get(by, f"Matched by {by.replace('_', ' ')}")


def describe_price(level: int | None) -> str | None:
    return PRICE_LABELS[level] if level is not None and 0 <= level < len(PRICE_LABELS) else None


def format_hours(hours: Mapping[str, Any] | None) -> Sequence[str]:
    """Return one line per day, or the original text if it has no days."""
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
"""Characters shown before and after the match."""
MIN_DIGITS = 6
"""Shorter digit sequences match by chance."""
DIGIT_SEPARATORS = r"[\s().\-/]*"

EXTRACTION_METHODS = {
    "mailto": "mailto link",
    "tel": "phone link",
    "link": "profile link",
    "same_as": "structured data (sameAs)",
    "json_ld": "structured data (JSON-LD)",
    "microdata": "structured data (microdata)",
    "rdfa": "structured data (RDFa)",
    "hcard": "hCard",
    "vcard": "vCard",
    "meta": "meta tag",
    "text": "visible text",
    "noscript": "noscript text",
    "onclick": "click handler",
    "form": "form action",
    "attribute": "HTML attribute",
    "json": "embedded JSON",
    "script": "a script's text",
    "cloudflare": "decoded (Cloudflare)",
    "typo3": "decoded (TYPO3)",
    "joomla": "decoded (Joomla)",
    "spamspan": "decoded (SpamSpan)",
    "wordpress_encoder": "decoded (WordPress plugin)",
    "cryptx": "decoded (CryptX)",
    "enkoder": "decoded (Enkoder)",
    "javascript": "decoded (JavaScript)",
    "split_attributes": "decoded (split attributes)",
    "base64": "decoded (Base64)",
    "rot13": "decoded (ROT13)",
    "reversed": "decoded (reversed)",
    "at_dot": "decoded (“at” and “dot”)",
    "entities": "decoded (character codes)",
    "manual": "added manually",
}


def describe_extraction_method(method: str) -> str:
    return EXTRACTION_METHODS.get(method, method.replace("_", " "))


def highlight_snippet(snippet: str | None, *term: str | None) -> Markup:
    """Mark the match in the snippet, in whichever spelling occurs."""
    if not snippet:
        return EMPTY_VALUE
    pattern = _build_pattern([each for each in term if each])
    first = pattern.search(snippet) if pattern else None
    text, before, after = _cut_window(snippet, first)
    pieces = Markup("").join(_iter_pieces(text, pattern))
    return BIDI_ISOLATE.format(Markup("{}{}{}").format(before, pieces, after))


def _cut_window(snippet: str, first: re.Match[str] | None) -> tuple[str, str, str]:
    """Cut a long snippet to the part around the match, with ellipses."""
    place = first.start() if first else 0
    start = max(place - MAX_CONTEXT_LENGTH, 0)
    end = (first.end() if first else place) + MAX_CONTEXT_LENGTH
    return snippet[start:end], "…" if start else "", "…" if end < len(snippet) else ""


def _build_pattern(words: list[str]) -> re.Pattern[str] | None:
    spellings = [re.escape(each[:500]) for each in sorted(set(words), key=len, reverse=True)]
    spellings += filter(None, map(_build_digit_pattern, words))
    return re.compile("|".join(spellings), re.IGNORECASE) if spellings else None


def _build_digit_pattern(text: str) -> str:
    """Build a pattern for a phone number with separators between its digits."""
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


BILLED_METHODS = {"SearchText": "Searches", "GetPlace": "Place details"}
PROVIDER_LABELS = {
    "google": "Google",
    "osm": "OpenStreetMap",
    "csv": "your list",
    "site": "the website",
}


def describe_sku(sku: str) -> str:
    """`text_search.enterprise` → `Text search, enterprise`."""
    return sku.replace("_", " ").replace(".", ", ").capitalize()


def describe_billed_method(method: str) -> str:
    return BILLED_METHODS.get(method, method)


def get_provider_label(provider: str | None) -> str:
    return PROVIDER_LABELS.get(provider or "", provider or "")


SearchParams = Mapping[str, Any]
PRESENCE_LABELS = {True: "required", False: "none"}
OPEN_LABELS = {True: "open only", False: "closed only"}


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
    """Return whether the area came from OpenStreetMap's geocoder."""
    return bool(params.get("location") and not params.get("center") and not params.get("area"))


def list_search_facts(params: SearchParams) -> dict[str, str]:
    """Return the query of a search as labels and values."""
    filters = params.get("filters") or {}
    facts = {
        "Business type": params.get("business_type"),
        "Area": describe_area(params),
        "Provider": get_provider_label(params.get("provider")),
        "Maximum results": _format_limit(params.get("max_results"), "places"),
        "Website": _describe_presence(filters.get("has_website")),
        "Phone": _describe_presence(filters.get("has_phone")),
        "Rating": _describe_minimum(filters.get("min_rating")),
        "In business": _describe_open(filters.get("open")),
        "Language": params.get("language"),
        "Region": params.get("region"),
        "Continue to contacts": None
        if params.get("go_on", True)
        else "off; places wait to be selected",
    }
    return {name: str(value) for name, value in facts.items() if value}


def _format_limit(value: Any, noun: str) -> str | None:
    return f"{value:,} {noun}" if isinstance(value, int) else None


def _describe_presence(value: Any) -> str | None:
    return PRESENCE_LABELS.get(value) if isinstance(value, bool) else None


def _describe_open(value: Any) -> str | None:
    return OPEN_LABELS.get(value) if isinstance(value, bool) else None


def _describe_minimum(value: Any) -> str | None:
    return f"{value:g} or better" if isinstance(value, int | float) else None
