"""Places as a file: one line per place of a provider."""

from __future__ import annotations

from scrapersky.http.lists import Export, field
from scrapersky.models import Place
from scrapersky.places.listing import PLACES
from scrapersky.places.schemas import attribution_in_sql

EXPORT = Export(
    listing=PLACES,
    rows="places",
    usual=(
        field("name", Place.name),
        field("category", Place.category),
        field("formatted_address", Place.formatted_address, "Address"),
        field("phone", Place.phone),
        field("website_url", Place.website_url, "Website"),
        field("rating", Place.rating),
        field("user_ratings_total", Place.user_ratings_total, "Ratings"),
        field("business_status", Place.business_status, "State"),
        field("latitude", Place.latitude),
        field("longitude", Place.longitude),
        field("provider", Place.provider),
        field("place_id", Place.place_id, "Provider's id"),
        field("attribution", attribution_in_sql(Place.provider)),
        field("status", Place.status, "Curation"),
        field("deep_scan_status", Place.deep_scan_status, "Deep scan"),
        field("created_at", Place.created_at, "Found"),
    ),
    more=(
        field("id", Place.id),
        field("types", Place.types),
        field("emails", Place.emails, "E-mail addresses"),
        field("profiles", Place.profiles),
        field("phone_raw", Place.phone_raw, "Phone as written"),
        field("price_level", Place.price_level),
        field("maps_url", Place.maps_url, "On the map"),
        field("is_service_area", Place.is_service_area, "Comes to its customers"),
        field("deep_scan_error", Place.deep_scan_error, "Deep scan's error"),
        field("details_at", Place.details_at, "Details from"),
        field("seen_at", Place.seen_at, "Last seen"),
        field("gone_at", Place.gone_at, "Gone"),
        field("moved_to", Place.moved_to),
        field("search_id", Place.search_id, "Found first by"),
        field("local_business_id", Place.local_business_id, "Business"),
        field("created_by", Place.created_by, "Added by"),
        field("updated_at", Place.updated_at, "Changed"),
    ),
)
