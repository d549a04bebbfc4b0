"""Lead list and export: filters, sort keys, columns and curation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import Field
from sqlalchemy import ARRAY, ColumnElement, Text, case, func, or_, select

from scrapersky.lists import (
    ChoiceFilter,
    Curation,
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
    FilterConditions,
    FilterParameters,
    FilterValues,
    build_owner_condition,
)
from scrapersky.models import (
    Actor,
    BusinessSighting,
    Domain,
    EmptyReason,
    Lead,
    LeadCuration,
    LocalBusiness,
    SearchPlace,
    SuppressionKind,
)
from scrapersky.models.suppression import is_value_suppressed


@dataclass(frozen=True)
class LeadSearchFilter:
    """Filter by a search that found any business of the lead's site."""

    name: str = "search_id"

    def parameters(self) -> FilterParameters:
        said = "Only leads that this place search led to."
        return {self.name: (UUID | None, Field(None, description=said))}

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        if (search_id := given.get(self.name)) is None:
            return
        found = (
            select(LocalBusiness.id, LocalBusiness.domain_id)
            .join(BusinessSighting, BusinessSighting.business_id == LocalBusiness.id)
            .join(SearchPlace, SearchPlace.place_id == BusinessSighting.place_id)
            .where(build_owner_condition(LocalBusiness, actor), SearchPlace.search_id == search_id)
            .cte("found_by_search")
        )
        yield or_(
            Lead.domain_id.in_(select(found.c.domain_id)),
            Lead.local_business_id.in_(select(found.c.id)),
        )


LEADS = Listing(
    name="Lead",
    model=Lead,
    filters=(
        ChoiceFilter(
            "lead_curation_status",
            Lead.lead_curation_status,
            words=tuple(each.value for each in LeadCuration),
        ),
        ChoiceFilter("why_empty", Lead.why_empty, words=tuple(each.value for each in EmptyReason)),
        PresenceFilter("is_empty", Lead.why_empty),
        PresenceFilter("has_email", Lead.best_email),
        PresenceFilter("has_phone", Lead.phone),
        PresenceFilter("has_name", Lead.name),
        PresenceFilter("has_website", Lead.domain_id),
        PresenceFilter("completed", Lead.completed_at),
        MinimumFilter("min_rating", Lead.rating, 5, "Minimum rating (0–5)."),
        ChoiceFilter("category", Lead.category),
        TextFilter(
            "address", (Lead.address,), says="Part of the address: street, town or country."
        ),
        TextFilter("name", (Lead.name,)),
        TextFilter(
            "search",
            (Lead.name, Lead.website, Lead.category, Lead.address, Lead.best_email, Lead.phone),
            says="Part of the name, website, category, address, best e-mail or phone number.",
        ),
        DomainFilter(Lead.domain_id),
        ChoiceFilter("domain_id", Lead.domain_id),
        ChoiceFilter("local_business_id", Lead.local_business_id),
        LeadSearchFilter(),
        DateRangeFilter("created", Lead.created_at),
        DateRangeFilter("updated", Lead.updated_at),
        DateRangeFilter("completed", Lead.completed_at),
    ),
    sorts={
        "created_at": Lead.created_at,
        "updated_at": Lead.updated_at,
        "name": Lead.name,
        "contacts": Lead.contacts,
        "rating": Lead.rating,
        "reviews_count": Lead.reviews_count,
    },
)

CURATION = Curation(LEADS, Lead.lead_curation_status, LeadCuration)


# Leads are built without suppressed values, but a value found on a page while it was being
# suppressed stays in the lead until the next refresh. The export filters those as well.


def _hide_suppressed(kind: SuppressionKind, value: Any, shown: Any) -> ColumnElement[Any]:
    """Return `shown`, or NULL when the value is suppressed."""
    return case((~is_value_suppressed(Lead.tenant_id, kind, value), shown))


def _filter_suppressed(kind: SuppressionKind, values: Any) -> ColumnElement[Any]:
    each = func.unnest(values).table_valued("value", with_ordinality="place").render_derived()
    left = select(each.c.value).where(~is_value_suppressed(Lead.tenant_id, kind, each.c.value))
    ordered = left.order_by(each.c.place).correlate(Lead).scalar_subquery()
    return func.array(ordered, type_=ARRAY(Text))


EMAIL, PHONE = SuppressionKind.EMAIL, SuppressionKind.PHONE
BEST_EMAIL = _hide_suppressed(EMAIL, Lead.best_email, Lead.best_email)
BEST_EMAIL_REASON = _hide_suppressed(EMAIL, Lead.best_email, Lead.best_email_why)

EXPORT = Export(
    listing=LEADS,
    rows="leads",
    usual=(
        export_field("name", Lead.name),
        export_field("category", Lead.category),
        export_field("address", Lead.address),
        export_field("phone", _hide_suppressed(PHONE, Lead.phone, Lead.phone)),
        export_field("website", Lead.website),
        export_field("best_email", BEST_EMAIL, "Best e-mail"),
        export_field("best_email_why", BEST_EMAIL_REASON, "Reason for choice"),
        export_field("other_emails", _filter_suppressed(EMAIL, Lead.other_emails), "Other e-mails"),
        export_field("other_phones", _filter_suppressed(PHONE, Lead.other_phones)),
        export_field("profiles", Lead.profiles),
        export_field("rating", Lead.rating),
        export_field("reviews_count", Lead.reviews_count, "Reviews"),
        export_field("lead_curation_status", Lead.lead_curation_status, "Curation"),
        export_field("why_empty", Lead.why_empty, "No contact because"),
        export_field("why_empty_detail", Lead.why_empty_detail, "Details"),
    ),
    more=(
        export_field("id", Lead.id),
        export_field("domain_id", Lead.domain_id),
        export_field("domain", Domain.domain),
        export_field("local_business_id", Lead.local_business_id),
        export_field("businesses", Lead.businesses),
        export_field("name_from", Lead.name_from, "Name source"),
        export_field("phone_from", Lead.phone_from, "Phone source"),
        export_field("contacts", Lead.contacts),
        export_field("completed_at", Lead.completed_at, "Complete"),
        export_field("created_by", Lead.created_by, "Added by"),
        export_field("created_at", Lead.created_at, "Added"),
        export_field("updated_at", Lead.updated_at, "Changed"),
    ),
    beside=((Domain, Domain.id == Lead.domain_id),),
)
