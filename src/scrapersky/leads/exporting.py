"""Leads as a file: one line per business."""

from __future__ import annotations

from scrapersky.http.lists import Export, field
from scrapersky.leads.listing import LEADS
from scrapersky.models import Domain, Lead

EXPORT = Export(
    listing=LEADS,
    rows="leads",
    usual=(
        field("name", Lead.name),
        field("category", Lead.category),
        field("address", Lead.address),
        field("phone", Lead.phone),
        field("website", Lead.website),
        field("best_email", Lead.best_email, "Best e-mail"),
        field("best_email_why", Lead.best_email_why, "Why that one"),
        field("other_emails", Lead.other_emails, "Other e-mails"),
        field("other_phones", Lead.other_phones),
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
        field("name_from", Lead.name_from, "Name stands in"),
        field("contacts", Lead.contacts),
        field("created_by", Lead.created_by, "Added by"),
        field("created_at", Lead.created_at, "Added"),
        field("updated_at", Lead.updated_at, "Changed"),
    ),
    beside=((Domain, Domain.id == Lead.domain_id),),
)
