"""The page about one page of a site: what it said, what kind it is, which contacts stand on it."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy import Select, and_, func, select

from scrapersky.dashboard.details.deciding import deciding, rights
from scrapersky.dashboard.details.evidence import highlighted, method_in_words
from scrapersky.dashboard.details.looking import events_of, open_letter
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.models import (
    PAGE_WORDS,
    Contact,
    ContactEvidence,
    ContactScrape,
    Domain,
    Page,
    SitemapFile,
    SitemapUrl,
    User,
)
from scrapersky.models.stage_names import PAGE_STAGE
from scrapersky.pages import service
from scrapersky.pages.listing import CURATION
from scrapersky.pages.schemas import PageOut

router = APIRouter(route_class=PageRoute)

CONTACTS_SHOWN = 25
SCRAPED = {
    ContactScrape.FOUND: "contacts found",
    ContactScrape.NONE: "no contact found",
    ContactScrape.ERROR: "not read for contacts",
    ContactScrape.NOT_A_FIT: "not a fit",
}
ENDED = (PAGE_WORDS.done, PAGE_WORDS.failed, PAGE_WORDS.skipped)


@router.get("/pages/{page_id}")
async def page_page(actor: Viewer, session: Reading, show: Showing, page_id: UUID) -> HTMLResponse:
    page = await service.page(session, actor, page_id)
    around = (await session.execute(_around(page))).one_or_none()
    domain, file, listed, maker = around or (None, None, None, None)
    found = (await session.execute(_contacts(page))).all()
    return show.page(
        "details/page.html",
        title=page.title or page.url,
        page=PageOut.model_validate(page),
        scraped=SCRAPED.get(ContactScrape(page.contact_scrape_status)),
        domain=domain,
        file=file,
        listed=listed,
        maker=maker,
        found=found,
        found_count=found[0].total if found else 0,
        attempts=page.page_processing_attempts,
        due_at=page.page_processing_due_at,
        waits=page.page_processing_status == PAGE_WORDS.queued,
        can_read_again=page.page_processing_status in ENDED,
        stage=PAGE_STAGE,
        events=await events_of(session, PAGE_STAGE, page.id),
        letter_id=await open_letter(session, PAGE_STAGE, page.id),
        decision=deciding(CURATION, page),
        how=method_in_words,
        highlighted=highlighted,
        **rights(actor),
    )


def _around(page: Page) -> Select[Domain, SitemapFile, SitemapUrl, str]:
    """Its site, the sitemap that speaks for it and what that says of it, who handed it in."""
    of_file = and_(
        SitemapUrl.sitemap_id == Page.sitemap_file_id, SitemapUrl.url_digest == Page.url_digest
    )
    return (
        select(Domain, SitemapFile, SitemapUrl, User.name)
        .select_from(Page)
        .join(Domain, Domain.id == Page.domain_id)
        .outerjoin(SitemapFile, SitemapFile.id == Page.sitemap_file_id)
        .outerjoin(SitemapUrl, of_file)
        .outerjoin(User, User.id == Page.created_by)
        .where(Page.id == page.id)
    )


def _contacts(page: Page) -> Select[Contact, ContactEvidence, int]:
    return (
        select(Contact, ContactEvidence, func.count().over().label("total"))
        .join(ContactEvidence, ContactEvidence.contact_id == Contact.id)
        .where(ContactEvidence.page_id == page.id)
        .order_by(ContactEvidence.confidence.desc(), ContactEvidence.id)
        .limit(CONTACTS_SHOWN)
    )
