"""The list of places: how it can be narrowed and sorted, and what people decide about them."""

from __future__ import annotations

from scrapersky.http.lists import (
    Among,
    AtLeast,
    Contains,
    Curation,
    Has,
    Is,
    Listing,
    OneOf,
    Queues,
    When,
)
from scrapersky.models import (
    DEEP_SCAN_WORDS,
    NOT_QUEUED,
    BusinessStatus,
    Place,
    PlaceCuration,
    Provider,
)
from scrapersky.models.stage_names import DEEP_SCAN_STAGE
from scrapersky.places.listing_filters import FoundBy

PLACES = Listing(
    name="Place",
    model=Place,
    filters=(
        OneOf("provider", Place.provider, words=tuple(each.value for each in Provider)),
        OneOf("status", Place.status, words=tuple(each.value for each in PlaceCuration)),
        OneOf("deep_scan_status", Place.deep_scan_status, words=(NOT_QUEUED, *DEEP_SCAN_WORDS.all)),
        OneOf(
            "business_status",
            Place.business_status,
            words=tuple(each.value for each in BusinessStatus),
        ),
        Has("has_website", Place.website_url),
        Has("has_phone", Place.phone),
        Has("has_details", Place.details_at),
        Has("has_business", Place.local_business_id),
        Has("is_gone", Place.gone_at),
        Has("has_moved", Place.moved_to),
        Is("is_service_area", Place.is_service_area),
        AtLeast("min_rating", Place.rating, 5, "Rated as well as this at least: 0 to 5."),
        AtLeast(
            "min_ratings", Place.user_ratings_total, 2_000_000_000, "Rated by so many at least."
        ),
        OneOf("category", Place.category),
        Among("type", Place.types, "Among all of its types, as the provider calls it.", "bakery"),
        FoundBy(),
        OneOf("local_business_id", Place.local_business_id),
        OneOf("place_id", Place.place_id, says="What the provider calls it."),
        Contains("error", (Place.deep_scan_error,), says="In the error of its deep scan."),
        Contains(
            "search",
            (Place.name, Place.formatted_address, Place.website_url, Place.phone),
            says="In name, address, website or phone.",
        ),
        OneOf("created_by", Place.created_by),
        When("created", Place.created_at),
        When("seen", Place.seen_at),
        When("details", Place.details_at),
    ),
    sorts={
        "created_at": Place.created_at,
        "seen_at": Place.seen_at,
        "details_at": Place.details_at,
        "name": Place.name,
        "rating": Place.rating,
        "user_ratings_total": Place.user_ratings_total,
        "category": Place.category,
        "deep_scan_status": Place.deep_scan_status,
    },
)

CURATION = Curation(
    PLACES,
    Place.status,
    PlaceCuration,
    Queues(stage=DEEP_SCAN_STAGE, status="deep_scan_status", words=DEEP_SCAN_WORDS),
)
