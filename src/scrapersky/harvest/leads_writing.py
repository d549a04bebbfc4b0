"""Write into a lead what is known: first what its pages publish, then what providers told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scrapersky.harvest.best import Choice, choose
from scrapersky.harvest.emptiness import PagesOfSite, why_empty, why_without_site
from scrapersky.harvest.leads_told import Told
from scrapersky.models import Contact, Domain, Lead, WebsiteKind
from scrapersky.scraper.contact_finder.emails import is_undeliverable

BY_THE_SITE = "site"


@dataclass(frozen=True)
class Known:
    """All that a lead is made from."""

    contacts: Sequence[Contact] = field(default_factory=list)
    """The best of them."""
    count: int = 0
    """How many there are."""
    pages: PagesOfSite = field(default_factory=PagesOfSite)
    told: Told | None = None
    """Nothing where nobody but the site itself told of the business."""


def write_lead(lead: Lead, domain: Domain, known: Known) -> None:
    organisation: Mapping[str, Any] = domain.meta_json.get("organisation") or {}
    names = {
        "json_ld": organisation.get("name"),
        "place": known.told.business.business_name if known.told else None,
        "site_name": domain.meta_json.get("site_name"),
        "title": domain.title,
    }
    lead.name_from, lead.name = next(
        ((source, name) for source, name in names.items() if name), (None, None)
    )
    lead.category = organisation.get("type")
    lead.address = organisation.get("address_text")
    lead.website = domain.base_url or domain.domain
    choice = choose(known.contacts, organisation, site=domain.domain)
    _write_contacts(lead, choice, known.count)
    _write_told(lead, known.told)
    lead.why_empty, lead.why_empty_detail = (
        (None, None) if known.contacts else why_empty(domain, known.pages)
    )


def write_lead_without_site(lead: Lead, told: Told) -> None:
    business = told.business
    lead.name, lead.name_from = business.business_name, "place" if business.business_name else None
    lead.category = lead.address = None
    is_page = business.website_kind == WebsiteKind.SITE_BUILDER
    lead.website = business.website_url if is_page else None
    _write_contacts(lead, Choice(), 0)
    _write_told(lead, told)
    lead.why_empty, lead.why_empty_detail = why_without_site(business)


def _write_contacts(lead: Lead, choice: Choice, count: int) -> None:
    lead.best_email, lead.best_email_why = choice.email, choice.email_why
    lead.other_emails, lead.phone = choice.other_emails, choice.phone
    lead.phone_from = BY_THE_SITE if choice.phone else None
    lead.other_phones, lead.profiles = choice.other_phones, choice.profiles
    lead.contacts = count
    lead.stale_since = None


def _write_told(lead: Lead, told: Told | None) -> None:
    """What providers say fills what the site leaves open; their profiles are added to its own."""
    business = told.business if told else None
    lead.local_business_id = business.id if business else None
    lead.businesses = told.count if told else 0
    lead.rating = business.rating if business else None
    lead.reviews_count = business.reviews_count if business else None
    if told is None or business is None:
        return
    lead.category = lead.category or next(iter(business.categories or ()), None)
    lead.address = lead.address or business.address
    lead.profiles = list(dict.fromkeys((*lead.profiles, *(business.profiles or ()))))
    if not lead.phone and told.phone:
        lead.phone, lead.phone_from = told.phone, told.source("phone")
    emails = [each for each in told.emails if not is_undeliverable(each, on_test_site=True)]
    if not lead.best_email and emails:
        lead.best_email, *lead.other_emails = emails
        lead.best_email_why = f"No page has one; {told.source('emails')} told of it."
