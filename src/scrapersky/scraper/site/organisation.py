"""Extract the organisation, favicon and logo from a home page."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any

from selectolax.lexbor import LexborNode

from scrapersky.scraper.html.document import Document, clean_value, collect_node_ids, get_attribute
from scrapersky.scraper.html.facts import JsonObject, get_types
from scrapersky.scraper.html.model import PageFacts
from scrapersky.scraper.site.model import Organisation, SiteAddress

MAX_VALUES = 50
_OTHER_PARTY_PROPERTIES = (
    *("review", "itemReviewed", "author", "creator", "performer", "organizer", "sponsor", "funder"),
    *("brand", "manufacturer", "seller", "offers", "parentOrganization", "memberOf", "member"),
    *("affiliation", "worksFor", "hiringOrganization"),
)
"""Properties whose organisation is not the owner of the site."""


def find_organisation(document: Document, nodes: list[JsonObject]) -> Organisation | None:
    """Return the organisation with the most properties; None if the page names none."""
    by_id = {node["@id"]: node for node in reversed(nodes) if isinstance(node.get("@id"), str)}
    others = {
        id(other)
        for node in nodes
        for key in _OTHER_PARTY_PROPERTIES
        for other in _to_list(node.get(key))
    }
    candidates = [
        _parse_organisation(node, document, by_id)
        for node in nodes
        if _load_types().intersection(get_types(node)) and id(node) not in others
    ]
    named = [each for each in candidates if each.name or each.legal_name]
    return max(named, key=_count_fields, default=None)


@cache
def _load_types() -> frozenset[str]:
    """Load schema.org's Organization and all types below it."""
    lines = files(__package__).joinpath("organisation_types.txt").read_text("utf-8").splitlines()
    return frozenset(" ".join(line for line in lines if not line.startswith("#")).split())


def _count_fields(organisation: Organisation) -> int:
    return sum(1 for each in fields(organisation) if getattr(organisation, each.name))


def _parse_organisation(
    node: JsonObject, document: Document, by_id: dict[str, JsonObject]
) -> Organisation:
    location = _resolve_object(node.get("location"), by_id)
    geo = _resolve_object(node.get("geo") or location.get("geo"), by_id)
    address = node.get("address") or location.get("address")
    contact = _resolve_object(node.get("contactPoint"), by_id)
    same_as = (_get_url(each, document) for each in _to_list(node.get("sameAs")))
    return Organisation(
        types=get_types(node),
        name=_get_text(node.get("name")),
        legal_name=_get_text(node.get("legalName")),
        address=_parse_address(address, by_id),
        telephone=_get_text(node.get("telephone")) or _get_text(contact.get("telephone")),
        email=_get_text(node.get("email")) or _get_text(contact.get("email")),
        opening_hours=_parse_opening_hours(node),
        latitude=_parse_number(geo.get("latitude"), 90),
        longitude=_parse_number(geo.get("longitude"), 180),
        same_as=tuple(dict.fromkeys(filter(None, same_as))),
        url=_get_url(node.get("url"), document),
        logo=_get_image_url(node.get("logo"), document, by_id),
    )


def _to_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value[:MAX_VALUES] if isinstance(value, list) else [value]


def _resolve_object(value: Any, by_id: dict[str, JsonObject]) -> JsonObject:
    """Return the object, or the one in the page that its `@id` refers to."""
    first = next((each for each in _to_list(value) if isinstance(each, dict)), {})
    reference = first.get("@id")
    if len(first) == 1 and isinstance(reference, str):
        return by_id.get(reference, first)
    return first


def _get_text(value: Any) -> str | None:
    """Return the first text; a text with a language tag is an object with `@value`."""
    for each in _to_list(value):
        if isinstance(each, dict):
            each = each.get("@value") or each.get("name")
        if text := clean_value(each, limit=300):
            return text
    return None


def _parse_number(value: Any, most: float) -> float | None:
    try:
        number = float(str(value)[:40].replace(",", "."))
    except ValueError:
        return None
    return number if -most <= number <= most else None


def _parse_address(value: Any, by_id: dict[str, JsonObject]) -> SiteAddress | None:
    postal = _resolve_object(value, by_id)
    if not postal:
        street = _get_text(value)
        return SiteAddress(street=street) if street else None
    address = SiteAddress(
        street=_get_text(postal.get("streetAddress")),
        postal_code=_get_text(postal.get("postalCode")) or _parse_code(postal.get("postalCode")),
        locality=_get_text(postal.get("addressLocality")),
        region=_get_text(postal.get("addressRegion")),
        country=_get_text(postal.get("addressCountry")),
    )
    return address if address != SiteAddress() else None


def _parse_code(value: Any) -> str | None:
    """Convert a postal code that is given as a number."""
    return str(value) if type(value) is int and 0 < value < 10**9 else None


def _parse_opening_hours(node: JsonObject) -> tuple[str, ...]:
    hours = [_get_text(each) for each in _to_list(node.get("openingHours"))]
    hours += [_format_hours(each) for each in _to_list(node.get("openingHoursSpecification"))]
    return tuple(dict.fromkeys(filter(None, hours)))


def _format_hours(hours: Any) -> str | None:
    """Format opening hours as `Monday, Tuesday 09:00-18:00`, in the page's wording."""
    if not isinstance(hours, dict):
        return None
    names = (_get_text(day) for day in _to_list(hours.get("dayOfWeek")))
    days = ", ".join(name.rstrip("/").rpartition("/")[2] for name in names if name)
    opens, closes = _get_text(hours.get("opens")), _get_text(hours.get("closes"))
    times = f"{opens}-{closes}" if opens and closes else None
    return " ".join(filter(None, (days, times))) if times else None


def _get_url(value: Any, document: Document) -> str | None:
    text = _get_text(value)
    return document.absolute(text) if text else None


def _get_image_url(value: Any, document: Document, by_id: dict[str, JsonObject]) -> str | None:
    image = _resolve_object(value, by_id)
    return _get_url((image.get("contentUrl") or image.get("url")) if image else value, document)


MAX_LOGO_CANDIDATES = 60
"""The logo is among the first images; later ones may be logos of partners."""
MAX_ANCESTORS = 4

_HEADER_ELEMENTS = "header, nav, [role=banner], [id*=header i], [class*=header i]"
_ICON_RELS = ("icon", "apple-touch-icon", "apple-touch-icon-precomposed")
_FOREIGN_LOGO_WORDS = frozenset(
    ("partner", "sponsor", "client", "payment", "customer", "footer", "badge", "kunden")
)
_SOURCE_ATTRIBUTES = ("src", "data-src", "data-lazy-src", "data-original")


def find_favicon(document: Document) -> str | None:
    """Return the favicon the page declares; an undeclared `/favicon.ico` may not exist."""
    links = [
        (get_attribute(node, "rel").lower().split(), get_attribute(node, "href"))
        for node in document.tree.css("link[rel][href]")
    ]
    for icon in _ICON_RELS:
        for words, href in links:
            if icon in words and (url := document.absolute(href)):
                return url
    return None


def find_logo(
    document: Document, facts: PageFacts, organisation: Organisation | None
) -> str | None:
    """Return the logo from structured data, else an image named so, else from Open Graph."""
    if organisation is not None and organisation.logo:
        return organisation.logo
    if picture := _find_logo_image(document):
        return picture
    shared = facts.open_graph.image
    return shared if shared and "logo" in shared.rpartition("/")[2].lower() else None


def _find_logo_image(document: Document) -> str | None:
    header = collect_node_ids(document.tree, _HEADER_ELEMENTS)
    pictures = document.tree.css("img")
    in_header = [node for node in pictures if node.mem_id in header]
    for node in (*in_header[:MAX_LOGO_CANDIDATES], *pictures[:MAX_LOGO_CANDIDATES]):
        if _is_logo(node) and (url := _get_source(document, node)):
            return url
    return None


def _is_logo(node: LexborNode) -> bool:
    own = _get_naming(node) + get_attribute(node, "alt").lower() + _get_file_names(node)
    around, parent = "", node.parent
    for _ in range(MAX_ANCESTORS):
        if parent is None or parent.tag == "body":
            break
        around += _get_naming(parent)
        parent = parent.parent
    if any(word in own + around for word in _FOREIGN_LOGO_WORDS):
        return False
    return "logo" in own or "logo" in around


def _get_naming(node: LexborNode) -> str:
    return f"{get_attribute(node, 'class')} {get_attribute(node, 'id')} ".lower()


def _get_file_names(node: LexborNode) -> str:
    names = (get_attribute(node, name)[-200:] for name in _SOURCE_ATTRIBUTES)
    return " ".join(name.rpartition("/")[2].lower() for name in names)


def _get_source(document: Document, node: LexborNode) -> str | None:
    for name in _SOURCE_ATTRIBUTES:
        value = get_attribute(node, name)
        if value and not value.startswith("data:") and (url := document.absolute(value)):
            return url
    return None
