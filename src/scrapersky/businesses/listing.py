"""Business and merge candidate lists and the business export: filters, sort keys, columns and
curation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from pydantic import Field
from sqlalchemy import ARRAY, ColumnElement, Text, case, func, select

from scrapersky.lists import (
    ArrayFilter,
    ChoiceFilter,
    Curation,
    CurationQueue,
    DateRangeFilter,
    DomainFilter,
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
    EXTRACTION_STATUSES,
    NOT_QUEUED,
    Actor,
    BusinessCuration,
    BusinessSighting,
    BusinessStatus,
    Domain,
    LocalBusiness,
    MergeState,
    Provider,
    SearchPlace,
    SuppressionKind,
    WebsiteKind,
)
from scrapersky.models.businesses import MergeCandidate
from scrapersky.models.stage_names import EXTRACTION_STAGE
from scrapersky.models.suppression import is_value_suppressed


@dataclass(frozen=True)
class ProviderFilter:
    """Filter by any provider that reported the business, not only the first."""

    words: tuple[str, ...]
    name: str = "provider"

    def parameters(self) -> FilterParameters:
        said = "Only businesses reported by one of these providers. Repeatable."
        kind: Any = list.__class_getitem__(Literal[self.words])
        return {
            self.name: (kind | None, Field(None, max_length=MAX_FILTER_VALUES, description=said))
        }

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        if (providers := given.get(self.name)) is not None:
            yield LocalBusiness.id.in_(
                select(BusinessSighting.business_id).where(
                    BusinessSighting.tenant_id == actor.tenant_id,
                    BusinessSighting.provider.in_(sorted(set(providers))),
                )
            )


@dataclass(frozen=True)
class BusinessSearchFilter:
    """Filter by the searches that found one of the business's places."""

    name: str = "search_id"

    def parameters(self) -> FilterParameters:
        said = "Only businesses found by this search. Repeatable."
        kind = list[UUID] | None
        return {self.name: (kind, Field(None, max_length=MAX_FILTER_VALUES, description=said))}

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        if (searches := given.get(self.name)) is not None:
            yield LocalBusiness.id.in_(
                select(BusinessSighting.business_id)
                .join(SearchPlace, SearchPlace.place_id == BusinessSighting.place_id)
                .where(
                    SearchPlace.tenant_id == actor.tenant_id,
                    SearchPlace.search_id.in_(sorted(set(searches))),
                )
            )


@dataclass(frozen=True)
class MergeSideFilter:
    """Filter for pairs that contain the business."""

    name: str = "business_id"

    def parameters(self) -> FilterParameters:
        said = "Only pairs that contain this business."
        return {self.name: (UUID | None, Field(None, description=said))}

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        if (wanted := given.get(self.name)) is not None:
            yield (MergeCandidate.left_id == wanted) | (MergeCandidate.right_id == wanted)


BUSINESSES = Listing(
    name="LocalBusiness",
    model=LocalBusiness,
    filters=(
        ChoiceFilter(
            "status", LocalBusiness.status, words=tuple(each.value for each in BusinessCuration)
        ),
        ChoiceFilter(
            "domain_extraction_status",
            LocalBusiness.domain_extraction_status,
            words=(NOT_QUEUED, *EXTRACTION_STATUSES.all),
        ),
        ChoiceFilter(
            "website_kind",
            LocalBusiness.website_kind,
            words=tuple(each.value for each in WebsiteKind),
        ),
        ChoiceFilter(
            "business_status",
            LocalBusiness.business_status,
            words=tuple(each.value for each in BusinessStatus),
        ),
        PresenceFilter("has_website", LocalBusiness.website_url),
        PresenceFilter("has_phone", LocalBusiness.phone),
        PresenceFilter("has_domain", LocalBusiness.domain_id),
        ArrayFilter(
            "category",
            LocalBusiness.categories,
            "Any category of the business, in the provider's spelling.",
            "bakery",
        ),
        ChoiceFilter("city", LocalBusiness.city),
        ChoiceFilter("country", LocalBusiness.country, says="Two-letter country code. Repeatable."),
        ChoiceFilter("postal_code", LocalBusiness.postal_code),
        ProviderFilter(tuple(each.value for each in Provider)),
        BusinessSearchFilter(),
        MinimumFilter("min_rating", LocalBusiness.rating, 5, "Minimum rating (0–5)."),
        MinimumFilter(
            "min_reviews", LocalBusiness.reviews_count, 2_000_000_000, "Minimum number of reviews."
        ),
        DomainFilter(LocalBusiness.domain_id),
        ChoiceFilter("domain_id", LocalBusiness.domain_id),
        ChoiceFilter("created_by", LocalBusiness.created_by),
        TextFilter(
            "error",
            (LocalBusiness.domain_extraction_error,),
            says="Part of the domain extraction error.",
        ),
        TextFilter(
            "search",
            (
                LocalBusiness.business_name,
                LocalBusiness.address,
                LocalBusiness.website_url,
                LocalBusiness.phone,
            ),
            says="Part of the name, address, website or phone number.",
        ),
        DateRangeFilter("created", LocalBusiness.created_at),
        DateRangeFilter("refreshed", LocalBusiness.refreshed_at),
    ),
    sorts={
        "created_at": LocalBusiness.created_at,
        "refreshed_at": LocalBusiness.refreshed_at,
        "business_name": LocalBusiness.business_name,
        "city": LocalBusiness.city,
        "rating": LocalBusiness.rating,
        "reviews_count": LocalBusiness.reviews_count,
        "domain_extraction_status": LocalBusiness.domain_extraction_status,
    },
)

CURATION = Curation(
    BUSINESSES,
    LocalBusiness.status,
    BusinessCuration,
    CurationQueue(
        stage=EXTRACTION_STAGE, status="domain_extraction_status", words=EXTRACTION_STATUSES
    ),
)


def _hide_suppressed_phone(shown: Any) -> ColumnElement[Any]:
    phone = LocalBusiness.phone
    return case(
        (~is_value_suppressed(LocalBusiness.tenant_id, SuppressionKind.PHONE, phone), shown)
    )


def _filter_suppressed_emails() -> ColumnElement[Any]:
    each = func.unnest(LocalBusiness.emails)
    values = each.table_valued("value", with_ordinality="place").render_derived()
    suppressed = is_value_suppressed(LocalBusiness.tenant_id, SuppressionKind.EMAIL, values.c.value)
    left = select(values.c.value).where(~suppressed).order_by(values.c.place)
    return func.array(left.correlate(LocalBusiness).scalar_subquery(), type_=ARRAY(Text))


EXPORT = Export(
    listing=BUSINESSES,
    rows="local-businesses",
    usual=(
        export_field("business_name", LocalBusiness.business_name, "Name"),
        export_field("categories", LocalBusiness.categories),
        export_field("address", LocalBusiness.address),
        export_field("postal_code", LocalBusiness.postal_code),
        export_field("city", LocalBusiness.city),
        export_field("country", LocalBusiness.country),
        export_field("phone", _hide_suppressed_phone(LocalBusiness.phone)),
        export_field("website_url", LocalBusiness.website_url, "Website"),
        export_field("website_kind", LocalBusiness.website_kind, "Website type"),
        export_field("domain", Domain.domain),
        export_field("emails", _filter_suppressed_emails(), "E-mail addresses"),
        export_field("profiles", LocalBusiness.profiles),
        export_field("rating", LocalBusiness.rating),
        export_field("reviews_count", LocalBusiness.reviews_count, "Reviews"),
        export_field("business_status", LocalBusiness.business_status, "State"),
        export_field("status", LocalBusiness.status, "Curation"),
        export_field("created_at", LocalBusiness.created_at, "Added"),
    ),
    more=(
        export_field("id", LocalBusiness.id),
        export_field("street", LocalBusiness.street),
        export_field("house_number", LocalBusiness.house_number),
        export_field("region", LocalBusiness.region),
        export_field("latitude", LocalBusiness.latitude),
        export_field("longitude", LocalBusiness.longitude),
        export_field(
            "phone_raw", _hide_suppressed_phone(LocalBusiness.phone_raw), "Phone as written"
        ),
        export_field("website_note", LocalBusiness.website_note, "Website note"),
        export_field("price_level", LocalBusiness.price_level),
        export_field("domain_id", LocalBusiness.domain_id),
        export_field(
            "domain_extraction_status", LocalBusiness.domain_extraction_status, "Extraction"
        ),
        export_field(
            "domain_extraction_error",
            LocalBusiness.domain_extraction_error,
            "Extraction's error",
        ),
        export_field("refreshed_at", LocalBusiness.refreshed_at, "Refreshed"),
        export_field("created_by", LocalBusiness.created_by, "Added by"),
        export_field("updated_at", LocalBusiness.updated_at, "Changed"),
    ),
    beside=((Domain, Domain.id == LocalBusiness.domain_id),),
)


MERGE_CANDIDATES = Listing(
    name="MergeCandidate",
    model=MergeCandidate,
    filters=(
        ChoiceFilter(
            "state",
            MergeCandidate.state,
            words=tuple(each.value for each in MergeState),
            default=(MergeState.OPEN.value,),
            says="State of the pair. Defaults to open.",
        ),
        MergeSideFilter(),
        MinimumFilter("min_score", MergeCandidate.score, 1, "Minimum match score (0–1)."),
        DateRangeFilter("created", MergeCandidate.created_at),
    ),
    sorts={"created_at": MergeCandidate.created_at, "score": MergeCandidate.score},
)
