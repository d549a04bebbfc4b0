"""Pages as a file: one line per address."""

from __future__ import annotations

from scrapersky.http.lists import Export, field
from scrapersky.models import Domain, Page
from scrapersky.pages.listing import PAGES

EXPORT = Export(
    listing=PAGES,
    rows="pages",
    usual=(
        field("domain", Domain.domain),
        field("url", Page.url, "URL"),
        field("page_type", Page.page_type, "Kind"),
        field("page_rule", Page.page_rule, "Known by"),
        field("title", Page.title),
        field("description", Page.description),
        field("http_status", Page.http_status, "HTTP status"),
        field("language", Page.language),
        field("has_contact_form", Page.has_contact_form),
        field("contacts_found", Page.contacts_found),
        field("contact_scrape_status", Page.contact_scrape_status, "Contacts"),
        field("page_processing_status", Page.page_processing_status, "Reading"),
        field("page_processing_error", Page.page_processing_error, "Why not read"),
        field("read_at", Page.read_at, "Read"),
        field("lastmod", Page.lastmod, "Last modified"),
        field("page_curation_status", Page.page_curation_status, "Curation"),
        field("created_at", Page.created_at, "Added"),
    ),
    more=(
        field("id", Page.id),
        field("domain_id", Page.domain_id),
        field("sitemap_file_id", Page.sitemap_file_id),
        field("host", Page.host),
        field("path_depth", Page.path_depth),
        field("page_confidence", Page.page_confidence, "Confidence"),
        field("priority_level", Page.priority_level),
        field("link_text", Page.link_text),
        field("final_url", Page.final_url, "Answered by"),
        field("h1", Page.h1, "First heading"),
        field("canonical", Page.canonical),
        field("robots_meta", Page.robots_meta),
        field("schema_types", Page.schema_types),
        field("forms", Page.forms),
        field("word_count", Page.word_count, "Words"),
        field("created_by", Page.created_by, "Added by"),
        field("updated_at", Page.updated_at, "Changed"),
    ),
    beside=((Domain, Domain.id == Page.domain_id),),
)
