"""The list of pages: how it can be narrowed and sorted."""

from __future__ import annotations

from scrapersky.http.lists import Contains, Has, Listing, OfDomain, OneOf, When
from scrapersky.models import Page, PageCuration

PAGES = Listing(
    name="Page",
    model=Page,
    filters=(
        OneOf(
            "page_curation_status",
            Page.page_curation_status,
            words=tuple(each.value for each in PageCuration),
        ),
        OneOf("page_type", Page.page_type),
        Has("has_page_type", Page.page_type),
        OfDomain(Page.domain_id),
        OneOf("domain_id", Page.domain_id),
        OneOf("sitemap_file_id", Page.sitemap_file_id),
        When("created", Page.created_at),
        When("lastmod", Page.lastmod),
        Contains("search", (Page.url,), says="Part of the address."),
    ),
    sorts={
        "created_at": Page.created_at,
        "lastmod": Page.lastmod,
        "path_depth": Page.path_depth,
        "priority_level": Page.priority_level,
    },
)
