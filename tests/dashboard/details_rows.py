"""A bakery with complete data, for tests of detail pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import select

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import Domain, Job, Lead, SitemapFile, SitemapUrl
from scrapersky.models.stage_names import SITEMAP_STAGE
from scrapersky.pipeline.tables import DeadLetter, StageEvent
from scrapersky.scraper.http.urls import url_digest
from tests.contacts.rows import a_contact, a_domain, a_page, a_sighting, stored
from tests.stage_cases import OWNED

NOW = datetime.now(UTC)
SITE = "backhaus-berger.de"
HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">\u202egnp.exe'


@dataclass(frozen=True)
class Known:
    """The ids of its rows, by the kind of page that shows them."""

    domains: UUID
    jobs: UUID
    contacts: UUID
    leads: UUID
    pages: UUID
    sitemap_files: UUID
    dead_letters: UUID
    index: UUID
    failed_job: UUID
    phone: UUID

    def paths(self) -> dict[str, str]:
        kinds = ("domains", "jobs", "contacts", "leads", "pages", "sitemap-files", "dead-letters")
        return {kind: f"/{kind}/{getattr(self, kind.replace('-', '_'))}" for kind in kinds}


def a_job(domain: Domain, status: str, **more: Any) -> Job:
    known = {"tenant_id": domain.tenant_id, "created_by": domain.created_by}
    params = {"domain": domain.domain, "max_pages": 100}
    return Job(
        id=uuid7(),
        job_type="sitemap",
        subject=domain.domain,
        params=params,
        domain_id=domain.id,
        status=status,
        **{**known, **more},
    )


def a_sitemap(domain: Domain, path: str, **more: Any) -> SitemapFile:
    url = f"https://{domain.domain}{path}"
    known = {
        "tenant_id": domain.tenant_id,
        "created_by": domain.created_by,
        "discovery_method": "robots_txt",
        "sitemap_type": "standard",
        "status": "ok",
        **more,
    }
    return SitemapFile(
        id=uuid7(), domain_id=domain.id, url=url, url_digest=url_digest(url), **known
    )


def a_listed_url(file: SitemapFile, url: str) -> SitemapUrl:
    return SitemapUrl(sitemap_id=file.id, url=url, url_digest=url_digest(url), first_seen=NOW)


def scanned(added: int, changed: int, gone: int) -> dict[str, Any]:
    changes = {"added": added, "changed": changed, "gone": gone}
    return {"outcome": "found", "base_url": f"https://{SITE}", "sitemaps_count": 3, "urls": 40} | {
        "changes": changes,
        "errors": ["https://backhaus-berger.de/broken.xml: not XML"],
    }


def _domain() -> Domain:
    return a_domain(
        SITE,
        status="completed",
        sitemap_analysis_status="submitted",
        base_url=f"https://www.{SITE}",
        title="Backhaus Berger",
        description="Bread since 1904",
        language="de",
        cms="WordPress",
        cms_version="6.5",
        site_state="ok",
        metadata_read_at=NOW,
        last_scan=NOW,
        next_scan_at=NOW + timedelta(days=3),
        next_scan_why="Next scan in 3 days because the last scan found changes.",
        total_sitemaps=3,
        sitemap_urls=40,
        tech_stack=[
            {
                "name": "Elementor",
                "category": "site_builder",
                "version": "3.2",
                "evidence": "a stylesheet of it",
            }
        ],
    )


async def bakery_of_everything(database: Database) -> Known:
    domain = _domain()
    first = a_job(
        domain,
        "complete",
        progress=1,
        phase="done",
        result_data=scanned(40, 0, 0),
        created_at=NOW - timedelta(days=8),
        finished_at=NOW - timedelta(days=8),
    )
    job = a_job(
        domain,
        "complete",
        progress=1,
        phase="done",
        result_data=scanned(2, 3, 1),
        started_at=NOW - timedelta(seconds=70),
        finished_at=NOW,
    )
    failed = a_job(
        domain, "failed", error="It does not answer.", created_at=NOW - timedelta(days=9)
    )
    index = a_sitemap(
        domain, "/sitemap.xml", sitemap_type="index", url_count=2, job_id=job.id, etag='"abc"'
    )
    listed = {"parent_url": index.url, "depth": 1, "job_id": job.id}
    file = a_sitemap(
        domain,
        "/pages.xml",
        url_count=40,
        dropped={"foreign_host": 7},
        http_status=200,
        response_time_ms=120,
        sitemap_import_status="Complete",
        **listed,
    )
    refused = a_sitemap(domain, "/broken.xml", **{**listed, "status": "error"}, reason="Not XML.")
    page = a_page(
        domain,
        "/kontakt",
        sitemap_file_id=file.id,
        page_type="contact",
        page_rule="path: kontakt (de)",
        page_confidence=0.95,
        priority_level=2,
        page_processing_status="Complete",
        contact_scrape_status="ContactFound",
        contacts_found=2,
        title="Kontakt",
        h1="Schreiben Sie uns",
        word_count=230,
        schema_types=["Bakery"],
        http_status=200,
        read_at=NOW,
    )
    filtered = a_page(domain, "/blog/1", page_type="blog", page_processing_status="Filtered")
    url = a_listed_url(file, page.url)
    email = a_contact(domain, f"info@{SITE}", page, snippet="Mail an info@backhaus-berger.de")
    phone = a_contact(domain, "+4930901820", page, kind="phone", raw="030 / 90 18 20", method="tel")
    seen = a_sighting(email, page, snippet="Schreiben Sie an info@backhaus-berger.de, gern.")
    called = a_sighting(phone, page, method="tel", snippet="Telefon: 030 / 90 18 20 (Mo-Fr)")
    letter = DeadLetter(
        id=uuid7(),
        tenant_id=domain.tenant_id,
        stage=SITEMAP_STAGE,
        row_id=failed.id,
        attempts=3,
        error_class="TimeoutError",
        error="It does not answer.",
        traceback="Traceback (most recent call last):\n  File <x>\nTimeoutError",
        worker="host-1, process 12",
    )
    event = StageEvent(
        stage=SITEMAP_STAGE,
        row_id=failed.id,
        kind="retried",
        attempt=1,
        durations_ms=[1500],
        error="Connection reset.",
    )
    rows = (domain, first, job, failed, index, file, refused, page, filtered, url)
    await stored(database, *rows, email, phone, seen, called, letter, event)
    return Known(
        domains=domain.id,
        jobs=job.id,
        contacts=email.id,
        leads=await lead_of(database, domain.id),
        pages=page.id,
        sitemap_files=file.id,
        dead_letters=letter.id,
        index=index.id,
        failed_job=failed.id,
        phone=phone.id,
    )


async def lead_of(database: Database, domain_id: UUID) -> UUID:
    async with database.reading() as session:
        found = await session.scalar(select(Lead.id).where(Lead.domain_id == domain_id))
    assert found is not None
    return found


async def hostile_bakery(database: Database) -> Known:
    """A site whose every text is meant to do harm."""
    long = HOSTILE + "x" * 10_000
    domain = a_domain(
        "evil.example",
        title=long,
        description=long,
        site_state="blocked",
        site_state_reason=long,
        cms=HOSTILE,
        redirects_to=HOSTILE,
        tech_stack=[{"name": HOSTILE, "category": HOSTILE, "version": HOSTILE, "evidence": long}],
        error=long,
    )
    job = a_job(
        domain, "failed", error=long, result_data={"outcome": HOSTILE, "errors": [long]}, phase=long
    )
    file = a_sitemap(
        domain, f"/{long}", status="error", reason=long, generator=long, etag=long, job_id=job.id
    )
    page = a_page(
        domain,
        f"/{long}",
        sitemap_file_id=file.id,
        title=long,
        h1=long,
        description=long,
        canonical=f"javascript:alert(1)//{HOSTILE}",
        robots_meta=long,
        schema_types=[long],
        page_type=HOSTILE,
        page_rule=long,
        page_processing_status="Error",
        page_processing_error=long,
        link_text=long,
    )
    contact = a_contact(
        domain, f"{HOSTILE}@evil.example", page, name=long[:150], role=HOSTILE, snippet=long
    )
    seen = a_sighting(contact, page, raw=HOSTILE, snippet=f"{long} {HOSTILE} {long}")
    letter = DeadLetter(
        id=uuid7(),
        tenant_id=domain.tenant_id,
        stage=SITEMAP_STAGE,
        row_id=job.id,
        attempts=1,
        error_class=HOSTILE,
        error=long,
        traceback=long,
        worker=HOSTILE,
    )
    await stored(database, domain, job, file, page, contact, seen, letter)
    return Known(
        domains=domain.id,
        jobs=job.id,
        contacts=contact.id,
        leads=await lead_of(database, domain.id),
        pages=page.id,
        sitemap_files=file.id,
        dead_letters=letter.id,
        index=file.id,
        failed_job=job.id,
        phone=contact.id,
    )


__all__ = ["HOSTILE", "OWNED", "SITE", "Known", "bakery_of_everything", "hostile_bakery"]
