"""The list of businesses: how it can be narrowed and sorted, and what people decide about them."""

from __future__ import annotations

from scrapersky.businesses.listing_filters import FoundBySearch, ToldBy
from scrapersky.http.lists import (
    Among,
    AtLeast,
    Contains,
    Curation,
    Has,
    Listing,
    OfDomain,
    OneOf,
    Queues,
    When,
)
from scrapersky.models import (
    EXTRACTION_WORDS,
    NOT_QUEUED,
    BusinessCuration,
    BusinessStatus,
    LocalBusiness,
    Provider,
    WebsiteKind,
)
from scrapersky.models.stage_names import EXTRACTION_STAGE

BUSINESSES = Listing(
    name="LocalBusiness",
    model=LocalBusiness,
    filters=(
        OneOf("status", LocalBusiness.status, words=tuple(each.value for each in BusinessCuration)),
        OneOf(
            "domain_extraction_status",
            LocalBusiness.domain_extraction_status,
            words=(NOT_QUEUED, *EXTRACTION_WORDS.all),
        ),
        OneOf(
            "website_kind",
            LocalBusiness.website_kind,
            words=tuple(each.value for each in WebsiteKind),
        ),
        OneOf(
            "business_status",
            LocalBusiness.business_status,
            words=tuple(each.value for each in BusinessStatus),
        ),
        Has("has_website", LocalBusiness.website_url),
        Has("has_phone", LocalBusiness.phone),
        Has("has_domain", LocalBusiness.domain_id),
        Among(
            "category",
            LocalBusiness.categories,
            "Among all of its categories, as the provider calls it.",
            "bakery",
        ),
        OneOf("city", LocalBusiness.city),
        OneOf("country", LocalBusiness.country, says="Two letters; several may be given."),
        OneOf("postal_code", LocalBusiness.postal_code),
        ToldBy(tuple(each.value for each in Provider)),
        FoundBySearch(),
        AtLeast("min_rating", LocalBusiness.rating, 5, "Rated as well as this at least: 0 to 5."),
        AtLeast(
            "min_reviews", LocalBusiness.reviews_count, 2_000_000_000, "Rated by so many at least."
        ),
        OfDomain(LocalBusiness.domain_id),
        OneOf("domain_id", LocalBusiness.domain_id),
        OneOf("created_by", LocalBusiness.created_by),
        Contains(
            "error",
            (LocalBusiness.domain_extraction_error,),
            says="In the error of its domain extraction.",
        ),
        Contains(
            "search",
            (
                LocalBusiness.business_name,
                LocalBusiness.address,
                LocalBusiness.website_url,
                LocalBusiness.phone,
            ),
            says="In name, address, website or phone.",
        ),
        When("created", LocalBusiness.created_at),
        When("refreshed", LocalBusiness.refreshed_at),
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
    Queues(stage=EXTRACTION_STAGE, status="domain_extraction_status", words=EXTRACTION_WORDS),
)
