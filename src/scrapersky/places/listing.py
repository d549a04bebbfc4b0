"""Place list and export: columns, filters and curation."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from pydantic import Field
from sqlalchemy import Text, case, null, select, type_coerce

from scrapersky.lists import (
    OPTIONAL,
    SHOWN,
    ArrayFilter,
    CellKind,
    ChoiceFilter,
    Column,
    Curation,
    CurationQueue,
    Export,
    Listing,
    MinimumFilter,
    PresenceFilter,
    TextFilter,
    build_curation_column,
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

OSM_ATTRIBUTION = "© OpenStreetMap contributors"
"""Attribution required by the OpenStreetMap licence wherever its data is shown."""


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
    columns=(
        Column(Place.name, sort=True, table=SHOWN, example="Bäckerei Berger"),
        Column(
            Place.category,
            filter=True,
            sort=True,
            table=OPTIONAL,
            cell=CellKind.WORD,
            example="bakery",
        ),
        Column(Place.formatted_address, "Address", table=SHOWN),
        Column(
            Place.phone,
            filter=PresenceFilter("has_phone"),
            table=SHOWN,
            cell=CellKind.NOWRAP,
            example="+4930901820",
        ),
        Column(
            Place.website_url,
            "Website",
            filter=PresenceFilter("has_website"),
            table=SHOWN,
            says="As reported by the provider. It may be anything, not only a URL.",
        ),
        Column(
            Place.rating,
            filter=MinimumFilter("min_rating", highest=5, says="Minimum rating (0–5)."),
            sort=True,
            table=SHOWN,
        ),
        Column(
            Place.user_ratings_total,
            "Reviews",
            filter=MinimumFilter(
                "min_ratings", highest=2_000_000_000, says="Minimum number of reviews."
            ),
            sort=True,
        ),
        Column(
            Place.business_status,
            "State",
            "In business",
            filter=BusinessStatus,
            table=OPTIONAL,
            example="operational",
        ),
        Column(Place.latitude),
        Column(Place.longitude),
        Column(Place.provider, filter=Provider, table=SHOWN, example="google"),
        Column(
            Place.place_id,
            "Provider ID",
            filter=ChoiceFilter(says="The provider's place ID."),
            says="The provider's place ID.",
            example="ChIJN1t_tDeuEmsRUsoyG83frY4",
        ),
        Column(
            case(
                (Place.provider == Provider.OSM, OSM_ATTRIBUTION), else_=type_coerce(null(), Text)
            ),
            name="attribution",
            api=False,
        ),
        build_curation_column(Place.status, PlaceCuration, says="Curation status."),
        Column(
            Place.deep_scan_status,
            "Deep scan",
            "Details",
            filter=ChoiceFilter(words=(NOT_QUEUED, *DEEP_SCAN_STATUSES.all)),
            sort=True,
            table=SHOWN,
            example="Completed",
        ),
        Column(Place.created_at, "Found", filter=True, sort=True, table=SHOWN),
    ),
    more=(
        Column(Place.id),
        Column(
            Place.types,
            filter=ArrayFilter(
                "type", says="Any type of the place, in the provider's spelling.", example="bakery"
            ),
            table=OPTIONAL,
        ),
        Column(Place.emails, "E-mail addresses", "E-mails", table=OPTIONAL),
        Column(Place.profiles),
        Column(Place.phone_raw, "Phone as written"),
        Column(Place.price_level),
        Column(Place.maps_url, "Map link", "Map", table=OPTIONAL, cell=CellKind.LINK),
        Column(
            Place.is_service_area,
            "Service area only",
            "Service area",
            filter=True,
            says="Serves customers at their location and has no public address.",
        ),
        Column(
            Place.deep_scan_error,
            "Deep scan error",
            filter=TextFilter("error", says="Part of the deep scan error."),
        ),
        Column(
            Place.details_at,
            "Details from",
            filter=(PresenceFilter("has_details"), True),
            sort=True,
            table=OPTIONAL,
            says="When the details were last fetched. Null if never.",
        ),
        Column(Place.seen_at, "Last seen", filter=True, sort=True, table=OPTIONAL),
        Column(
            Place.gone_at,
            "Gone",
            filter=PresenceFilter("is_gone"),
            says="When the provider reported that the place no longer exists.",
        ),
        Column(
            Place.moved_to, filter=PresenceFilter("has_moved"), says="The provider's new place ID."
        ),
        Column(Place.search_id, "First search", says="The first search that found it."),
        Column(Place.local_business_id, "Business", filter=(PresenceFilter("has_business"), True)),
        Column(Place.created_by, "Added by", filter=True),
        Column(Place.updated_at, "Changed"),
    ),
    filters=(
        FoundBySearchFilter(),
        TextFilter(
            "search",
            columns=(Place.name, Place.formatted_address, Place.website_url, Place.phone),
            says="Part of the name, address, website or phone number.",
        ),
    ),
)

CURATION = Curation(
    PLACES,
    Place.status,
    PlaceCuration,
    CurationQueue(stage=DEEP_SCAN_STAGE, status="deep_scan_status", words=DEEP_SCAN_STATUSES),
)

EXPORT = Export(PLACES, "places")
