"""Filters, sorting, curation and export columns of places."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from pydantic import Field
from sqlalchemy import select

from scrapersky.lists import (
    ArrayFilter,
    BooleanFilter,
    ChoiceFilter,
    Curation,
    CurationQueue,
    DateRangeFilter,
    Export,
    Listing,
    MinimumFilter,
    PresenceFilter,
    TextFilter,
    export_field,
)
from scrapersky.lists.filters import (
    MAX_FILTER_VALUES,
    FilterConditions,
    FilterParameters,
    FilterValues,
)
from scrapersky.models import (
    DEEP_SCAN_STATUSES,
    NOT_QUEUED,
    Actor,
    BusinessStatus,
    Place,
    PlaceCuration,
    Provider,
    SearchPlace,
)
from scrapersky.models.stage_names import DEEP_SCAN_STAGE
from scrapersky.places.schemas import build_attribution_column


@dataclass(frozen=True)
class FoundBySearchFilter:
    """Filter by any search that found the place, not only the first."""

    name: str = "search_id"
    fitting: str = "fits"

    def parameters(self) -> FilterParameters:
        said = "Only places found by this search. Repeatable."
        fits = "With a search: whether the place passes its filters."
        return {
            self.name: (
                list[UUID] | None,
                Field(None, max_length=MAX_FILTER_VALUES, description=said),
            ),
            self.fitting: (bool | None, Field(None, description=fits)),
        }

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        searches, fits = given.get(self.name), given.get(self.fitting)
        if searches is None and fits is None:
            return
        found = select(SearchPlace.place_id).where(SearchPlace.tenant_id == actor.tenant_id)
        if searches is not None:
            found = found.where(SearchPlace.search_id.in_(sorted(set(searches))))
        if fits is not None:
            found = found.where(SearchPlace.fits.is_(fits))
        yield Place.id.in_(found)


PLACES = Listing(
    name="Place",
    model=Place,
    filters=(
        ChoiceFilter("provider", Place.provider, words=tuple(each.value for each in Provider)),
        ChoiceFilter("status", Place.status, words=tuple(each.value for each in PlaceCuration)),
        ChoiceFilter(
            "deep_scan_status", Place.deep_scan_status, words=(NOT_QUEUED, *DEEP_SCAN_STATUSES.all)
        ),
        ChoiceFilter(
            "business_status",
            Place.business_status,
            words=tuple(each.value for each in BusinessStatus),
        ),
        PresenceFilter("has_website", Place.website_url),
        PresenceFilter("has_phone", Place.phone),
        PresenceFilter("has_details", Place.details_at),
        PresenceFilter("has_business", Place.local_business_id),
        PresenceFilter("is_gone", Place.gone_at),
        PresenceFilter("has_moved", Place.moved_to),
        BooleanFilter("is_service_area", Place.is_service_area),
        MinimumFilter("min_rating", Place.rating, 5, "Minimum rating (0–5)."),
        MinimumFilter(
            "min_ratings", Place.user_ratings_total, 2_000_000_000, "Minimum number of reviews."
        ),
        ChoiceFilter("category", Place.category),
        ArrayFilter(
            "type", Place.types, "Any type of the place, in the provider's spelling.", "bakery"
        ),
        FoundBySearchFilter(),
        ChoiceFilter("local_business_id", Place.local_business_id),
        ChoiceFilter("place_id", Place.place_id, says="The provider's place ID."),
        TextFilter("error", (Place.deep_scan_error,), says="Part of the deep scan error."),
        TextFilter(
            "search",
            (Place.name, Place.formatted_address, Place.website_url, Place.phone),
            says="Part of the name, address, website or phone number.",
        ),
        ChoiceFilter("created_by", Place.created_by),
        DateRangeFilter("created", Place.created_at),
        DateRangeFilter("seen", Place.seen_at),
        DateRangeFilter("details", Place.details_at),
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
    CurationQueue(stage=DEEP_SCAN_STAGE, status="deep_scan_status", words=DEEP_SCAN_STATUSES),
)


EXPORT = Export(
    listing=PLACES,
    rows="places",
    usual=(
        export_field("name", Place.name),
        export_field("category", Place.category),
        export_field("formatted_address", Place.formatted_address, "Address"),
        export_field("phone", Place.phone),
        export_field("website_url", Place.website_url, "Website"),
        export_field("rating", Place.rating),
        export_field("user_ratings_total", Place.user_ratings_total, "Reviews"),
        export_field("business_status", Place.business_status, "State"),
        export_field("latitude", Place.latitude),
        export_field("longitude", Place.longitude),
        export_field("provider", Place.provider),
        export_field("place_id", Place.place_id, "Provider ID"),
        export_field("attribution", build_attribution_column(Place.provider)),
        export_field("status", Place.status, "Curation"),
        export_field("deep_scan_status", Place.deep_scan_status, "Deep scan"),
        export_field("created_at", Place.created_at, "Found"),
    ),
    more=(
        export_field("id", Place.id),
        export_field("types", Place.types),
        export_field("emails", Place.emails, "E-mail addresses"),
        export_field("profiles", Place.profiles),
        export_field("phone_raw", Place.phone_raw, "Phone as written"),
        export_field("price_level", Place.price_level),
        export_field("maps_url", Place.maps_url, "Map link"),
        export_field("is_service_area", Place.is_service_area, "Service area only"),
        export_field("deep_scan_error", Place.deep_scan_error, "Deep scan error"),
        export_field("details_at", Place.details_at, "Details from"),
        export_field("seen_at", Place.seen_at, "Last seen"),
        export_field("gone_at", Place.gone_at, "Gone"),
        export_field("moved_to", Place.moved_to),
        export_field("search_id", Place.search_id, "First search"),
        export_field("local_business_id", Place.local_business_id, "Business"),
        export_field("created_by", Place.created_by, "Added by"),
        export_field("updated_at", Place.updated_at, "Changed"),
    ),
)
