"""What is known of a business, made anew from all its sightings.

Who is believed: a person's own list first in what the person knows best (name, number, website,
e-mail addresses), then whoever is asked for the latest (Google), then OpenStreetMap, then the site.
Ratings, hours, prices and whether it is open are Google's before anybody's. Of one provider's
sightings the newest counts; one that the provider gave up (gone, moved away) counts after all the
others. An address is taken from one of them as a whole, the most complete first. `facts_from` says
whose each fact is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import func, null

from scrapersky.entities.describing import ADDRESS, site_key_of
from scrapersky.models.businesses import BusinessSighting, LocalBusiness, WebsiteKind
from scrapersky.models.places import Provider
from scrapersky.scraper.matching import name_key
from scrapersky.scraper.providers.geography import cell_of

GOOGLE, OSM, CSV, SITE = Provider.GOOGLE, Provider.OSM, Provider.CSV, Provider.SITE
PERSON_FIRST = (CSV, GOOGLE, OSM, SITE)
PROVIDER_FIRST = (GOOGLE, OSM, CSV, SITE)
BELIEVED: tuple[tuple[tuple[str, ...], tuple[Provider, ...]], ...] = (
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
"""Facts that come together, and whom we believe them of in this order."""
TOGETHER = ("emails", "profiles")
"""Of these everybody's are kept."""


def write_facts(business: LocalBusiness, sightings: Sequence[BusinessSighting]) -> set[str]:
    """The columns that changed. What people decided and how far its stage is are not touched."""
    said: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for names, order in BELIEVED:
        _take(said, sources, names, ranked(sightings, order))
    _take(said, sources, ("address", *ADDRESS), _by_completeness(sightings))
    for name in TOGETHER:
        _gather(said, sources, name, ranked(sightings, PERSON_FIRST))
    _derive(said)
    if business.website_url == said["website_url"]:
        _keep_profiles(business, said)
    changed = {name for name, value in said.items() if getattr(business, name) != value}
    for name in changed:
        # In a column of documents a plain None would be the document `null`.
        setattr(business, name, null() if said[name] is None else said[name])
    if business.facts_from != sources:
        business.facts_from = sources
    _follow_website(business, changed)
    business.refreshed_at = func.now()
    return changed


def ranked(sightings: Iterable[BusinessSighting], order: Sequence[str]) -> list[BusinessSighting]:
    newest = sorted(sightings, key=lambda each: (each.last_seen_at, each.id), reverse=True)
    return sorted(
        newest, key=lambda each: (bool(each.facts.get("is_past")), order.index(each.provider))
    )


def _take(
    said: dict[str, Any],
    sources: dict[str, str],
    names: Sequence[str],
    believed: Sequence[BusinessSighting],
) -> None:
    """All of them from the first who knows the first of them."""
    teller = next((each for each in believed if names[0] in each.facts), None)
    for name in names:
        value = teller.facts.get(name) if teller else None
        said[name] = value if value is not None or name != "categories" else []
        if teller is not None and value is not None:
            sources[name] = teller.provider


def _by_completeness(sightings: Sequence[BusinessSighting]) -> list[BusinessSighting]:
    """Those with a street, then those with a town, then those with a line of text only."""
    order = ranked(sightings, PROVIDER_FIRST)

    def missing(each: BusinessSighting) -> int:
        return sum(name not in each.facts for name in ("street", "city"))

    return sorted((each for each in order if "address" in each.facts), key=missing)


def _gather(
    said: dict[str, Any], sources: dict[str, str], name: str, order: Sequence[BusinessSighting]
) -> None:
    tellers = [each for each in order if each.facts.get(name)]
    said[name] = list(dict.fromkeys(value for each in tellers for value in each.facts[name]))
    if tellers:
        sources[name] = tellers[0].provider


def _derive(said: dict[str, Any]) -> None:
    said["name_key"] = name_key(said["business_name"]) if said["business_name"] else None
    known = said["latitude"] is not None and said["longitude"] is not None
    said["cell"] = cell_of(said["latitude"], said["longitude"]) if known else None


def _keep_profiles(business: LocalBusiness, said: dict[str, Any]) -> None:
    """Where a short link led to a profile, only the one who followed it knows."""
    if business.website_kind == WebsiteKind.PROFILE:
        said["profiles"] = list(dict.fromkeys((*said["profiles"], *business.profiles)))


def _follow_website(business: LocalBusiness, changed: set[str]) -> None:
    """What was found out about the former website does not hold for another one. The domain it led
    to stays until the new one was looked at."""
    if "website_url" not in changed:
        return
    website = business.website_url if isinstance(business.website_url, str) else None
    business.site_key = site_key_of(website)
    business.website_kind = business.website_note = None
