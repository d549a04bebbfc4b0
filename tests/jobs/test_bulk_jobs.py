"""Cancelling and retrying many jobs, by id or by filter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import func, select

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import Domain, Job
from tests.app import serving
from tests.conftest import make_settings
from tests.stage_cases import OWNED

API = "/api/v3/jobs"


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


async def add_jobs(database: Database, *statuses: str, **more: Any) -> list[UUID]:
    """Each of a domain of its own."""
    domains = [Domain(id=uuid7(), domain=f"{uuid7().hex}.example", **OWNED) for _ in statuses]
    jobs = [
        Job(
            id=uuid7(),
            job_type="sitemap",
            subject=domain.domain,
            domain_id=domain.id,
            status=status,
            lease_token=uuid4() if status == "processing" else None,
            **{**OWNED, **more},
        )
        for domain, status in zip(domains, statuses, strict=True)
    ]
    async with database.transaction() as session:
        session.add_all(domains)
        await session.flush()
        session.add_all(jobs)
    return [job.id for job in jobs]


async def statuses(database: Database, ids: list[UUID]) -> list[str]:
    async with database.reading() as session:
        return [(await session.get_one(Job, each)).status for each in ids]


def updated(answer: httpx.Response) -> int:
    assert answer.status_code == 200, answer.text
    return int(answer.json()["updated_count"])


async def test_waiting_and_running_jobs_end_and_their_domains_rest(
    client: httpx.AsyncClient, database: Database
) -> None:
    ids = await add_jobs(database, "pending", "processing", "complete", "failed")

    answer = await client.post(f"{API}/cancel", json={"all": True, "note": "wrong list"})

    assert updated(answer) == 2
    assert {each["status"]: each["count"] for each in answer.json()["groups"]} == {
        "pending": 1,
        "processing": 1,
    }
    assert await statuses(database, ids) == ["cancelled", "cancelled", "complete", "failed"]
    async with database.reading() as session:
        ended = await session.get_one(Job, ids[1])
        resting = await session.scalar(select(func.count()).where(Domain.next_scan_at > func.now()))
    assert (ended.lease_token, ended.error) == (None, "Cancelled: wrong list")
    assert ended.finished_at is not None
    assert resting == 2


async def test_failed_and_cancelled_jobs_are_retried_by_the_filters_of_the_list(
    client: httpx.AsyncClient, database: Database
) -> None:
    ids = await add_jobs(database, "failed", "cancelled", "complete", error="Timed out.")
    others = await add_jobs(database, "failed", error="No such host.")
    filter = {"error": "timed OUT", "created_since": "1h"}

    tried = await client.post(f"{API}/retry", json={"filter": filter, "dry_run": True})
    assert (tried.json()["matched_count"], updated(tried)) == (2, 0)
    assert await statuses(database, ids) == ["failed", "cancelled", "complete"]

    assert updated(await client.post(f"{API}/retry", json={"filter": filter})) == 2
    assert await statuses(database, ids + others) == ["pending", "pending", "complete", "failed"]


async def test_named_jobs_are_taken_once(client: httpx.AsyncClient, database: Database) -> None:
    ids = await add_jobs(database, "failed", "failed", "failed")
    body = {"ids": [str(each) for each in ids[:2]]}

    first = await client.post(f"{API}/retry", json=body)
    second = await client.post(f"{API}/retry", json=body)

    assert (updated(first), updated(second)) == (2, 0)
    assert second.json()["left_alone_count"] == 2
    assert await statuses(database, ids) == ["pending", "pending", "failed"]


async def test_a_retried_job_starts_from_the_beginning(
    client: httpx.AsyncClient, database: Database
) -> None:
    (job_id,) = await add_jobs(database, "failed", progress=0.7, phase="reading", attempts=5)

    one = (await client.post(f"{API}/{job_id}/retry")).json()

    assert (one["status"], one["progress"], one["phase"], one["attempts"]) == (
        "pending",
        0,
        None,
        0,
    )


async def test_nothing_is_done_to_all_jobs_by_accident(
    client: httpx.AsyncClient, database: Database
) -> None:
    ids = await add_jobs(database, "pending")

    bodies: list[dict[str, Any]] = [{}, {"filter": {}}, {"filter": {"stauts": ["pending"]}}]
    for body in bodies:
        assert (await client.post(f"{API}/cancel", json=body)).status_code == 422
    assert await statuses(database, ids) == ["pending"]
