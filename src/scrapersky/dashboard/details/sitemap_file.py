"""The page of one sitemap file: what became of it, where it stands, which URLs it lists."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy import Select, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.details.deciding import deciding, rights
from scrapersky.dashboard.details.looking import events_of, open_letter
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.models import Domain, Job, SitemapFile, User
from scrapersky.models.sitemaps import IMPORT_WORDS
from scrapersky.models.stage_names import IMPORT_STAGE
from scrapersky.scraper.urls import url_digest
from scrapersky.sitemaps import service
from scrapersky.sitemaps.listing import CURATION
from scrapersky.sitemaps.url_lists import urls_of_file

router = APIRouter(route_class=PageRoute)

URLS_SHOWN = 25
CHILDREN_SHOWN = 40
FOUND_BY = {
    "robots_txt": "its site's robots.txt names it",
    "common_path": "it lies where sitemaps usually are",
    "html_link": "the home page links to it",
    "sitemap_index": "an index lists it",
    "manual": "somebody handed it in",
}
DROPPED = {
    "foreign_host": "on another host",
    "empty_loc": "without an address",
    "undefined_entity": "with an XML entity in the address that is not defined",
    "too_long": "with an address that is too long",
    "not_http": "not of the web",
    "bad_url": "with no valid address",
    "not_a_url": "lines without an address",
    "broken_tag": "with broken markup",
    "oversized_record": "too large",
    "cut": "cut off at the end",
    "bad_lastmod": "dates that are none",
    "bad_changefreq": "unknown words for how often it changes",
    "bad_priority": "priorities that are none",
}


@router.get("/sitemap-files/{file_id}")
async def sitemap_file_page(
    actor: Viewer, session: Reading, show: Showing, file_id: UUID
) -> HTMLResponse:
    file = await service.sitemap_file(session, actor, file_id)
    domain, job, maker = (await session.execute(_around(file))).one_or_none() or (None, None, None)
    children = (await session.execute(_children(file))).all()
    return show.page(
        "details/sitemap_file.html",
        title=file.url,
        file=file,
        domain=domain,
        job=job,
        maker=maker,
        parent=await _parent(session, file),
        children=[each[0] for each in children],
        child_count=children[0].total if children else 0,
        urls=await urls_of_file(session, file.id, limit=URLS_SHOWN),
        events=await events_of(session, IMPORT_STAGE, file.id),
        letter_id=await open_letter(session, IMPORT_STAGE, file.id),
        found_by=FOUND_BY.get(file.discovery_method, file.discovery_method),
        dropped=[(DROPPED.get(name, name), count) for name, count in file.dropped.items()],
        import_active=file.sitemap_import_status in (IMPORT_WORDS.queued, IMPORT_WORDS.processing),
        decision=deciding(CURATION, file),
        **rights(actor),
    )


def _around(file: SitemapFile) -> Select[Domain, Job, str]:
    return (
        select(Domain, Job, User.name)
        .select_from(SitemapFile)
        .join(Domain, Domain.id == SitemapFile.domain_id)
        .outerjoin(Job, Job.id == SitemapFile.job_id)
        .outerjoin(User, User.id == SitemapFile.created_by)
        .where(SitemapFile.id == file.id)
    )


async def _parent(session: AsyncSession, file: SitemapFile) -> SitemapFile | None:
    if file.parent_url is None:
        return None
    found: SitemapFile | None = await session.scalar(
        select(SitemapFile).where(
            SitemapFile.domain_id == file.domain_id,
            SitemapFile.url_digest == url_digest(file.parent_url),
        )
    )
    return found


def _children(file: SitemapFile) -> Select[SitemapFile, int]:
    named = [SitemapFile.parent_url == each for each in {file.url, file.final_url} if each]
    return (
        select(SitemapFile, func.count().over().label("total"))
        .where(SitemapFile.domain_id == file.domain_id, or_(*named), SitemapFile.id != file.id)
        .order_by(SitemapFile.created_at, SitemapFile.id)
        .limit(CHILDREN_SHOWN)
    )
