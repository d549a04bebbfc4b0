"""Rows stuck in processing, failing runs and unhandled jobs are reported by every process."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import func, insert, select, update

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import Domain, Job
from scrapersky.models.stage_names import SITEMAP_STAGE, SUBMISSION_STAGE
from scrapersky.pipeline import queue_stats, workers
from scrapersky.pipeline.queue_stats import find_unhandled
from scrapersky.pipeline.tables import Alert, ChoreFailure, Worker
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.stages import STAGES
from tests.app import scan, serving
from tests.cli.conftest import Cli
from tests.conftest import make_settings
from tests.fake_web import FakeWeb
from tests.processes import HASTY, api, running
from tests.stage_cases import CASES, OWNED

PATIENCE_SECONDS = 120


async def until(condition: Callable[[], Awaitable[Any]]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await condition():
            await asyncio.sleep(0.05)


async def leave_in_processing(database: Database, **values: Any) -> None:
    """A row that a worker claimed which is gone."""
    async with database.transaction() as session:
        await CASES[SUBMISSION_STAGE].make_due(session, 1)
        held = {
            "status": "processing",
            "attempts": 1,
            "lease_token": uuid7(),
            "lease_expires_at": func.now() + timedelta(hours=1),
            "worker_id": uuid7(),
            **values,
        }
        named = {f"sitemap_analysis_{name}": value for name, value in held.items()}
        await session.execute(update(Domain).values(named))


async def get_problems(client: httpx.AsyncClient) -> tuple[int, list[str]]:
    answer = await client.get("/health/schedulers")
    body = answer.json()
    of_stages = [problem for each in body["stages"] for problem in each["problems"]]
    return answer.status_code, [*of_stages, *body["problems"]]


async def get_metrics(client: httpx.AsyncClient) -> dict[str, float]:
    said = (await client.get("/metrics")).text
    return {
        f"{each.name}({','.join(each.labels.values())})": each.value
        for family in text_string_to_metric_families(said)
        for each in family.samples
    }


async def get_firing(client: httpx.AsyncClient) -> dict[str, str]:
    firing = (await client.get("/api/v3/alerts")).json()["firing"]
    return {each["rule"]: each["sentence"] for each in firing}


async def test_a_stuck_row_shows_everywhere_when_no_worker_runs(
    url: str, database: Database
) -> None:
    await leave_in_processing(database)
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        status, [problem] = await get_problems(client)
        metrics, firing = await get_metrics(client), await get_firing(client)
        stage = (await client.get(f"/api/v3/stages/{SUBMISSION_STAGE}")).json()
        pages = [(await client.get(path)).text for path in ("/", "/stages", "/alerts")]
    doctor = await Cli({"DATABASE_URL": url})("doctor")

    assert status == 503
    assert problem.startswith("1 row is stuck in processing: the worker is dead")
    assert firing == {"rows_stuck": problem}
    assert metrics[f"scrapersky_stage_stuck_rows({SUBMISSION_STAGE})"] == 1
    assert metrics["scrapersky_alerts(rows_stuck)"] == 1
    assert (stage["stuck"], stage["problems"]) == (1, [problem])
    assert all("1 row is stuck in processing" in page for page in pages)
    assert (doctor.code, problem in doctor.out) == (1, True)


async def test_a_row_past_its_lease_is_stuck_although_its_worker_beats(
    url: str, database: Database
) -> None:
    """With a live consumer it counts as stuck only once a rescue should have happened."""
    alive = WorkerIdentity()
    async with database.transaction() as session:
        await workers.record_heartbeat(
            session, alive, {SUBMISSION_STAGE: {"last_tick": time.time()}}
        )
    settings = make_settings(url, scheduler_enabled=False, worker_dead_after_seconds=3600)
    await leave_in_processing(database, worker_id=alive.id, lease_expires_at=func.now())
    async with serving(settings) as client:
        just_expired = await get_problems(client)
        async with database.transaction() as session:
            long_ago = func.now() - timedelta(minutes=2)
            await session.execute(update(Domain).values(sitemap_analysis_lease_expires_at=long_ago))
        status, [problem] = await get_problems(client)

    assert just_expired == (200, [])
    assert status == 503
    assert "seconds, and no worker has rescued" in problem


async def test_a_row_of_a_worker_whose_heartbeat_lies_in_the_future_is_stuck(
    url: str, database: Database
) -> None:
    """As when the worker died and the database's clock was then set back."""
    dead = WorkerIdentity()
    async with database.transaction() as session:
        await workers.record_heartbeat(
            session, dead, {SUBMISSION_STAGE: {"last_tick": time.time()}}
        )
        await session.execute(update(Worker).values(beat_at=func.now() + timedelta(hours=1)))
    await leave_in_processing(database, worker_id=dead.id)
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        status, [problem] = await get_problems(client)

    assert status == 503
    assert "no worker is running to rescue" in problem


async def test_a_worker_that_starts_rescues_stuck_rows_and_health_is_green_again(
    url: str, database: Database
) -> None:
    """Also rows without a lease, as somebody may have set them by hand."""
    await leave_in_processing(database)
    await leave_in_processing(database, lease_token=None, lease_expires_at=None, worker_id=None)
    async with serving(make_settings(url)) as client:

        async def is_green() -> bool:
            return (await get_problems(client))[0] == 200

        await until(is_green)
        metrics = await get_metrics(client)
    assert metrics[f"scrapersky_stage_stuck_rows({SUBMISSION_STAGE})"] == 0


async def test_a_killed_worker_is_reported_by_an_api_that_runs_no_schedulers(
    url: str, database: Database, tmp_path: Path
) -> None:
    async with FakeWeb() as web:
        web.host("slow.example").hang("/robots.txt")
        environ = {**HASTY, **web.environ, "DATABASE_URL": url}

        async def is_processing() -> bool:
            async with database.reading() as session:
                found = await session.scalars(select(Job.status))
                return list(found) == ["processing"]

        alone = {**environ, "SCHEDULER_ENABLED": "false"}
        async with api(alone, tmp_path / "api.log") as client:
            await scan(client, "slow.example")
            async with running("worker", environ=environ, log=tmp_path / "worker.log") as worker:
                await until(is_processing)
                worker.send(signal.SIGKILL)
                await worker.ended()

            async def is_red() -> bool:
                status, problems = await get_problems(client)
                return status == 503 and any("stuck in processing" in each for each in problems)

            async def is_noted() -> bool:
                async with database.reading() as session:
                    noted = await session.scalars(
                        select(Alert.subject).filter_by(rule="rows_stuck")
                    )
                    return SITEMAP_STAGE in noted.all()

            await until(is_red)
            await until(is_noted)


async def add_jobs(database: Database, kinds: Sequence[str], *, status: str = "pending") -> None:
    async with database.transaction() as session:
        rows = [
            {"id": uuid7(), "job_type": kind, "subject": f"{n}.example", "status": status, **OWNED}
            for n, kind in enumerate(kinds)
        ]
        await session.execute(insert(Job), rows)


async def test_jobs_that_no_stage_handles_are_one_problem(url: str, database: Database) -> None:
    await add_jobs(database, ["sitemaps", "sitemaps", "crawl"])
    await add_jobs(database, ["old"], status="complete")
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        status, [problem] = await get_problems(client)
        metrics, firing = await get_metrics(client), await get_firing(client)
    doctor = await Cli({"DATABASE_URL": url})("doctor")

    assert status == 503
    assert "no stage handles: 'crawl' (1), 'sitemaps' (2)" in problem
    assert firing == {"rows_unhandled": problem}
    assert metrics["scrapersky_unhandled_jobs()"] == 3
    assert (doctor.code, problem in doctor.out) == (1, True)


async def test_jobs_that_a_stage_handles_are_no_problem(database: Database) -> None:
    await add_jobs(database, ["sitemap", "place_search", "sitemap"])
    async with database.reading() as session:
        assert not await find_unhandled(session, STAGES)


async def test_only_so_many_odd_jobs_are_looked_at(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_stats, "MAX_VALUES_PROBED", 3)
    monkeypatch.setattr(queue_stats, "MAX_UNHANDLED_COUNTED", 4)
    await add_jobs(database, [*["a"] * 9, "b", "c", "d", "e", "f", "g"])
    async with database.reading() as session:
        found = await find_unhandled(session, STAGES)

    assert (found[0].value, found[0].rows) == ("a", 5)
    assert len(found) == 5


async def test_a_failed_chore_shows_in_a_process_that_does_not_run_it(
    url: str, database: Database
) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        before, _ = await get_problems(client)
        async with database.transaction() as session:
            session.add(ChoreFailure(name="delete_old_rows", error="OSError: no", failures=3))
        status, [problem] = await get_problems(client)
        metrics, firing = await get_metrics(client), await get_firing(client)
        pages = [(await client.get(path)).text for path in ("/", "/stages", "/alerts")]
    doctor = await Cli({"DATABASE_URL": url})("doctor")

    assert (before, status) == (200, 503)
    assert problem == "The last run of delete_old_rows failed, 3 times in a row: OSError: no"
    assert firing == {"chore_failing": problem}
    assert metrics["scrapersky_chores_failing()"] == 1
    assert all(problem in page for page in pages)
    assert (doctor.code, problem in doctor.out) == (1, True)


async def test_a_reached_own_limit_shows_in_health_alerts_metrics_and_dashboard(
    url: str, database: Database
) -> None:
    worker = WorkerIdentity()
    limits = {"disk_space": "The disk is full.", "file_descriptors": "No descriptors are left."}
    expected = f"{worker.readable}: The disk is full. No descriptors are left."
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        async with database.transaction() as session:
            await workers.record_heartbeat(session, worker, vitals={"own_limits": limits})
        status, problems = await get_problems(client)
        firing = await get_firing(client)
        metrics = await get_metrics(client)
        overview = (await client.get("/")).text

    assert (status, problems) == (503, [expected])
    assert firing["own_limit_reached"] == expected
    assert metrics["scrapersky_alerts(own_limit_reached)"] == 1
    assert metrics["scrapersky_workers_at_own_limit(disk_space)"] == 1
    assert metrics["scrapersky_workers_at_own_limit(processes)"] == 0
    assert expected in overview
