"""Page list and export: columns, filters and curation."""

from __future__ import annotations

from scrapersky.lists import (
    OPTIONAL,
    SHOWN,
    CellKind,
    ChoiceFilter,
    Column,
    Curation,
    CurationQueue,
    DomainFilter,
    Export,
    Listing,
    PresenceFilter,
    TextFilter,
    build_curation_column,
)
from scrapersky.models import PAGE_STATUSES, ContactScrapeStatus, Domain, Page, PageCuration
from scrapersky.models.stage_names import PAGE_STAGE

PAGES = Listing(
    name="Page",
    model=Page,
    columns=(
        Column(Domain.domain, api=False),
        Column(Page.url, "URL", "Page", table=SHOWN, example="https://example.com/about"),
        Column(
            Page.page_type,
            label="Kind",
            filter=(True, PresenceFilter("has_page_type")),
            table=SHOWN,
            cell=CellKind.WORD,
            says="Null until classified.",
            example="contact",
        ),
        Column(
            Page.page_rule,
            "Page type rule",
            "Classified by",
            table=OPTIONAL,
            says="The rule that determined the page type.",
            example="path: kontakt (de)",
        ),
        Column(Page.title, table=SHOWN),
        Column(Page.description),
        Column(Page.http_status, "HTTP status", filter=True, sort=True, table=SHOWN),
        Column(Page.language, filter=True, table=OPTIONAL),
        Column(Page.has_contact_form, label="Contact form", filter=True, table=OPTIONAL),
        Column(Page.contacts_found, label="Contacts", sort=True, table=SHOWN),
        Column(
            Page.contact_scrape_status,
            "Contacts",
            filter=ContactScrapeStatus,
            example="ContactFound",
        ),
        Column(
            Page.page_processing_status,
            "Reading",
            filter=ChoiceFilter(words=("New", *PAGE_STATUSES.all)),
            table=SHOWN,
            example="Complete",
        ),
        Column(
            Page.page_processing_error,
            "Not read because",
            filter=(PresenceFilter("has_error"), TextFilter("error")),
        ),
        Column(Page.read_at, "Read", filter=True, sort=True, table=SHOWN),
        Column(Page.lastmod, "Last modified", filter=True, sort=True, table=OPTIONAL),
        build_curation_column(Page.page_curation_status, PageCuration),
        Column(Page.created_at, "Added", filter=True, sort=True, table=OPTIONAL),
    ),
    more=(
        Column(Page.id),
        Column(Page.domain_id, filter=(DomainFilter(), True)),
        Column(Page.sitemap_file_id, filter=True, says="The sitemap file that lists it."),
        Column(
            Page.host,
            filter=True,
            says="The host that serves it, with its port.",
            example="example.com",
        ),
        Column(
            Page.path_depth,
            sort=True,
            says="Number of path segments. 0 is the home page.",
            example=1,
        ),
        Column(Page.page_confidence, "Confidence"),
        Column(
            Page.priority_level,
            label="Priority",
            filter=True,
            sort=True,
            says="Lower numbers are read first.",
            example=5,
        ),
        Column(Page.link_text, says="Text of the link that led to the page."),
        Column(Page.final_url, "Final URL"),
        Column(Page.h1, "First heading"),
        Column(Page.canonical),
        Column(Page.robots_meta),
        Column(Page.schema_types),
        Column(Page.forms),
        Column(Page.word_count, "Words"),
        Column(Page.created_by, "Added by"),
        Column(Page.updated_at, "Changed"),
    ),
    filters=(
        TextFilter(
            "text",
            columns=(Page.title, Page.description, Page.h1),
            says="Part of the title, description or heading.",
        ),
        TextFilter("search", Page.url, says="Part of the URL."),
    ),
)

CURATION = Curation(
    PAGES,
    Page.page_curation_status,
    PageCuration,
    CurationQueue(stage=PAGE_STAGE, status="page_processing_status", words=PAGE_STATUSES),
)

EXPORT = Export(PAGES, "pages", beside=((Domain, Domain.id == Page.domain_id),))
