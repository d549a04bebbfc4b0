"""Business and merge candidate lists and the business export: columns, filters and curation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Text, case, func, select

from scrapersky.lists import (
    OPTIONAL,
    SHOWN,
    ArrayFilter,
    CellKind,
    ChoiceFilter,
    Column,
    ConditionFilter,
    Curation,
    CurationQueue,
    DomainFilter,
    Export,
    Listing,
    MinimumFilter,
    PresenceFilter,
    TextFilter,
    build_curation_column,
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

PROVIDERS: Any = list.__class_getitem__(Literal[tuple(each.value for each in Provider)])


def _match_providers(providers: Sequence[str], actor: Actor) -> ColumnElement[bool]:
    """Match businesses reported by any of the providers, not only the first to report."""
    return LocalBusiness.id.in_(
        select(BusinessSighting.business_id).where(
            BusinessSighting.tenant_id == actor.tenant_id,
            BusinessSighting.provider.in_(sorted(set(providers))),
        )
    )


def _match_searches(searches: Sequence[UUID], actor: Actor) -> ColumnElement[bool]:
    return LocalBusiness.id.in_(
        select(BusinessSighting.business_id)
        .join(SearchPlace, SearchPlace.place_id == BusinessSighting.place_id)
        .where(
            SearchPlace.tenant_id == actor.tenant_id,
            SearchPlace.search_id.in_(sorted(set(searches))),
        )
    )


def _match_side(business_id: UUID, _: Actor) -> ColumnElement[bool]:
    return (MergeCandidate.left_id == business_id) | (MergeCandidate.right_id == business_id)


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


BUSINESSES = Listing(
    name="LocalBusiness",
    model=LocalBusiness,
    columns=(
        Column(
            LocalBusiness.business_name, "Name", sort=True, table=SHOWN, example="Bäckerei Berger"
        ),
        Column(
            LocalBusiness.categories,
            filter=ArrayFilter(
                "category",
                says="Any category of the business, in the provider's spelling.",
                example="bakery",
            ),
            table=OPTIONAL,
            example=["bakery", "cafe"],
        ),
        Column(LocalBusiness.address, table=SHOWN),
        Column(LocalBusiness.postal_code, filter=True),
        Column(LocalBusiness.city, filter=True, sort=True, table=OPTIONAL, example="Leipzig"),
        Column(
            LocalBusiness.country,
            filter=ChoiceFilter(says="Two-letter country code. Repeatable."),
            table=OPTIONAL,
            says="Two-letter country code.",
            example="DE",
        ),
        Column(
            LocalBusiness.phone,
            filter=PresenceFilter("has_phone"),
            export=_hide_suppressed_phone(LocalBusiness.phone),
            table=SHOWN,
            cell=CellKind.NOWRAP,
            example="+4934190182",
        ),
        Column(
            LocalBusiness.website_url,
            "Website",
            filter=PresenceFilter("has_website"),
            table=SHOWN,
            says="As reported. It may be anything, not only a URL.",
        ),
        Column(
            LocalBusiness.website_kind,
            "Website type",
            filter=WebsiteKind,
            says="Type of the website. Null until it has been resolved.",
            example="own",
        ),
        Column(Domain.domain, api=False),
        Column(
            LocalBusiness.emails,
            "E-mail addresses",
            "E-mails",
            export=_filter_suppressed_emails(),
            table=OPTIONAL,
        ),
        Column(LocalBusiness.profiles, table=OPTIONAL),
        Column(
            LocalBusiness.rating,
            filter=MinimumFilter("min_rating", highest=5, says="Minimum rating (0–5)."),
            sort=True,
            table=SHOWN,
        ),
        Column(
            LocalBusiness.reviews_count,
            "Reviews",
            filter=MinimumFilter(
                "min_reviews", highest=2_000_000_000, says="Minimum number of reviews."
            ),
            sort=True,
        ),
        Column(
            LocalBusiness.business_status,
            "State",
            "In business",
            filter=BusinessStatus,
            table=OPTIONAL,
            cell=CellKind.STATUS,
            example="operational",
        ),
        build_curation_column(LocalBusiness.status, BusinessCuration, says="Curation status."),
        Column(LocalBusiness.created_at, "Added", filter=True, sort=True, table=SHOWN),
    ),
    more=(
        Column(LocalBusiness.id),
        Column(LocalBusiness.street),
        Column(LocalBusiness.house_number),
        Column(LocalBusiness.region),
        Column(LocalBusiness.latitude),
        Column(LocalBusiness.longitude),
        Column(
            LocalBusiness.phone_raw,
            "Phone as written",
            export=_hide_suppressed_phone(LocalBusiness.phone_raw),
        ),
        Column(
            LocalBusiness.website_note,
            table=OPTIONAL,
            says="Why the website is not the business's own site.",
        ),
        Column(LocalBusiness.price_level),
        Column(
            LocalBusiness.domain_id, filter=(PresenceFilter("has_domain"), DomainFilter(), True)
        ),
        Column(
            LocalBusiness.domain_extraction_status,
            "Extraction",
            "Find domain",
            filter=ChoiceFilter(words=(NOT_QUEUED, *EXTRACTION_STATUSES.all)),
            sort=True,
            example="Completed",
        ),
        Column(
            LocalBusiness.domain_extraction_error,
            "Extraction's error",
            filter=TextFilter("error", says="Part of the domain extraction error."),
        ),
        Column(LocalBusiness.refreshed_at, "Refreshed", filter=True, sort=True, table=OPTIONAL),
        Column(LocalBusiness.created_by, "Added by", filter=True),
        Column(LocalBusiness.updated_at, "Changed"),
    ),
    filters=(
        ConditionFilter(
            "provider",
            PROVIDERS,
            "Only businesses reported by one of these providers. Repeatable.",
            _match_providers,
        ),
        ConditionFilter(
            "search_id",
            list[UUID],
            "Only businesses found by this search. Repeatable.",
            _match_searches,
        ),
        TextFilter(
            "search",
            columns=(
                LocalBusiness.business_name,
                LocalBusiness.address,
                LocalBusiness.website_url,
                LocalBusiness.phone,
            ),
            says="Part of the name, address, website or phone number.",
        ),
    ),
)

CURATION = Curation(
    BUSINESSES,
    LocalBusiness.status,
    BusinessCuration,
    CurationQueue(
        stage=EXTRACTION_STAGE, status="domain_extraction_status", words=EXTRACTION_STATUSES
    ),
)

EXPORT = Export(
    BUSINESSES, "local-businesses", beside=((Domain, Domain.id == LocalBusiness.domain_id),)
)

MERGE_CANDIDATES = Listing(
    name="MergeCandidate",
    model=MergeCandidate,
    columns=(
        Column(
            MergeCandidate.state,
            filter=ChoiceFilter(
                words=tuple(each.value for each in MergeState),
                default=(MergeState.OPEN.value,),
                says="State of the pair. Defaults to open.",
            ),
            table=OPTIONAL,
            cell=CellKind.STATUS,
        ),
        Column(
            MergeCandidate.score,
            label="Confidence",
            filter=MinimumFilter("min_score", highest=1, says="Minimum match score (0–1)."),
            sort=True,
            table=SHOWN,
        ),
        Column(MergeCandidate.created_at, "Found", filter=True, sort=True, table=SHOWN),
    ),
    filters=(
        ConditionFilter("business_id", UUID, "Only pairs that contain this business.", _match_side),
    ),
)
