"""Extract facts from places and sites, and merge those of all sightings into a business.

Precedence: imported lists come first for what their owner knows best (name, phone, website,
e-mail), then Google, then OpenStreetMap, then the site. For coordinates, categories, ratings,
prices, hours and business status providers come first. Within one provider the newest sighting
wins; sightings that are gone or have moved come last. An address is taken as a whole from one
sighting, the most complete first. `facts_from` records the source of each fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import func, null

from scrapersky.models import Domain, Place
from scrapersky.models.businesses import BusinessSighting, LocalBusiness, WebsiteKind
from scrapersky.models.places import Provider
from scrapersky.scraper.matching.model import BusinessDescription
from scrapersky.scraper.matching.names import build_name_key
from scrapersky.scraper.providers.geography import get_cell
from scrapersky.scraper.providers.values import parse_provider_phone
from scrapersky.scraper.site.website import classify_website

Facts = dict[str, Any]
"""Facts by column name of the business. Unknown facts are absent."""

ADDRESS_FIELDS = ("street", "house_number", "postal_code", "city", "region", "country")
_PLACE_COLUMNS = {
    "business_name": "name",
    "address": "formatted_address",
    "latitude": "latitude",
    "longitude": "longitude",
    "phone": "phone",
    "phone_raw": "phone_raw",
    "website_url": "website_url",
    "rating": "rating",
    "reviews_count": "user_ratings_total",
    "price_level": "price_level",
    "hours": "hours",
    "business_status": "business_status",
}


def build_place_facts(place: Place) -> Facts:
    """Return a place's facts, including profiles, e-mail and phone found in its website field."""
    facts = {name: getattr(place, column) for name, column in _PLACE_COLUMNS.items()}
    facts |= {name: place.address_parts.get(name) for name in ADDRESS_FIELDS}
    facts["categories"] = _get_categories(place)
    website = classify_website(place.website_url)
    facts["site_key"] = website.site_key
    facts["profiles"] = list(dict.fromkeys((*place.profiles, *website.profiles)))
    facts["emails"] = list(dict.fromkeys(filter(None, (*place.emails, website.email))))
    if website.phone and not facts["phone"]:
        facts["phone"], facts["phone_raw"] = _parse_phone(website.phone, facts["country"])
    facts["is_past"] = True if place.gone_at is not None or place.moved_to else None
    facts["address"] = facts["address"] or _format_address(facts)
    return _drop_empty(facts)


def build_site_facts(domain: Domain) -> Facts:
    """Return the facts that the home page's structured data states."""
    stated: Mapping[str, Any] = domain.meta_json.get("organisation") or {}
    address: Mapping[str, Any] = stated.get("address") or {}
    return _drop_empty(
        {
            "business_name": stated.get("name"),
            "address": stated.get("address_text"),
            "street": address.get("street"),
            "postal_code": address.get("postal_code"),
            "city": address.get("locality"),
            "region": address.get("region"),
            "country": _parse_country_code(address.get("country")),
            "latitude": stated.get("latitude"),
            "longitude": stated.get("longitude"),
            "phone": stated.get("telephone_e164"),
            "phone_raw": stated.get("telephone"),
            "site_key": domain.domain,
        }
    )


def _parse_phone(written: str, country: str | None) -> tuple[str | None, str | None]:
    """Parse a phone number given in the website field, used when the phone field is empty."""
    return parse_provider_phone([written], country, [])


def get_site_key(website: str | None) -> str | None:
    """Return the domain when the website is the business's own site."""
    return classify_website(website).site_key if website else None


def describe_sighting(sighting: BusinessSighting) -> BusinessDescription:
    return describe_facts(sighting.facts, sighting.provider, sighting.source_key)


def describe_facts(
    facts: Mapping[str, Any], provider: str = "", key: str | None = None
) -> BusinessDescription:
    return BusinessDescription(
        name=facts.get("business_name"),
        street=facts.get("street"),
        house_number=facts.get("house_number"),
        postal_code=facts.get("postal_code"),
        city=facts.get("city"),
        country=facts.get("country"),
        latitude=facts.get("latitude"),
        longitude=facts.get("longitude"),
        phone=facts.get("phone"),
        site_key=facts.get("site_key"),
        categories=tuple(facts.get("categories") or ()),
        provider=provider,
        place_id=key,
    )


def describe_business(business: LocalBusiness) -> BusinessDescription:
    """Describe a business by its merged facts."""
    columns = ("business_name", "latitude", "longitude", "phone", "site_key", "categories")
    return describe_facts({name: getattr(business, name) for name in (*columns, *ADDRESS_FIELDS)})


def _get_categories(place: Place) -> list[str]:
    return list(dict.fromkeys(filter(None, (place.category, *place.types))))


def _parse_country_code(country: object) -> str | None:
    text = str(country or "").strip()
    return text.upper() if len(text) == 2 else None


def _format_address(facts: Mapping[str, Any]) -> str:
    """Join the address parts, for sources without a formatted address."""
    street = " ".join(filter(None, (facts["street"], facts["house_number"])))
    town = " ".join(filter(None, (facts["postal_code"], facts["city"])))
    return ", ".join(filter(None, (street, town, facts["country"])))


def _drop_empty(facts: Mapping[str, Any]) -> Facts:
    nothing: tuple[Any, ...] = (None, "", [], {})
    return {name: value for name, value in facts.items() if value not in nothing}


GOOGLE, OSM, CSV, SITE = Provider.GOOGLE, Provider.OSM, Provider.CSV, Provider.SITE
PERSON_FIRST = (CSV, GOOGLE, OSM, SITE)
PROVIDER_FIRST = (GOOGLE, OSM, CSV, SITE)
SOURCE_PRECEDENCE: tuple[tuple[tuple[str, ...], tuple[Provider, ...]], ...] = (
    (("business_name",), PERSON_FIRST),
    (("phone", "phone_raw"), PERSON_FIRST),
    (("website_url",), PERSON_FIRST),
    (("latitude", "longitude"), PROVIDER_FIRST),
    (("categories",), PROVIDER_FIRST),
    (("rating", "reviews_count"), PROVIDER_FIRST),
    (("price_level",), PROVIDER_FIRST),
    (("hours",), PROVIDER_FIRST),
    (("business_status",), PROVIDER_FIRST),
)
"""Facts that are taken together from one source, with the order of sources."""
UNITED_LIST_FACTS = ("emails", "profiles")
"""List facts that are united over all sources."""


def write_facts(business: LocalBusiness, sightings: Sequence[BusinessSighting]) -> set[str]:
    """Write the merged facts and return the columns that changed. Curation and stage status are
    untouched.
    """
    facts: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for names, order in SOURCE_PRECEDENCE:
        _take_first(facts, sources, names, rank_sightings(sightings, order))
    _take_first(facts, sources, ("address", *ADDRESS_FIELDS), _sort_by_completeness(sightings))
    for name in UNITED_LIST_FACTS:
        _collect_all(facts, sources, name, rank_sightings(sightings, PERSON_FIRST))
    _derive_keys(facts)
    if business.website_url == facts["website_url"]:
        _keep_profiles(business, facts)
    changed = {name for name, value in facts.items() if getattr(business, name) != value}
    for name in changed:
        # In a JSON column a plain None would be stored as JSON `null`.
        setattr(business, name, null() if facts[name] is None else facts[name])
    if business.facts_from != sources:
        business.facts_from = sources
    _reset_website(business, changed)
    business.refreshed_at = func.now()
    return changed


def rank_sightings(
    sightings: Iterable[BusinessSighting], order: Sequence[str]
) -> list[BusinessSighting]:
    newest = sorted(sightings, key=lambda each: (each.last_seen_at, each.id), reverse=True)
    return sorted(
        newest, key=lambda each: (bool(each.facts.get("is_past")), order.index(each.provider))
    )


def _take_first(
    facts: dict[str, Any],
    sources: dict[str, str],
    names: Sequence[str],
    sightings: Sequence[BusinessSighting],
) -> None:
    """Take all these facts from the first sighting that has the first of them."""
    source = next((each for each in sightings if names[0] in each.facts), None)
    for name in names:
        value = source.facts.get(name) if source else None
        facts[name] = value if value is not None or name != "categories" else []
        if source is not None and value is not None:
            sources[name] = source.provider


def _sort_by_completeness(sightings: Sequence[BusinessSighting]) -> list[BusinessSighting]:
    """Sort addresses: with a street first, then with a town, then text only."""
    order = rank_sightings(sightings, PROVIDER_FIRST)

    def missing(each: BusinessSighting) -> int:
        return sum(name not in each.facts for name in ("street", "city"))

    return sorted((each for each in order if "address" in each.facts), key=missing)


def _collect_all(
    facts: dict[str, Any], sources: dict[str, str], name: str, order: Sequence[BusinessSighting]
) -> None:
    with_value = [each for each in order if each.facts.get(name)]
    facts[name] = list(dict.fromkeys(value for each in with_value for value in each.facts[name]))
    if with_value:
        sources[name] = with_value[0].provider


def _derive_keys(facts: dict[str, Any]) -> None:
    facts["name_key"] = build_name_key(facts["business_name"]) if facts["business_name"] else None
    known = facts["latitude"] is not None and facts["longitude"] is not None
    facts["cell"] = get_cell(facts["latitude"], facts["longitude"]) if known else None


def _keep_profiles(business: LocalBusiness, facts: dict[str, Any]) -> None:
    """Keep the profile that a short link resolved to: no sighting contains it."""
    if business.website_kind == WebsiteKind.PROFILE:
        facts["profiles"] = list(dict.fromkeys((*facts["profiles"], *business.profiles)))


def _reset_website(business: LocalBusiness, changed: set[str]) -> None:
    """Clear what was determined for the former website. The domain stays until the new one is
    resolved.
    """
    if "website_url" not in changed:
        return
    website = business.website_url if isinstance(business.website_url, str) else None
    business.site_key = get_site_key(website)
    business.website_kind = business.website_note = None
