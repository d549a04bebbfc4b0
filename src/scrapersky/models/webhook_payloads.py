"""Payloads of webhook events: flat, in the field names of the API.

Fields are only ever added while `API_VERSION` stays the same. Timestamps are left out: an event is
written in the transaction of the change, so its own `created_at` is the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scrapersky.models.contacts import Contact, Lead
from scrapersky.models.domains import Domain
from scrapersky.models.jobs import SITEMAPS_COUNT, Job
from scrapersky.pipeline.tables import Alert

API_VERSION = "v3"

EventData = dict[str, Any]

_LEAD_FIELDS = (
    "id", "domain_id", "local_business_id", "businesses", "name", "category", "address", "phone",
    "website", "best_email", "best_email_why", "other_emails", "other_phones", "profiles",
    "contacts", "rating", "reviews_count", "why_empty", "why_empty_detail", "lead_curation_status",
)  # fmt: skip
_CONTACT_FIELDS = (
    "id", "domain_id", "page_id", "kind", "value", "name", "role", "email_type", "is_role_address",
    "same_site", "method", "confidence",
)  # fmt: skip
_DOMAIN_FIELDS = (
    "id", "domain", "base_url", "local_business_id", "site_state", "site_state_reason",
    "redirects_to", "title", "description", "language", "cms", "shop_system", "has_contact_form",
    "total_sitemaps", "sitemap_urls",
)  # fmt: skip
_ALERT_FIELDS = ("id", "rule", "subject", "sentence", "began_at", "cleared_at")


def build_lead_data(lead: Lead) -> EventData:
    """Build the payload of a lead. Leads contain no suppressed values."""
    return {**_copy_fields(lead, _LEAD_FIELDS), "link": f"/leads/{lead.id}"}


def build_contact_data(contact: Contact, *, domain: str, page_url: str | None) -> EventData:
    """Build the payload of a contact, without its snippet, which may name other people."""
    more = {"domain": domain, "page_url": page_url, "link": f"/contacts/{contact.id}"}
    return {**_copy_fields(contact, _CONTACT_FIELDS), **more}


def build_domain_data(domain: Domain) -> EventData:
    return {**_copy_fields(domain, _DOMAIN_FIELDS), "link": f"/domains/{domain.id}"}


def build_sitemap_data(domain: Domain, job: Job, changes: Mapping[str, int]) -> EventData:
    """Build the payload of a sitemap scan, with counts of new, changed and gone URLs."""
    named = {"new": changes["added"], "changed": changes["changed"], "gone": changes["gone"]}
    return {
        "domain_id": domain.id,
        "domain": domain.domain,
        "job_id": job.id,
        **named,
        "total_sitemaps": domain.total_sitemaps,
        "sitemap_urls": domain.sitemap_urls,
        "link": f"/domains/{domain.id}",
    }


def build_job_data(job: Job, *, status: str, error: str | None) -> EventData:
    """Build the payload of a job, with the counts from its result."""
    result = job.result_data or {}
    counts = {name: value for name, value in result.items() if type(value) is int}
    if SITEMAPS_COUNT in counts:
        counts["sitemaps"] = counts[SITEMAPS_COUNT]  # key used before the result contained a list
    return {
        "id": job.id,
        "job_type": job.job_type,
        "status": status,
        "subject": job.subject,
        "domain_id": job.domain_id,
        "batch_id": job.batch_id,
        "error": error,
        "counts": counts,
        "link": f"/jobs/{job.id}",
    }


def build_alert_data(alert: Alert) -> EventData:
    return {**_copy_fields(alert, _ALERT_FIELDS), "link": "/alerts"}


def _copy_fields(row: Any, names: tuple[str, ...]) -> EventData:
    return {name: getattr(row, name) for name in names}
