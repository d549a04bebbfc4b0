"""One search through real processes to businesses, leads and contacts, while a worker dies."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import func, or_, select

from scrapersky.db.session import Database
from scrapersky.demo.search import SEARCH_TERM, TOWN_NAME, build_area, build_places
from scrapersky.demo.sites.builder import TownSite
from scrapersky.demo.town import SITES, Town
from scrapersky.models import Domain, Job, Lead, LocalBusiness, Page, Place, SitemapFile
from scrapersky.pipeline.tables import Worker
from scrapersky.testing import PlacesProvider
from tests.effort import choose
from tests.processes import HASTY, api, running

HOUSES = choose(SITES[::2], SITES)
"""The demo's own test takes all of them through one process."""
PLACES_PER_REQUEST = 20


@pytest.mark.timeout(1200)
async def test_a_search_becomes_leads_whose_contacts_lead_back_to_it(
    url: str, database: Database, tmp_path: Path
) -> None:
    places = build_places(HOUSES)
    async with Town(HOUSES) as town, PlacesProvider(places, [build_area()]) as provider:
        ours = {
            **HASTY,
            **provider.environment(),
            **town.environment(),
            "DATABASE_URL": url,
            # The one that is killed is noticed by its pid; a busy one shall not be taken for dead.
            "WORKER_DEAD_AFTER_SECONDS": "60",
            "SITEMAP_SCHEDULER_MAX_ATTEMPTS": "3",
        }
        async with (
            api({**ours, "SCHEDULER_ENABLED": "false"}, tmp_path / "api.log") as client,
            running("worker", environ=ours, log=tmp_path / "stays.log"),
        ):
            search_id = await _search(client)
            await _kill_a_worker_at_work(ours, database, tmp_path)
            await _until(lambda: _nothing_is_left(database), seconds=600)
            found = [each async for each in _all(client, "/api/v3/contacts")]
            reader = Reader(client)
            for contact in found:
                await _walk_back(reader, contact)
                await _walk_back_to_the_search(reader, contact, search_id)
            leads = [each async for each in _all(client, "/api/v3/leads")]
            businesses = [each async for each in _all(client, "/api/v3/local-businesses")]

    stored = {(each["domain"], each["kind"], each["value"]) for each in found}
    assert stored == _published(HOUSES)
    assert len(stored) == len(found)
    assert len(businesses) == len(places)
    assert len(leads) == len(businesses) - 1, "two shops of one bakery share its site"
    assert all(each["completed_at"] for each in leads)
    requests = ceil(len(places) / PLACES_PER_REQUEST)
    assert provider.bill.paid == requests, "whoever dies, nothing is paid twice"


async def _search(client: httpx.AsyncClient) -> str:
    body = {"business_type": SEARCH_TERM, "location": TOWN_NAME}
    answer = await client.post("/api/v3/places/search", json=body)
    assert answer.status_code == 202, answer.text
    search_id: str = answer.json()["job_id"]
    return search_id


async def _walk_back_to_the_search(reader: Reader, contact: dict[str, Any], search_id: str) -> None:
    """To the business and its place by their links, and to the search that found the place."""
    lineage = await reader.get(f"/api/v3/contacts/{contact['id']}/lineage")
    business = await reader.get(lineage["businesses"][0]["link"])
    place = await reader.get(lineage["places"][0]["link"])
    search = await reader.get(lineage["searches"][0]["link"])
    assert lineage["domain"]["domain"] == contact["domain"]
    assert business["domain_id"] == lineage["domain"]["id"]
    assert place["local_business_id"] in {each["id"] for each in lineage["businesses"]}
    assert place["id"] in lineage["searches"][0]["places"]
    assert [each["id"] for each in lineage["searches"]] == [search_id] == [search["job_id"]]


async def _kill_a_worker_at_work(ours: dict[str, str], database: Database, logs: Path) -> None:
    async with running("worker", environ=ours, log=logs / "dies.log") as worker:
        await _until(lambda: _are_rows_held_by(database, worker.pid), seconds=300)
        worker.send(signal.SIGKILL)
        await worker.ended()


async def _are_rows_held_by(database: Database, pid: int) -> bool:
    holder = select(Worker.id).where(Worker.pid == pid).scalar_subquery()
    async with database.reading() as session:
        for model, column in (
            (Domain, Domain.worker_id),  # type: ignore[attr-defined]
            (Page, Page.page_processing_worker_id),  # type: ignore[attr-defined]
            (Job, Job.worker_id),
        ):
            if await session.scalar(
                select(func.count()).select_from(model).where(column == holder)
            ):
                return True
    return False


async def _nothing_is_left(database: Database) -> bool:
    """Every queue is empty, and every lead is complete."""
    waiting = {
        Place: Place.deep_scan_status.in_(("Queued", "Processing")),
        LocalBusiness: LocalBusiness.domain_extraction_status.in_(("Queued", "Processing")),
        Lead: Lead.completed_at.is_(None),
        Domain: or_(
            Domain.status.in_(("pending", "processing")),
            Domain.sitemap_analysis_status.in_(("queued", "processing")),
        ),
        Job: Job.status.in_(("pending", "processing")),
        SitemapFile: SitemapFile.sitemap_import_status.in_(("Queued", "Processing")),
        Page: Page.page_processing_status.in_(("Queued", "Processing")),
    }
    async with database.reading() as session:
        for model, condition in waiting.items():
            if await session.scalar(select(func.count()).select_from(model).where(condition)):
                return False
        return bool(await session.scalar(select(func.count()).select_from(Lead)))


async def _all(client: httpx.AsyncClient, path: str) -> AsyncIterator[dict[str, Any]]:
    cursor: str | None = None
    while True:
        query: dict[str, str | int] = {"limit": 200, **({"cursor": cursor} if cursor else {})}
        page = (await client.get(path, params=query)).json()
        for each in page["items"]:
            yield each
        cursor = page["next_cursor"]
        if cursor is None:
            return


async def _walk_back(reader: Reader, contact: dict[str, Any]) -> None:
    """From the contact to its page, to the sitemap that lists it if one does, to the domain."""
    detail = await reader.get(f"/api/v3/contacts/{contact['id']}")
    lineage = detail["lineage"]
    assert detail["evidence"], contact
    page = await reader.get(f"/api/v3/pages/{lineage['page_id']}")
    domain = await reader.get(f"/api/v3/domains/{lineage['domain_id']}")
    assert page["domain_id"] == domain["id"]
    assert page["url"] in {each["page_url"] for each in detail["evidence"]}
    assert domain["domain"] == contact["domain"]
    assert page["sitemap_file_id"] == lineage["sitemap_file_id"]
    if lineage["sitemap_file_id"] is not None:
        file = await reader.get(f"/api/v3/sitemap-files/{lineage['sitemap_file_id']}")
        assert (file["domain_id"], file["url"]) == (domain["id"], lineage["sitemap_url"])


@dataclass
class Reader:
    """Follows links. Many contacts lead to the same page, domain and search."""

    client: httpx.AsyncClient
    known: dict[str, dict[str, Any]] = field(default_factory=dict)

    async def get(self, path: str) -> dict[str, Any]:
        if path not in self.known:
            answer = await self.client.get(path)
            assert answer.status_code == 200, answer.text
            self.known[path] = answer.json()
        return self.known[path]


def _published(sites: tuple[TownSite, ...]) -> set[tuple[str, str, str]]:
    return {
        (site.name, kind.value, value) for site in sites for kind, value in site.expected.contacts
    }


async def _until(condition: Callable[[], Awaitable[bool]], seconds: float) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.05)
