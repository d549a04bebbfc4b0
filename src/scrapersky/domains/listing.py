"""The list of domains: how it can be narrowed and sorted."""

from __future__ import annotations

from scrapersky.http.lists import Contains, Has, Listing, OfDomain, OneOf, When
from scrapersky.models import Domain, DomainCuration
from scrapersky.models.domains import SUBMISSION_WORDS

ANALYSIS = ("pending", *SUBMISSION_WORDS.all)

DOMAINS = Listing(
    name="Domain",
    model=Domain,
    filters=(
        OneOf("sitemap_analysis_status", Domain.sitemap_analysis_status, words=ANALYSIS),
        OneOf(
            "sitemap_curation_status",
            Domain.sitemap_curation_status,
            words=tuple(each.value for each in DomainCuration),
        ),
        OfDomain(Domain.id),
        OneOf("domain_id", Domain.id),
        OneOf("created_by", Domain.created_by),
        When("created", Domain.created_at),
        When("last_scan", Domain.last_scan),
        When("next_scan", Domain.next_scan_at),
        Has("has_warning", Domain.scan_warning),
        Contains(
            "error",
            (Domain.sitemap_analysis_error, Domain.last_scan_error),
            says="In the error of its submission or of its last scan.",
        ),
        Contains("search", (Domain.domain,), says="Part of the name."),
    ),
    sorts={
        "created_at": Domain.created_at,
        "domain": Domain.domain,
        "sitemap_analysis_status": Domain.sitemap_analysis_status,
        "last_scan": Domain.last_scan,
        "next_scan_at": Domain.next_scan_at,
        "scan_failures": Domain.scan_failures,
        "total_sitemaps": Domain.total_sitemaps,
        "sitemap_urls": Domain.sitemap_urls,
    },
)
