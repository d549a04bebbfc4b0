"""What somebody says of a business, as it is kept with the sighting and compared with others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scrapersky.models import Domain, Place
from scrapersky.models.businesses import BusinessSighting, LocalBusiness
from scrapersky.scraper.matching import Described
from scrapersky.scraper.providers.telephones import read_phone
from scrapersky.scraper.websites import read_website

Facts = dict[str, Any]
"""What was said, by the name of the business's column; nothing of what was not."""

ADDRESS = ("street", "house_number", "postal_code", "city", "region", "country")
_OF_PLACE = {
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


def facts_of_place(place: Place) -> Facts:
    """Profiles and addresses that stand in the field for the website are the business's, too."""
    said = {name: getattr(place, column) for name, column in _OF_PLACE.items()}
    said |= {name: place.address_parts.get(name) for name in ADDRESS}
    said["categories"] = _categories(place)
    website = read_website(place.website_url)
    said["site_key"] = website.site_key
    said["profiles"] = list(dict.fromkeys((*place.profiles, *website.profiles)))
    said["emails"] = list(dict.fromkeys(filter(None, (*place.emails, website.email))))
    if website.phone and not said["phone"]:
        said["phone"], said["phone_raw"] = _number(website.phone, said["country"])
    said["is_past"] = True if place.gone_at is not None or place.moved_to else None
    said["address"] = said["address"] or _line(said)
    return _told(said)


def facts_of_site(domain: Domain) -> Facts:
    """As the structured data of its home page states it."""
    stated: Mapping[str, Any] = domain.meta_json.get("organisation") or {}
    address: Mapping[str, Any] = stated.get("address") or {}
    return _told(
        {
            "business_name": stated.get("name"),
            "address": stated.get("address_text"),
            "street": address.get("street"),
            "postal_code": address.get("postal_code"),
            "city": address.get("locality"),
            "region": address.get("region"),
            "country": _two_letters(address.get("country")),
            "latitude": stated.get("latitude"),
            "longitude": stated.get("longitude"),
            "phone": stated.get("telephone_e164"),
            "phone_raw": stated.get("telephone"),
            "site_key": domain.domain,
        }
    )


def _number(written: str, country: str | None) -> tuple[str | None, str | None]:
    """One that stood in the field for the website, where there was none in its own."""
    return read_phone([written], country, [])


def site_key_of(website: str | None) -> str | None:
    """The domain, where the website is one of its own."""
    return read_website(website).site_key if website else None


def described(sighting: BusinessSighting) -> Described:
    return describe(sighting.facts, sighting.provider, sighting.source_key)


def describe(facts: Mapping[str, Any], provider: str = "", key: str | None = None) -> Described:
    return Described(
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


def describe_business(business: LocalBusiness) -> Described:
    """As all that is known of it together."""
    columns = ("business_name", "latitude", "longitude", "phone", "site_key", "categories")
    return describe({name: getattr(business, name) for name in (*columns, *ADDRESS)})


def _categories(place: Place) -> list[str]:
    return list(dict.fromkeys(filter(None, (place.category, *place.types))))


def _two_letters(country: object) -> str | None:
    text = str(country or "").strip()
    return text.upper() if len(text) == 2 else None


def _line(facts: Mapping[str, Any]) -> str:
    """Of the parts, where nobody gave the whole."""
    street = " ".join(filter(None, (facts["street"], facts["house_number"])))
    town = " ".join(filter(None, (facts["postal_code"], facts["city"])))
    return ", ".join(filter(None, (street, town, facts["country"])))


def _told(said: Mapping[str, Any]) -> Facts:
    nothing: tuple[Any, ...] = (None, "", [], {})
    return {name: value for name, value in said.items() if value not in nothing}
