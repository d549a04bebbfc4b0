"""Pages of the sites we know."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.tables import cells
from scrapersky.dashboard.tables.table import Act, Column, Nothing, Row, Table
from scrapersky.dashboard.wording import badge
from scrapersky.models import PAGE_WORDS
from scrapersky.models.stage_names import PAGE_STAGE
from scrapersky.pages.exporting import EXPORT
from scrapersky.pages.listing import CURATION
from scrapersky.pages.listing import PAGES as LISTING
from scrapersky.pages.schemas import PageOut

RETRY = f"/stages/{PAGE_STAGE}/rows/requeue"


async def _as_shown(_: AsyncSession, rows: Sequence[Row]) -> Sequence[Row]:
    """With the reason why a page was not read."""
    return [PageOut.model_validate(each) for each in rows]


def _reading(row: Row, may_change: bool) -> Markup:
    if row.reason:
        return badge(row.page_processing_status) + cells.below(row.reason)
    return cells.stage(
        "page_processing_status", "page_processing_error", failed=PAGE_WORDS.failed, retry=RETRY
    )(row, may_change)


def _title(row: Row, _: bool) -> Markup:
    return cells.brief(row.title or row.h1) + cells.below(row.description)


def _contacts(row: Row, _: bool) -> Markup:
    if row.contacts_found is None:
        return cells.brief(None)
    return Markup('<a href="/contacts?page_id={}">{}</a>').format(row.id, row.contacts_found)


PAGES = Table(
    kind="pages",
    title="Pages",
    noun="page",
    says="The pages of the sites you know: which were read, and what came of it.",
    listing=LISTING,
    curation=CURATION,
    export=EXPORT,
    hands_in="pages",
    segments="page_curation_status",
    prepare=_as_shown,
    acts=(Act("Retry reading", RETRY, "queued again", key="r", by_filter=False),),
    labels={
        "page_curation_status": "Decision",
        "page_processing_status": "Reading",
        "contact_scrape_status": "Contacts",
        "page_type": "Kind",
        "has_page_type": "Has a known kind",
        "http_status": "HTTP status",
        "priority_level": "Priority",
        "domain": "Site",
        "created": "Added",
        "lastmod": "Last modified",
        "read": "Read",
        "has_error": "Has an error",
        "text": "Title or heading",
    },
    columns=(
        Column("url", "Page", cells.opens("pages", lambda row: row.url.split("://", 1)[-1])),
        Column("title", "Title", _title),
        Column("page_curation_status", "Decision", cells.badge("page_curation_status")),
        Column("page_type", "Kind", cells.word("page_type")),
        Column("page_processing_status", "Reading", _reading),
        Column("contacts_found", "Contacts", _contacts, sort="contacts_found", number=True),
        Column("http_status", "HTTP", cells.number("http_status"), "http_status", number=True),
        Column("read_at", "Read", cells.moment("read_at"), sort="read_at"),
        Column("language", "Language", cells.text("language"), usual=False),
        Column("form", "Contact form", cells.yes_or_no("has_contact_form"), usual=False),
        Column("page_rule", "Known by", cells.text("page_rule"), usual=False),
        Column("link", "On the web", cells.site("url"), usual=False),
        Column("lastmod", "Last modified", cells.moment("lastmod"), "lastmod", usual=False),
        Column("created_at", "Added", cells.moment("created_at"), "created_at", usual=False),
    ),
    nothing=Nothing(
        "Pages come from sitemaps and home pages of the sites you hand in, or one by one.",
        "/import?kind=pages",
        "Hand in pages",
    ),
)
