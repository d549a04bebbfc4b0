"""Forty and more domains of the town, by real processes, to contacts; a worker dies on the way."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import func, or_, select
from tests.processes import HASTY, api, running

from scrapersky.db.session import Database
from scrapersky.demo.site import TownSite
from scrapersky.demo.town import Town
from scrapersky.models import Domain, Job, Page, SitemapFile
from scrapersky.pipeline.tables import StageEvent, Worker

AT_LEAST = 40


@pytest.mark.timeout(400)
async def test_domains_become_contacts_that_lead_back_to_where_they_stand(
    url: str, database: Database, tmp_path: Path
) -> None:
    async with Town() as town:
        ours = {
            **HASTY,
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
            await _hand_in(client, town.sites)
            await _kill_a_worker_at_work(ours, database, tmp_path)
            await _until(lambda: _nothing_is_left(database), seconds=240)
            found = [each async for each in _all(client, "/api/v3/contacts")]
            for contact in found:
                await _walk_back(client, contact)

    stored = {(each["domain"], each["kind"], each["value"]) for each in found}
    assert len(town.sites) >= AT_LEAST
    assert stored == _published(town.sites)
    assert len(stored) == len(found)


async def _hand_in(client: httpx.AsyncClient, sites: tuple[TownSite, ...]) -> None:
    body = {"domains": [each.name for each in sites], "queue": True}
    answer = await client.post("/api/v3/domains/direct-submit", json=body)
    assert answer.status_code < 300, answer.text


async def _kill_a_worker_at_work(ours: dict[str, str], database: Database, logs: Path) -> None:
    async with running("worker", environ=ours, log=logs / "dies.log") as worker:
        await _until(lambda: _are_rows_held_by(database, worker.pid), seconds=60)
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
    """Every queue is empty, and every domain was looked at."""
    waiting = {
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
        return bool(await session.scalar(select(func.count()).select_from(StageEvent)))


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


async def _walk_back(client: httpx.AsyncClient, contact: dict[str, Any]) -> None:
    """From the contact to its page, to the sitemap that lists it if one does, to the domain."""
    detail = await _get(client, f"/api/v3/contacts/{contact['id']}")
    lineage = detail["lineage"]
    assert detail["evidence"], contact
    page = await _get(client, f"/api/v3/pages/{lineage['page_id']}")
    domain = await _get(client, f"/api/v3/domains/{lineage['domain_id']}")
    assert page["domain_id"] == domain["id"]
    assert page["url"] in {each["page_url"] for each in detail["evidence"]}
    assert domain["domain"] == contact["domain"]
    assert page["sitemap_file_id"] == lineage["sitemap_file_id"]
    if lineage["sitemap_file_id"] is not None:
        file = await _get(client, f"/api/v3/sitemap-files/{lineage['sitemap_file_id']}")
        assert (file["domain_id"], file["url"]) == (domain["id"], lineage["sitemap_url"])


async def _get(client: httpx.AsyncClient, path: str) -> dict[str, Any]:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def _published(sites: tuple[TownSite, ...]) -> set[tuple[str, str, str]]:
    return {
        (site.name, kind.value, value) for site in sites for kind, value in site.expected.contacts
    }


async def _until(condition: Callable[[], Awaitable[bool]], seconds: float) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.05)
