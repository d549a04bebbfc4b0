"""Lead list and export: columns, filters and curation."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Text, case, func, or_, select

from scrapersky.lists import (
    OPTIONAL,
    SHOWN,
    CellKind,
    Column,
    ConditionFilter,
    Curation,
    DomainFilter,
    Export,
    Listing,
    MinimumFilter,
    PresenceFilter,
    TextFilter,
    build_curation_column,
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


def _match_search(search_id: UUID, actor: Actor) -> ColumnElement[bool]:
    """Match leads whose site has any business that the search found."""
    found = (
        select(LocalBusiness.id, LocalBusiness.domain_id)
        .join(BusinessSighting, BusinessSighting.business_id == LocalBusiness.id)
        .join(SearchPlace, SearchPlace.place_id == BusinessSighting.place_id)
        .where(build_owner_condition(LocalBusiness, actor), SearchPlace.search_id == search_id)
        .cte("found_by_search")
    )
    return or_(
        Lead.domain_id.in_(select(found.c.domain_id)),
        Lead.local_business_id.in_(select(found.c.id)),
    )


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

LEADS = Listing(
    name="Lead",
    model=Lead,
    columns=(
        Column(
            Lead.name,
            filter=(TextFilter(), PresenceFilter("has_name")),
            sort=True,
            table=SHOWN,
            cli=True,
            example="Bäckerei Berger",
        ),
        Column(Lead.category, filter=True, table=OPTIONAL, cli=True, example="Bakery"),
        Column(
            Lead.address,
            filter=TextFilter(says="Part of the address: street, town or country."),
            table=OPTIONAL,
        ),
        Column(
            Lead.phone,
            filter=PresenceFilter("has_phone"),
            export=_hide_suppressed(PHONE, Lead.phone, Lead.phone),
            table=SHOWN,
            cell=CellKind.NOWRAP,
            cli=True,
            example="+4930901820",
        ),
        Column(
            Lead.website, table=SHOWN, cell=CellKind.LINK, cli=True, example="https://bakery.de"
        ),
        Column(
            Lead.best_email,
            "Best e-mail",
            "E-mail",
            filter=PresenceFilter("has_email"),
            export=BEST_EMAIL,
            table=SHOWN,
            cli=True,
            example="info@bakery.de",
        ),
        Column(
            Lead.best_email_why,
            "Reason for choice",
            export=BEST_EMAIL_REASON,
            says="Why this address was chosen.",
        ),
        Column(
            Lead.other_emails,
            "Other e-mails",
            export=_filter_suppressed(EMAIL, Lead.other_emails),
            table=OPTIONAL,
        ),
        Column(
            Lead.other_phones, export=_filter_suppressed(PHONE, Lead.other_phones), table=OPTIONAL
        ),
        Column(Lead.profiles, table=OPTIONAL),
        Column(
            Lead.rating,
            filter=MinimumFilter("min_rating", highest=5, says="Minimum rating (0–5)."),
            sort=True,
            table=OPTIONAL,
        ),
        Column(Lead.reviews_count, "Reviews", sort=True, table=OPTIONAL),
        build_curation_column(Lead.lead_curation_status, LeadCuration, cli=True),
        Column(
            Lead.why_empty,
            "No contact because",
            "Empty reason",
            filter=(EmptyReason, PresenceFilter("is_empty")),
            cli=True,
            says="Why no page has a contact; null if one has. A provider may still have "
            "reported a phone number or e-mail address.",
            example="only_a_form",
        ),
        Column(Lead.why_empty_detail, "Details"),
    ),
    more=(
        Column(Lead.id),
        Column(
            Lead.domain_id,
            filter=(PresenceFilter("has_website"), DomainFilter(), True),
            says="Null when the business has no site of its own.",
        ),
        Column(Domain.domain, api=False),
        Column(
            Lead.local_business_id,
            filter=True,
            says="The lead's business. When several share the site, the one with most reviews.",
        ),
        Column(
            Lead.businesses,
            says="Number of businesses that share the site, such as the branches of a chain.",
        ),
        Column(Lead.name_from, "Name source", says="Source of the name.", example="json_ld"),
        Column(
            Lead.phone_from,
            "Phone source",
            says="Source of the phone number: `site` or a place provider.",
            example="google",
        ),
        Column(
            Lead.contacts,
            sort=True,
            table=SHOWN,
            cli=True,
            says="Number of contacts found on its pages, without suppressed ones.",
        ),
        Column(
            Lead.completed_at,
            "Complete",
            "Completed",
            filter=(PresenceFilter("completed"), True),
            says="When all pending work for the lead was done.",
        ),
        Column(Lead.created_by, "Added by"),
        Column(Lead.created_at, "Added", filter=True, sort=True, table=SHOWN),
        Column(Lead.updated_at, "Changed", filter=True, sort=True, table=OPTIONAL),
    ),
    filters=(
        TextFilter(
            "search",
            columns=(
                Lead.name,
                Lead.website,
                Lead.category,
                Lead.address,
                Lead.best_email,
                Lead.phone,
            ),
            says="Part of the name, website, category, address, best e-mail or phone number.",
        ),
        ConditionFilter(
            "search_id", UUID, "Only leads that this place search led to.", _match_search
        ),
    ),
)

CURATION = Curation(LEADS, Lead.lead_curation_status, LeadCuration)

EXPORT = Export(LEADS, "leads", beside=((Domain, Domain.id == Lead.domain_id),))
