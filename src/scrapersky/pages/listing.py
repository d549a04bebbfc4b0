"""The list of pages: how it can be narrowed and sorted."""

from __future__ import annotations

from scrapersky.http.lists import (
    Contains,
    Curation,
    Has,
    Is,
    Listing,
    OfDomain,
    OneOf,
    Queues,
    When,
)
from scrapersky.models import PAGE_WORDS, ContactScrape, Page, PageCuration
from scrapersky.models.stage_names import PAGE_STAGE

PAGES = Listing(
    name="Page",
    model=Page,
    filters=(
        OneOf(
            "page_curation_status",
            Page.page_curation_status,
            words=tuple(each.value for each in PageCuration),
        ),
        OneOf(
            "page_processing_status",
            Page.page_processing_status,
            words=("New", *PAGE_WORDS.all),
        ),
        OneOf(
            "contact_scrape_status",
            Page.contact_scrape_status,
            words=tuple(each.value for each in ContactScrape),
        ),
        OneOf("page_type", Page.page_type),
        Has("has_page_type", Page.page_type),
        OneOf("host", Page.host),
        OneOf("http_status", Page.http_status),
        OneOf("priority_level", Page.priority_level),
        OneOf("language", Page.language),
        Is("has_contact_form", Page.has_contact_form),
        OfDomain(Page.domain_id),
        OneOf("domain_id", Page.domain_id),
        OneOf("sitemap_file_id", Page.sitemap_file_id),
        When("created", Page.created_at),
        When("lastmod", Page.lastmod),
        When("read", Page.read_at),
        Has("has_error", Page.page_processing_error),
        Contains("error", (Page.page_processing_error,)),
        Contains(
            "text",
            (Page.title, Page.description, Page.h1),
            says="In its title, description or heading.",
        ),
        Contains("search", (Page.url,), says="Part of the address."),
    ),
    sorts={
        "created_at": Page.created_at,
        "lastmod": Page.lastmod,
        "path_depth": Page.path_depth,
        "read_at": Page.read_at,
        "http_status": Page.http_status,
        "contacts_found": Page.contacts_found,
        "priority_level": Page.priority_level,
    },
)

CURATION = Curation(
    PAGES,
    Page.page_curation_status,
    PageCuration,
    Queues(stage=PAGE_STAGE, status="page_processing_status", words=PAGE_WORDS),
)
