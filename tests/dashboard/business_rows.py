"""A bakery known from two providers, with its site, and a possible duplicate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import (
    BusinessSighting,
    Contact,
    Job,
    Lead,
    LocalBusiness,
    MergeCandidate,
    Place,
    SearchPlace,
)
from tests.contacts.rows import a_contact, a_domain, a_file, a_page, a_sighting, store
from tests.stage_cases import OWNED

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(2)>\u202e'
LONG = HOSTILE + "W" * 5_000
TENANT = {"tenant_id": OWNED["tenant_id"]}
PARAMS = {"business_type": "bakery", "location": "Leipzig", "provider": "google"}


@dataclass(frozen=True)
class Known:
    place: UUID
    osm_place: UUID
    business: UUID
    double: UUID
    candidate: UUID
    search: UUID
    domain: UUID
    contact: UUID
    lead: UUID
    sighting: UUID
    """OpenStreetMap's, which can be split off."""

    def paths(self) -> tuple[str, ...]:
        """Of the pages that are about these rows."""
        return (
            f"/places/{self.place}",
            f"/places/{self.osm_place}",
            f"/local-businesses/{self.business}",
            f"/merge-review?id={self.candidate}",
            f"/contacts/{self.contact}",
        )


def a_place(name: str | None, provider: str = "google", **more: Any) -> Place:
    return Place(id=uuid7(), name=name, provider=provider, place_id=uuid7().hex, **OWNED, **more)


def a_business(name: str | None, **more: Any) -> LocalBusiness:
    return LocalBusiness(id=uuid7(), business_name=name, **OWNED, **more)


def a_search(**more: Any) -> Job:
    known = {"job_type": "place_search", "subject": "bakery in leipzig", "status": "complete"}
    return Job(id=uuid7(), **{**OWNED, **known, "params": PARAMS, **more})


def found_by(search: Job, place: Place, **more: Any) -> SearchPlace:
    known = {"position": 1, "sighted": "new", **more}
    return SearchPlace(search_id=search.id, place_id=place.id, **TENANT, **known)


def told_by(place: Place, business: LocalBusiness, **more: Any) -> BusinessSighting:
    known = {"matched_by": "first", "why": "No similar business existed.", "facts": {}}
    return BusinessSighting(
        id=uuid7(),
        business_id=business.id,
        provider=place.provider,
        source_key=place.place_id,
        place_id=place.id,
        **TENANT,
        **{**known, **more},
    )


def may_be_one(one: LocalBusiness, other: LocalBusiness, **more: Any) -> MergeCandidate:
    left, right = sorted((one.id, other.id))
    known = {"score": 0.72, "reasons": ["The names are alike.", "They lie 40 m apart."]}
    return MergeCandidate(id=uuid7(), left_id=left, right_id=right, **TENANT, **{**known, **more})


BERGER: dict[str, Any] = {
    "address": "Karl-Heine-Straße 12, 04229 Leipzig",
    "street": "Karl-Heine-Straße",
    "house_number": "12",
    "postal_code": "04229",
    "city": "Leipzig",
    "country": "DE",
    "latitude": 51.3326,
    "longitude": 12.3331,
    "phone": "+493414801234",
    "phone_raw": "0341 480 12 34",
    "website_url": "https://www.berger-leipzig.de/",
    "website_kind": "own",
    "site_key": "berger-leipzig.de",
    "categories": ["bakery", "cafe"],
    "rating": 4.6,
    "reviews_count": 213,
    "price_level": 1,
    "business_status": "operational",
    "hours": {"always_open": False, "days": ["Monday: 06:00-18:00", "Sunday: closed"]},
    "emails": ["info@berger-leipzig.de"],
    "profiles": ["https://www.instagram.com/bergerleipzig"],
    "domain_extraction_status": "Completed",
    "facts_from": {"business_name": "google", "phone": "google", "emails": "osm"},
}
OTHER: dict[str, Any] = {
    "address": "Karl-Heine-Str. 14, 04229 Leipzig",
    "postal_code": "04229",
    "city": "Leipzig",
    "latitude": 51.3328,
    "longitude": 12.3336,
    "phone": "+493414809999",
    "categories": ["bakery"],
    "facts_from": {"business_name": "osm", "phone": "osm"},
}


async def bakery_and_double(database: Database) -> Known:
    """Everything from the search to the contact, and a pair that waits for a person."""
    search, domain = a_search(), a_domain("berger-leipzig.de", status="completed")
    google = a_place("Backhaus Berger", category="bakery", types=["bakery"], rating=4.6,
        user_ratings_total=213, phone="+493414801234", formatted_address=BERGER["address"],
        website_url=BERGER["website_url"], deep_scan_status="Completed", search_id=search.id,
        latitude=51.3326, longitude=12.3331, raw_data={"id": "ChIJ1"},
        hours=BERGER["hours"])  # fmt: skip
    osm = a_place("Bäckerei Berger", "osm", category="bakery", deep_scan_status="Completed")
    third = a_place("Berger Backwaren", "osm", category="bakery")
    business = a_business("Backhaus Berger", place_id=google.id, domain_id=domain.id, **BERGER)
    double = a_business("Berger Backwaren", place_id=third.id, **OTHER)
    page, file = a_page(domain, "/kontakt"), a_file(domain)
    page.sitemap_file_id = file.id
    contact = a_contact(domain, "info@berger-leipzig.de", page)
    lead = Lead(id=uuid7(), name="Backhaus Berger", domain_id=domain.id, contacts=1, businesses=1,
        local_business_id=business.id, best_email=contact.value, rating=4.6, reviews_count=213,
        **OWNED)  # fmt: skip
    first = told_by(google, business)
    second = told_by(osm, business, matched_by="phone", score=0.93, why="The number is the same.")
    candidate = may_be_one(business, double)
    links = (found_by(search, google), found_by(search, osm, sighted="changed",
        changes={"phone": [None, "+493414801234"]}, fits=False))  # fmt: skip
    rows = (search, domain, google, osm, third, business, double, file, page, contact,
        a_sighting(contact, page), lead, first, second, told_by(third, double), candidate,
        *links)  # fmt: skip
    async with database.transaction() as session:
        await store(session, *rows)
        google.local_business_id = osm.local_business_id = business.id
        third.local_business_id, domain.local_business_id = double.id, business.id
    return Known(google.id, osm.id, business.id, double.id, candidate.id, search.id, domain.id,
        contact.id, lead.id, second.id)  # fmt: skip


async def hostile_businesses(database: Database) -> Known:
    """All that a provider says is meant to do harm."""
    said: dict[str, Any] = {
        "phone": HOSTILE,
        "phone_raw": LONG,
        "website_url": f"javascript:alert(1)//{HOSTILE}",
        "emails": [LONG] * 3,
        "profiles": [f"javascript:{LONG}", f"https://x.example/{LONG}"],
        "hours": {"days": [LONG]},
        "rating": 1.0,
    }
    search = a_search(params={"business_type": LONG, "location": HOSTILE}, subject=HOSTILE)
    place = a_place(LONG, category=LONG, types=[LONG], formatted_address=LONG, moved_to=HOSTILE,
        maps_url="javascript:alert(1)", deep_scan_error=LONG, raw_data={HOSTILE: LONG},
        business_status="closed_permanently", **said)  # fmt: skip
    twin = a_place(LONG, "osm")
    business = a_business(LONG, place_id=place.id, address=LONG, categories=[LONG],
        website_note=LONG, website_kind="unusable", domain_extraction_error=LONG,
        facts_from={"phone": HOSTILE}, **said)  # fmt: skip
    double = a_business(HOSTILE, address=LONG, categories=[LONG])
    domain = a_domain("evil.example", title=LONG)
    contact: Contact = a_contact(domain, "x@evil.example")
    lead = Lead(id=uuid7(), name=LONG, domain_id=domain.id, local_business_id=business.id, **OWNED)
    first = told_by(place, business, why=LONG, facts={"business_name": LONG, "phone": HOSTILE})
    second = told_by(twin, business, why=LONG, facts={HOSTILE: LONG})
    candidate = may_be_one(business, double, reasons=[LONG, HOSTILE])
    link = found_by(search, place, sighted="changed", changes={HOSTILE: [LONG, HOSTILE]})
    rows = (search, domain, place, twin, business, double, contact, lead, first, second,
        candidate, link)  # fmt: skip
    async with database.transaction() as session:
        await store(session, *rows)
        place.local_business_id = twin.local_business_id = business.id
        business.domain_id, domain.local_business_id = domain.id, business.id
    return Known(place.id, twin.id, business.id, double.id, candidate.id, search.id, domain.id,
        contact.id, lead.id, second.id)  # fmt: skip
