"""Leads as a file: one line per business.

Leads are made without what is suppressed. What was found on a page in the very moment in which it
was suppressed is in them until they are next made, and is left out here.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Text, case, func, select

from scrapersky.harvest.suppressing import is_named
from scrapersky.http.lists import Export, field
from scrapersky.leads.listing import LEADS
from scrapersky.models import Domain, Lead, SuppressionKind


def _where_allowed(kind: SuppressionKind, value: Any, shown: Any) -> ColumnElement[Any]:
    """What is shown of a value that may be written to."""
    return case((~is_named(Lead.tenant_id, kind, value), shown))


def _those_allowed(kind: SuppressionKind, values: Any) -> ColumnElement[Any]:
    each = func.unnest(values).table_valued("value", with_ordinality="place").render_derived()
    left = select(each.c.value).where(~is_named(Lead.tenant_id, kind, each.c.value))
    ordered = left.order_by(each.c.place).correlate(Lead).scalar_subquery()
    return func.array(ordered, type_=ARRAY(Text))


EMAIL, PHONE = SuppressionKind.EMAIL, SuppressionKind.PHONE
BEST_EMAIL = _where_allowed(EMAIL, Lead.best_email, Lead.best_email)
WHY_BEST = _where_allowed(EMAIL, Lead.best_email, Lead.best_email_why)

EXPORT = Export(
    listing=LEADS,
    rows="leads",
    usual=(
        field("name", Lead.name),
        field("category", Lead.category),
        field("address", Lead.address),
        field("phone", _where_allowed(PHONE, Lead.phone, Lead.phone)),
        field("website", Lead.website),
        field("best_email", BEST_EMAIL, "Best e-mail"),
        field("best_email_why", WHY_BEST, "Why that one"),
        field("other_emails", _those_allowed(EMAIL, Lead.other_emails), "Other e-mails"),
        field("other_phones", _those_allowed(PHONE, Lead.other_phones)),
        field("profiles", Lead.profiles),
        field("rating", Lead.rating),
        field("reviews_count", Lead.reviews_count, "Reviews"),
        field("lead_curation_status", Lead.lead_curation_status, "Curation"),
        field("why_empty", Lead.why_empty, "Why no contact"),
        field("why_empty_detail", Lead.why_empty_detail, "In detail"),
    ),
    more=(
        field("id", Lead.id),
        field("domain_id", Lead.domain_id),
        field("domain", Domain.domain),
        field("local_business_id", Lead.local_business_id),
        field("businesses", Lead.businesses),
        field("name_from", Lead.name_from, "Name stands in"),
        field("phone_from", Lead.phone_from, "Phone is from"),
        field("contacts", Lead.contacts),
        field("completed_at", Lead.completed_at, "Complete"),
        field("created_by", Lead.created_by, "Added by"),
        field("created_at", Lead.created_at, "Added"),
        field("updated_at", Lead.updated_at, "Changed"),
    ),
    beside=((Domain, Domain.id == Lead.domain_id),),
)
