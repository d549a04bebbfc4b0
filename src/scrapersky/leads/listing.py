"""The list of leads: how it can be narrowed and sorted."""

from __future__ import annotations

from scrapersky.http.lists import AtLeast, Contains, Curation, Has, Listing, OfDomain, OneOf, When
from scrapersky.leads.filters import FoundBySearch
from scrapersky.models import Lead, LeadCuration, WhyEmpty

LEADS = Listing(
    name="Lead",
    model=Lead,
    filters=(
        OneOf(
            "lead_curation_status",
            Lead.lead_curation_status,
            words=tuple(each.value for each in LeadCuration),
        ),
        OneOf("why_empty", Lead.why_empty, words=tuple(each.value for each in WhyEmpty)),
        Has("is_empty", Lead.why_empty),
        Has("has_email", Lead.best_email),
        Has("has_phone", Lead.phone),
        Has("has_name", Lead.name),
        Has("has_website", Lead.domain_id),
        Has("completed", Lead.completed_at),
        AtLeast("min_rating", Lead.rating, 5, "Rated as well as this at least: 0 to 5."),
        OneOf("category", Lead.category),
        Contains("address", (Lead.address,), says="Part of the address: a street, town, country."),
        Contains("name", (Lead.name,)),
        Contains(
            "search",
            (Lead.name, Lead.website, Lead.category, Lead.address, Lead.best_email, Lead.phone),
            says="In name, website, category, address, best e-mail or phone.",
        ),
        OfDomain(Lead.domain_id),
        OneOf("domain_id", Lead.domain_id),
        OneOf("local_business_id", Lead.local_business_id),
        FoundBySearch(),
        When("created", Lead.created_at),
        When("updated", Lead.updated_at),
        When("completed", Lead.completed_at),
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
