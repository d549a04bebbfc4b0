"""Page list and export: filters, sort keys, columns and curation."""

from __future__ import annotations

from scrapersky.lists import (
    BooleanFilter,
    ChoiceFilter,
    Curation,
    CurationQueue,
    DateRangeFilter,
    DomainFilter,
    Export,
    Listing,
    PresenceFilter,
    TextFilter,
    export_field,
)
from scrapersky.models import PAGE_STATUSES, ContactScrapeStatus, Domain, Page, PageCuration
from scrapersky.models.stage_names import PAGE_STAGE

PAGES = Listing(
    name="Page",
    model=Page,
    filters=(
        ChoiceFilter(
            "page_curation_status",
            Page.page_curation_status,
            words=tuple(each.value for each in PageCuration),
        ),
        ChoiceFilter(
            "page_processing_status",
            Page.page_processing_status,
            words=("New", *PAGE_STATUSES.all),
        ),
        ChoiceFilter(
            "contact_scrape_status",
            Page.contact_scrape_status,
            words=tuple(each.value for each in ContactScrapeStatus),
        ),
        ChoiceFilter("page_type", Page.page_type),
        PresenceFilter("has_page_type", Page.page_type),
        ChoiceFilter("host", Page.host),
        ChoiceFilter("http_status", Page.http_status),
        ChoiceFilter("priority_level", Page.priority_level),
        ChoiceFilter("language", Page.language),
        BooleanFilter("has_contact_form", Page.has_contact_form),
        DomainFilter(Page.domain_id),
        ChoiceFilter("domain_id", Page.domain_id),
        ChoiceFilter("sitemap_file_id", Page.sitemap_file_id),
        DateRangeFilter("created", Page.created_at),
        DateRangeFilter("lastmod", Page.lastmod),
        DateRangeFilter("read", Page.read_at),
        PresenceFilter("has_error", Page.page_processing_error),
        TextFilter("error", (Page.page_processing_error,)),
        TextFilter(
            "text",
            (Page.title, Page.description, Page.h1),
            says="Part of the title, description or heading.",
        ),
        TextFilter("search", (Page.url,), says="Part of the URL."),
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
    CurationQueue(stage=PAGE_STAGE, status="page_processing_status", words=PAGE_STATUSES),
)


EXPORT = Export(
    listing=PAGES,
    rows="pages",
    usual=(
        export_field("domain", Domain.domain),
        export_field("url", Page.url, "URL"),
        export_field("page_type", Page.page_type, "Page type"),
        export_field("page_rule", Page.page_rule, "Page type rule"),
        export_field("title", Page.title),
        export_field("description", Page.description),
        export_field("http_status", Page.http_status, "HTTP status"),
        export_field("language", Page.language),
        export_field("has_contact_form", Page.has_contact_form),
        export_field("contacts_found", Page.contacts_found),
        export_field("contact_scrape_status", Page.contact_scrape_status, "Contacts"),
        export_field("page_processing_status", Page.page_processing_status, "Reading"),
        export_field("page_processing_error", Page.page_processing_error, "Not read because"),
        export_field("read_at", Page.read_at, "Read"),
        export_field("lastmod", Page.lastmod, "Last modified"),
        export_field("page_curation_status", Page.page_curation_status, "Curation"),
        export_field("created_at", Page.created_at, "Added"),
    ),
    more=(
        export_field("id", Page.id),
        export_field("domain_id", Page.domain_id),
        export_field("sitemap_file_id", Page.sitemap_file_id),
        export_field("host", Page.host),
        export_field("path_depth", Page.path_depth),
        export_field("page_confidence", Page.page_confidence, "Confidence"),
        export_field("priority_level", Page.priority_level),
        export_field("link_text", Page.link_text),
        export_field("final_url", Page.final_url, "Final URL"),
        export_field("h1", Page.h1, "First heading"),
        export_field("canonical", Page.canonical),
        export_field("robots_meta", Page.robots_meta),
        export_field("schema_types", Page.schema_types),
        export_field("forms", Page.forms),
        export_field("word_count", Page.word_count, "Words"),
        export_field("created_by", Page.created_by, "Added by"),
        export_field("updated_at", Page.updated_at, "Changed"),
    ),
    beside=((Domain, Domain.id == Page.domain_id),),
)
