"""`/health/schedulers` reports when rows are not processed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import asyncpg
import pytest
from sqlalchemy import func, text, update
from sqlalchemy.exc import DBAPIError

from scrapersky import stages
from scrapersky.db.session import Database
from scrapersky.errors import SchemaMismatch
from scrapersky.http import health
from scrapersky.models import Job
from scrapersky.pipeline.workers import WorkerIdentity, record_heartbeat
from tests.app import scan, serving
from tests.conftest import make_settings


async def test_a_healthy_scheduler_is_said_to_be_healthy(url: str) -> None:
    async with serving(make_settings(url)) as client:
        answer = await client.get("/health/schedulers")
    assert (answer.status_code, answer.json()["status"]) == (200, "healthy")
    assert answer.json()["scheduler_here"] == "running"


async def test_rows_that_wait_without_a_consumer_turn_it_503(url: str) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        before = await client.get("/health/schedulers")
        await scan(client, "example.com")
        after = await client.get("/health/schedulers")

    assert before.status_code == 200
    assert after.status_code == 503
    problems = [each["problems"] for each in after.json()["stages"]]
    assert ["Rows are due (1) and no consumer runs this stage."] in problems


async def test_a_row_that_waits_too_long_turns_it_503(url: str, database: Database) -> None:
    settings = make_settings(url, queue_oldest_due_limit_seconds=60)
    async with serving(settings) as client:
        await client.post("/api/v3/stages/process_pending_sitemaps/pause")
        await scan(client, "example.com")
        async with database.transaction() as session:
            await session.execute(update(Job).values(due_at=func.now() - timedelta(minutes=2)))
        answer = await client.get("/health/schedulers")
        await client.post("/api/v3/stages/process_pending_sitemaps/resume")

    assert answer.status_code == 503
    assert "has waited for 12" in str(answer.json())


async def test_a_stage_that_cannot_be_registered_stops_no_other_and_shows(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken: Any = replace(stages.STAGES[0], status="no_such_column")
    monkeypatch.setattr("scrapersky.stages.STAGES", (broken, *stages.STAGES[1:]))
    async with serving(make_settings(url)) as client:
        context = client.app.state.context  # type: ignore[attr-defined]
        running = list(context.scheduler.engine.runners)
        failures = dict(context.scheduler.failures)
        alive = await client.get("/health")

    assert running == [stage.name for stage in stages.STAGES[1:]]
    assert "no_such_column" in failures[broken.name]
    assert alive.status_code == 200


async def test_a_failed_registration_turns_the_schedulers_health_503(url: str) -> None:
    async with serving(make_settings(url)) as client:
        context = client.app.state.context  # type: ignore[attr-defined]
        context.scheduler.failures[stages.STAGES[0].name] = "its trigger is odd"
        answer = await client.get("/health/schedulers")
    assert answer.status_code == 503
    assert "its trigger is odd" in answer.text


async def test_a_database_that_is_behind_is_not_served(url: str, database: Database) -> None:
    async with database.engine.begin() as connection:
        await connection.execute(text("DELETE FROM alembic_version"))
    with pytest.raises(SchemaMismatch, match="scrapersky db upgrade"):
        async with serving(make_settings(url)):
            pass


async def test_a_database_that_falls_behind_while_serving_is_not_ready(
    url: str, database: Database
) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        good = await client.get("/health/ready")
        async with database.engine.begin() as connection:
            await connection.execute(text("UPDATE alembic_version SET version_num = 'future'"))
        bad = await client.get("/health/ready")

    assert (good.status_code, bad.status_code) == (200, 503)
    assert "newer version" in bad.json()["problem"]


async def test_a_worker_that_has_run_out_of_something_turns_it_503(
    url: str, database: Database
) -> None:
    problem = "This process has used up its 64 file descriptors."
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        async with database.transaction() as session:
            told = {"own_limits": {"file_descriptors": problem}}
            await record_heartbeat(session, WorkerIdentity(), vitals=told)
        answer = await client.get("/health/schedulers")

    assert (answer.status_code, answer.json()["status"]) == (503, "unhealthy")
    (limit,) = answer.json()["own_limits"]
    assert limit.endswith(problem)


async def test_readiness_names_a_database_that_takes_no_more_connections(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(database: Database) -> None:
        raise DBAPIError("", None, asyncpg.TooManyConnectionsError("sorry, too many clients"))

    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        monkeypatch.setattr(health, "require_current", refuse)
        answer = await client.get("/health/ready")

    assert answer.status_code == 503
    assert "max_connections" in answer.json()["problem"]
