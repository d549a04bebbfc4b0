"""A lead is marked complete once nothing is pending for it, and the event is emitted once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import func, select, update

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.leads import completion
from scrapersky.leads.build import lock_lead, refresh_business_leads, refresh_leads
from scrapersky.leads.completion import LeadCompleter, complete_leads
from scrapersky.models import (
    Domain,
    Job,
    Lead,
    LocalBusiness,
    Page,
    SitemapFile,
    WebhookDelivery,
    WebhookEndpoint,
)
from scrapersky.scraper.http.urls import url_digest
from scrapersky.settings import Settings
from tests.stage_cases import OWNED
from tests.waiting import PATIENCE_SECONDS

DONE = {"status": "completed", "sitemap_analysis_status": "submitted"}


def a_site(**more: Any) -> Domain:
    name = f"{uuid7().hex}.example"
    return Domain(id=uuid7(), domain=name, **{"meta_json": {}, **DONE, **OWNED, **more})


def a_job(site: Domain, status: str) -> Job:
    params = {"domain": site.domain}
    return Job(
        id=uuid7(), job_type="sitemap", subject=site.domain, params=params, domain_id=site.id,
        status=status, **OWNED,
    )  # fmt: skip


def a_file(site: Domain, status: str) -> SitemapFile:
    url = f"https://{site.domain}/sitemap.xml"
    return SitemapFile(
        id=uuid7(), domain_id=site.id, url=url, url_digest=url_digest(url),
        discovery_method="robots_txt", status="ok", sitemap_import_status=status, **OWNED,
    )  # fmt: skip


def a_page(site: Domain, status: str) -> Page:
    url = f"https://{site.domain}/kontakt"
    return Page(
        id=uuid7(), domain_id=site.id, url=url, url_digest=url_digest(url), path_depth=1,
        page_type="contact", priority_level=1, page_processing_status=status, **OWNED,
    )  # fmt: skip


async def stored(database: Database, *rows: Any) -> None:
    async with database.transaction() as session:
        for row in rows:
            session.add(row)
            await session.flush()
        await refresh_leads(session, [row.id for row in rows if isinstance(row, Domain)])
        businesses = [row.id for row in rows if isinstance(row, LocalBusiness)]
        await refresh_business_leads(session, businesses)


async def complete(database: Database) -> list[bool]:
    async with database.reading() as session:
        leads = await session.scalars(select(Lead).order_by(Lead.id))
        return [each.completed_at is not None for each in leads]


@pytest.mark.parametrize(
    ("site", "make"),
    [
        ({"status": "pending"}, None),
        ({"status": "processing"}, None),
        ({"sitemap_analysis_status": "queued"}, None),
        ({"sitemap_analysis_status": "processing"}, None),
        ({}, lambda site: a_job(site, "pending")),
        ({}, lambda site: a_job(site, "processing")),
        ({}, lambda site: a_file(site, "Queued")),
        ({}, lambda site: a_file(site, "Processing")),
        ({}, lambda site: a_page(site, "Queued")),
        ({}, lambda site: a_page(site, "Processing")),
    ],
)
async def test_as_long_as_anything_is_under_way_it_is_not_complete(
    database: Database, settings: Settings, site: dict[str, Any], make: Any
) -> None:
    domain = a_site(**site)
    await stored(database, domain, *([make(domain)] if make else []))

    assert await complete_leads(database, settings) == 0
    assert await complete(database) == [False]


@pytest.mark.parametrize(
    ("site", "make"),
    [
        ({}, None),
        ({"status": "error", "sitemap_analysis_status": "pending"}, None),
        ({"sitemap_analysis_status": "failed"}, None),
        ({"sitemap_analysis_status": "pending", "site_state": "parked"}, None),
        ({}, lambda site: a_job(site, "complete")),
        ({}, lambda site: a_job(site, "failed")),
        ({}, lambda site: a_job(site, "cancelled")),
        ({}, lambda site: a_file(site, "Complete")),
        ({}, lambda site: a_file(site, "Error")),
        ({}, lambda site: a_page(site, "Complete")),
        ({}, lambda site: a_page(site, "Filtered")),
        ({}, lambda site: a_page(site, "Error")),
    ],
)
async def test_when_nothing_is_under_way_any_more_it_is_complete(
    database: Database, settings: Settings, site: dict[str, Any], make: Any
) -> None:
    domain, other = a_site(**site), a_site()
    # What another site still has to do is no matter of this one's.
    await stored(database, other, a_page(other, "Queued"))
    await stored(database, domain, *([make(domain)] if make else []))

    assert await complete_leads(database, settings) == 1
    assert await complete(database) == [False, True]


@pytest.mark.parametrize(
    ("status", "expected"),
    [("New", True), ("Queued", False), ("Processing", False), ("Completed", True), ("Error", True)],
)
async def test_a_business_without_a_site_is_complete_when_its_website_was_looked_at(
    database: Database, settings: Settings, status: str, expected: bool
) -> None:
    known = {"domain_extraction_status": status, "website_kind": "none"}
    await stored(database, LocalBusiness(id=uuid7(), **known, **OWNED))
    await complete_leads(database, settings)

    assert await complete(database) == [expected]


async def listening(database: Database, *events: str) -> None:
    endpoint = WebhookEndpoint(
        id=uuid7(), url="https://hooks.example/x", secret="s", events=list(events), **OWNED
    )
    await stored(database, endpoint)


async def told(database: Database) -> list[WebhookDelivery]:
    async with database.reading() as session:
        found = await session.scalars(select(WebhookDelivery).order_by(WebhookDelivery.id))
        return list(found)


async def test_it_is_told_once_with_its_domain(database: Database, settings: Settings) -> None:
    await listening(database, "lead.completed", "domain.completed")
    site = a_site()
    await stored(database, site, LocalBusiness(id=uuid7(), website_kind="none", **OWNED))
    counts = [await complete_leads(database, settings) for _ in range(2)]
    deliveries = await told(database)
    async with database.reading() as session:
        leads = {each.id for each in await session.scalars(select(Lead))}

    assert counts == [2, 0]
    subjects = {"lead.completed": leads, "domain.completed": {site.id}}
    assert len(deliveries) == 3
    for name, ids in subjects.items():
        assert {each.subject_id for each in deliveries if each.event == name} == ids


async def test_what_is_told_says_why_it_is_empty(database: Database, settings: Settings) -> None:
    """Its last page was given up, after which nobody made the lead anew."""
    await listening(database, "lead.completed")
    site = a_site(site_state="ok", metadata_read_at=func.now())
    await stored(database, site, a_page(site, "Queued"))
    async with database.transaction() as session:
        await session.execute(update(Page).values(page_processing_status="Error", http_status=403))
    await complete_leads(database, settings)
    [delivery] = await told(database)

    assert delivery.payload["why_empty"] == "blocked"


async def test_one_that_is_being_stored_is_left_for_later(
    database: Database, settings: Settings
) -> None:
    site = a_site()
    await stored(database, site)
    async with database.transaction() as session:
        await lock_lead(session, site)
        async with asyncio.timeout(PATIENCE_SECONDS):
            meanwhile = await complete_leads(database, settings)
    later = await complete_leads(database, settings)

    assert (meanwhile, later) == (0, 1)


async def test_two_at_once_tell_it_once(database: Database, settings: Settings) -> None:
    await listening(database, "lead.completed")
    await stored(database, *(a_site() for _ in range(20)))
    await asyncio.gather(*(complete_leads(database, settings) for _ in range(4)))

    assert len(await told(database)) == 20


async def test_a_look_goes_on_behind_those_it_has_seen(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that take long do not keep the ones behind them from being looked at."""
    monkeypatch.setattr(completion, "MAX_LEADS_PER_SCAN", 3)
    monkeypatch.setattr(completion, "BATCH_SIZE", 2)
    for _ in range(4):
        await stored(database, a_site(status="pending"))
    for _ in range(3):
        await stored(database, a_site())
    looking = LeadCompleter()
    counts = [await looking.run(database, settings) for _ in range(4)]

    assert sum(counts) == 3
    assert await complete(database) == [False] * 4 + [True] * 3
