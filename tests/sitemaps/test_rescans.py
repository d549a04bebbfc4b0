"""Domains are rescanned when due, without loops."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import Domain, Job
from scrapersky.pipeline.loop import StageRunner, run_job_loop
from scrapersky.pipeline.stage import Tools
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.settings import Settings
from scrapersky.sitemaps import outcome, submission
from scrapersky.sitemaps.rescans import queue_due_domains
from tests.stage_cases import OWNED

NOW = datetime.now(UTC)
WEEK = timedelta(days=7)


@pytest.fixture
async def submit(database: Database, settings: Settings) -> Any:
    """One run of the submission stage."""
    runner = StageRunner(
        submission.STAGE,
        database=database,
        worker=WorkerIdentity(),
        tools=Tools(fetch=None, settings=settings),  # type: ignore[arg-type]
        settings=settings,
    )
    return lambda: run_job_loop(runner)


async def add_domain(database: Database, **facts: Any) -> UUID:
    async with database.transaction() as session:
        domain = Domain(id=uuid7(), domain=f"{uuid7().hex}.example", **OWNED, **facts)
        session.add(domain)
        return domain.id


async def domain_of(database: Database, domain_id: UUID) -> Domain:
    async with database.reading() as session:
        return await session.get_one(Domain, domain_id)


async def jobs_of(database: Database, domain_id: UUID) -> list[Job]:
    async with database.reading() as session:
        return list(await session.scalars(select(Job).where(Job.domain_id == domain_id)))


async def add_job(database: Database, domain_id: UUID, **facts: Any) -> UUID:
    async with database.transaction() as session:
        job = Job(
            id=uuid7(),
            job_type="sitemap",
            subject=str(domain_id),
            params={},
            domain_id=domain_id,
            **OWNED,
            **facts,
        )
        session.add(job)
        return job.id


@pytest.mark.parametrize(
    ("facts", "due"),
    [
        ({}, True),
        ({"status": "error"}, True),
        ({"status": "pending"}, False),
        ({"status": "processing"}, False),
        ({"next_scan_at": NOW - timedelta(minutes=1)}, True),
        ({"next_scan_at": NOW + timedelta(days=1)}, False),
        ({"sitemap_curation_status": "Archived"}, False),
        ({"sitemap_curation_status": "Not a Fit"}, False),
        ({"sitemap_curation_status": "Selected"}, True),
        ({"sitemap_analysis_status": "processing"}, False),
        ({"sitemap_analysis_status": "submitted"}, True),
        ({"sitemap_analysis_status": "failed"}, True),
    ],
)
async def test_who_is_due(
    database: Database, settings: Settings, facts: dict[str, Any], due: bool
) -> None:
    domain_id = await add_domain(database, **{"status": "completed", **facts})
    assert await queue_due_domains(database, settings) == int(due)
    assert ((await domain_of(database, domain_id)).sitemap_analysis_status == "queued") == due


async def test_a_domain_that_is_being_scanned_is_not_due(
    database: Database, settings: Settings
) -> None:
    domain_id = await add_domain(database, sitemap_analysis_status="submitted")
    await add_job(database, domain_id)
    assert await queue_due_domains(database, settings) == 0


async def test_a_queued_domain_gets_one_linked_job(database: Database, submit: Any) -> None:
    domain_id = await add_domain(database, sitemap_analysis_status="queued")
    await submit()

    (job,) = await jobs_of(database, domain_id)
    domain = await domain_of(database, domain_id)
    assert (domain.sitemap_analysis_status, domain.last_sitemap_job_id) == ("submitted", job.id)
    assert (job.status, job.params["domain"]) == ("pending", domain.domain)


async def test_no_second_job_while_one_is_active(database: Database, submit: Any) -> None:
    domain_id = await add_domain(database, sitemap_analysis_status="queued")
    active = await add_job(database, domain_id, status="processing")
    await submit()

    domain = await domain_of(database, domain_id)
    assert [job.id for job in await jobs_of(database, domain_id)] == [active]
    assert domain.sitemap_analysis_status == "submitted"
    assert domain.sitemap_analysis_error == f"The domain is already being scanned by job {active}."


async def test_no_job_while_the_last_scan_is_young(database: Database, submit: Any) -> None:
    domain_id = await add_domain(
        database, sitemap_analysis_status="queued", last_scan=NOW - timedelta(days=1)
    )
    await submit()

    assert await jobs_of(database, domain_id) == []
    error = (await domain_of(database, domain_id)).sitemap_analysis_error
    assert error is not None
    assert error.startswith("No new scan: the domain was scanned at")
    assert "To scan now: `scrapersky scan DOMAIN`" in error


async def test_each_failure_doubles_the_wait_up_to_thirty_days(
    database: Database, settings: Settings
) -> None:
    domain_id = await add_domain(database, scan_interval=timedelta(days=2))
    job_id = await add_job(database, domain_id)
    waits = []
    for _ in range(6):
        async with database.transaction() as session:
            job = await session.get_one(Job, job_id)
            await outcome.write_failure(session, job, "It does not answer.")
        domain = await domain_of(database, domain_id)
        assert domain.next_scan_at is not None
        waits.append(round((domain.next_scan_at - datetime.now(UTC)) / timedelta(days=1)))

    assert waits == [4, 8, 16, 30, 30, 30]
