"""For every stage, how to create due rows; used by the contract test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.businesses import domain_extraction
from scrapersky.contacts import extraction as reading
from scrapersky.contacts.page_parser import ParsedPage
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.domains import metadata
from scrapersky.models import (
    DEFAULT_TENANT_ID,
    Contact,
    Domain,
    Job,
    LocalBusiness,
    Page,
    Place,
    SearchPlace,
    SitemapFile,
    SitemapUrl,
    WebhookDelivery,
    WebhookEndpoint,
)
from scrapersky.pipeline.stage import AnyStage
from scrapersky.places import deep_scan
from scrapersky.places.deep_scan import DetailsKnown
from scrapersky.places.search import execution, google, steps
from scrapersky.places.search.tiles import Tile
from scrapersky.scraper.contacts.finder import read_contacts
from scrapersky.scraper.html.facts import read_page
from scrapersky.scraper.http.responses import Response
from scrapersky.scraper.http.urls import Site, url_digest
from scrapersky.scraper.providers.model import Area, PlaceFacts
from scrapersky.scraper.site.metadata import analyze_home_page
from scrapersky.scraper.site.website import classify_website
from scrapersky.scraper.sitemaps.events import (
    Analysis,
    DiscoveryMethod,
    ScanOutcome,
    SitemapDone,
    SitemapFound,
    SitemapStatus,
    SitemapType,
)
from scrapersky.scraper.sitemaps.parse.entries import UrlEntry
from scrapersky.sitemaps import discovery, imports, submission
from scrapersky.sitemaps.rescans import RescanPolicy
from scrapersky.sitemaps.scan_buffer import ScanFindings, UrlRows, build_rows
from scrapersky.webhooks import delivery
from tests.noop import NOOP, NoopRow

SYSTEM_USER_ID = UUID("5905e9fe-6c61-4694-b09a-6602017b000a")
OWNED = {"tenant_id": DEFAULT_TENANT_ID, "created_by": SYSTEM_USER_ID}


@dataclass(frozen=True)
class Case:
    """A stage with rows to work and a result to store."""

    stage: AnyStage
    make_due: Callable[[AsyncSession, int], Awaitable[list[UUID]]]
    result: Callable[[Any], Any]
    """A result of its work for a row, as `store` takes it."""
    effects: Callable[[AsyncSession], Awaitable[int]]
    """How much is stored by it, over all rows."""


async def _noop_rows(session: AsyncSession, count: int) -> list[UUID]:
    rows = [NoopRow(id=uuid7()) for _ in range(count)]
    session.add_all(rows)
    return [row.id for row in rows]


async def _noop_effects(session: AsyncSession) -> int:
    return int(await session.scalar(select(func.sum(NoopRow.effects))) or 0)


async def _domains(
    session: AsyncSession, count: int, status: str, *, home_page: str = "completed"
) -> list[Domain]:
    domains = [
        Domain(
            id=uuid7(),
            domain=f"site{n}-{uuid7().hex}.example",
            status=home_page,
            sitemap_analysis_status=status,
            **OWNED,
        )
        for n in range(count)
    ]
    session.add_all(domains)
    await session.flush()
    return domains


async def _queued_domains(session: AsyncSession, count: int) -> list[UUID]:
    return [domain.id for domain in await _domains(session, count, "queued")]


async def _job_count(session: AsyncSession) -> int:
    return int(await session.scalar(select(func.count()).select_from(Job)) or 0)


def _submission(name: str) -> submission.Submission:
    return submission.Submission(Site(key=name, host=name), 100)


async def _sitemap_jobs(session: AsyncSession, count: int) -> list[UUID]:
    jobs = [
        Job(
            id=uuid7(),
            job_type="sitemap",
            subject=domain.domain,
            params={"domain": domain.domain, "max_pages": 100},
            domain_id=domain.id,
            **OWNED,
        )
        for domain in await _domains(session, count, "submitted")
    ]
    session.add_all(jobs)
    await session.flush()
    return [job.id for job in jobs]


def _findings(_: Any) -> ScanFindings:
    url = "https://site.example/sitemap.xml"
    entries = tuple(UrlEntry(loc=f"https://site.example/{n}") for n in range(3))
    return ScanFindings(
        events=(
            SitemapFound(
                url=url,
                final_url=url,
                parent_url=None,
                sitemap_type=SitemapType.STANDARD,
                discovery_method=DiscoveryMethod.ROBOTS_TXT,
            ),
            UrlRows(url, build_rows(entries, None), is_known=False),
            SitemapDone(url=url, status=SitemapStatus.OK, url_count=3),
            Analysis(
                outcome=ScanOutcome.FOUND, base_url="https://site.example", sitemaps=1, urls=3
            ),
        ),
        progress=1.0,
        phase="done",
        rhythm=RescanPolicy(timedelta(days=7), timedelta(days=1), timedelta(days=30)),
    )


async def _stored_sitemaps(session: AsyncSession) -> int:
    files = await session.scalar(select(func.count()).select_from(SitemapFile))
    urls = await session.scalar(select(func.count()).select_from(SitemapUrl))
    return int(files or 0) + int(urls or 0)


async def _sitemap_files(session: AsyncSession, count: int) -> list[UUID]:
    """Read and queued for import, each of a domain of its own, with three URLs."""
    url = "https://site.example/sitemap.xml"
    files = [
        SitemapFile(
            id=uuid7(),
            domain_id=domain.id,
            url=url,
            url_digest=url_digest(url),
            sitemap_type="standard",
            discovery_method="manual",
            status="ok",
            last_processed_at=func.now(),
            sitemap_import_status="Queued",
            **OWNED,
        )
        for domain in await _domains(session, count, "submitted")
    ]
    session.add_all(files)
    await session.flush()
    urls = [f"https://site.example/{n}" for n in range(3)]
    await session.execute(
        insert(SitemapUrl),
        [
            {
                "sitemap_id": file.id,
                "url": url,
                "url_digest": url_digest(url),
                "first_seen": datetime.now(UTC),
            }
            for file in files
            for url in urls
        ],
    )
    return [file.id for file in files]


def _chunk(_: Any) -> imports.DigestRange:
    (whole,) = imports.build_ranges(3)
    return whole


async def _page_count(session: AsyncSession) -> int:
    return int(await session.scalar(select(func.count()).select_from(Page)) or 0)


HTML = (
    "<html lang=en><title>Bread</title><p>We bake every day, and have done so for years.</p>"
    "<a href=tel:+493411234567>Call</a> <a href=/contact>Contact</a></html>"
)


def _home_page(url: str) -> Response:
    return Response(url, url, 200, {"Content-Type": "text/html"}, HTML.encode())


def _site_read(name: str) -> metadata.HomePageResult:
    page = _home_page(f"https://{name}/")
    visit = analyze_home_page(page, requested_url=name)
    assert visit.facts is not None
    home = ParsedPage(
        page.url, page.url, 200, visit.facts, read_contacts(HTML, url=page.url), page.truncated
    )
    return metadata.HomePageResult(visit.metadata, home, visit.facts.links, pages_per_site=6)


async def _domains_to_read(session: AsyncSession, count: int) -> list[UUID]:
    domains = await _domains(session, count, "submitted", home_page="pending")
    return [domain.id for domain in domains]


async def _contacts_and_pages(session: AsyncSession) -> int:
    contacts = await session.scalar(select(func.count()).select_from(Contact))
    return int(contacts or 0) + await _page_count(session)


async def _queued_pages(session: AsyncSession, count: int) -> list[UUID]:
    pages = [
        Page(
            id=uuid7(),
            domain_id=domain.id,
            url=f"https://{domain.domain}/contact",
            url_digest=url_digest(f"https://{domain.domain}/contact"),
            host=domain.domain,
            path_depth=1,
            page_type="contact",
            page_processing_status="Queued",
            **OWNED,
        )
        for domain in await _domains(session, count, "submitted")
    ]
    session.add_all(pages)
    await session.flush()
    return [page.id for page in pages]


def _page_read(page: reading.PageToRead) -> ParsedPage:
    answer = _home_page(page.url)
    contacts = read_contacts(HTML, url=page.url)
    return ParsedPage(page.url, page.url, 200, read_page(answer), contacts)


async def _contact_count(session: AsyncSession) -> int:
    return int(await session.scalar(select(func.count()).select_from(Contact)) or 0)


async def _deliveries(session: AsyncSession, count: int) -> list[UUID]:
    """Each for an endpoint of its own."""
    ids = [uuid7() for _ in range(count)]
    url = "https://hooks.example/catch"
    endpoints = [
        WebhookEndpoint(id=each, url=url, secret="s", events=["job.finished"], **OWNED)
        for each in ids
    ]
    session.add_all(endpoints)
    await session.flush()
    session.add_all(
        WebhookDelivery(
            id=each,
            endpoint_id=each,
            tenant_id=DEFAULT_TENANT_ID,
            # Hosts take turns, and of one host no more are claimed than it may be asked at once.
            host=f"{each}.hooks.example",
            event="job.finished",
            payload={"status": "complete"},
        )
        for each in ids
    )
    await session.flush()
    return ids


async def _taken_count(session: AsyncSession) -> int:
    taken = select(func.count()).where(WebhookDelivery.delivered_at.is_not(None))
    return int(await session.scalar(taken) or 0)


async def _queued_places(session: AsyncSession, count: int) -> list[UUID]:
    places = [
        Place(
            id=uuid7(),
            provider="google",
            place_id=f"place-{uuid7().hex}",
            name=f"Bakery {uuid7().hex}",
            details_at=func.now(),
            deep_scan_status="Queued",
            **OWNED,
        )
        for _ in range(count)
    ]
    session.add_all(places)
    await session.flush()
    return [place.id for place in places]


async def _business_count(session: AsyncSession) -> int:
    return int(await session.scalar(select(func.count()).select_from(LocalBusiness)) or 0)


async def _businesses_to_extract(session: AsyncSession, count: int) -> list[UUID]:
    """Each names a website of its own."""
    businesses = [
        LocalBusiness(
            id=uuid7(),
            business_name=f"Bakery {n}",
            website_url=f"https://www.site{n}-{uuid7().hex}.example/?utm_source=maps",
            domain_extraction_status="Queued",
            **OWNED,
        )
        for n in range(count)
    ]
    session.add_all(businesses)
    await session.flush()
    return [each.id for each in businesses]


def _extracted(text: str) -> domain_extraction.ExtractedWebsite:
    return domain_extraction.ExtractedWebsite(text, classify_website(text), timedelta(days=7))


async def _linked_count(session: AsyncSession) -> int:
    linked = select(func.count()).where(Domain.local_business_id.is_not(None))
    return int(await session.scalar(linked) or 0)


async def _place_searches(session: AsyncSession, count: int) -> list[UUID]:
    params = {"business_type": "bakeries", "location": "Leipzig", "provider": "google"}
    jobs = [
        Job(
            id=uuid7(),
            job_type="place_search",
            subject=f"bakeries {n} {uuid7().hex}",
            params={**params, "max_results": 60},
            **OWNED,
        )
        for n in range(count)
    ]
    session.add_all(jobs)
    await session.flush()
    return [job.id for job in jobs]


def _places_found(wanted: google.SearchRequest) -> steps.PlacesFetched:
    facts = tuple(
        PlaceFacts("google", f"{wanted.search_id}-{n}", name="Bakery", has_details=True)
        for n in range(3)
    )
    whole = Tile("", Area(51.2, 12.2, 51.5, 12.6))
    return steps.PlacesFetched(whole, facts, 1, steps.SearchProgress(0.9, "asking"))


async def _places_and_links(session: AsyncSession) -> int:
    places = await session.scalar(select(func.count()).select_from(Place))
    links = await session.scalar(select(func.count()).select_from(SearchPlace))
    return int(places or 0) + int(links or 0)


CASES = {
    case.stage.name: case
    for case in (
        Case(NOOP, _noop_rows, lambda item: item, _noop_effects),
        Case(execution.STAGE, _place_searches, _places_found, _places_and_links),
        Case(
            deep_scan.STAGE,
            _queued_places,
            lambda _: DetailsKnown(extract=True),
            _business_count,
        ),
        Case(domain_extraction.STAGE, _businesses_to_extract, _extracted, _linked_count),
        Case(metadata.STAGE, _domains_to_read, _site_read, _contacts_and_pages),
        Case(submission.STAGE, _queued_domains, _submission, _job_count),
        Case(discovery.STAGE, _sitemap_jobs, _findings, _stored_sitemaps),
        Case(imports.STAGE, _sitemap_files, _chunk, _page_count),
        Case(reading.STAGE, _queued_pages, _page_read, _contact_count),
        Case(delivery.STAGE, _deliveries, lambda _: delivery.DeliverySucceeded(200), _taken_count),
    )
}


async def prepare(database: Database) -> None:
    """The no-op stage's table is no migration's business."""
    async with database.engine.begin() as connection:
        await connection.run_sync(NoopRow.__table__.create)  # type: ignore[attr-defined]
