"""`/metrics`: its content, its access control and its cost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import delete, func, select, text

from scrapersky.auth.service import create_api_key, get_system_actor
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import Domain, Job, Role
from scrapersky.pipeline import stats
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.report import report_stages
from scrapersky.pipeline.tables import StageEvent
from scrapersky.scraper.http.fetch_errors import FetchFailed
from scrapersky.scraper.http.fetch_outcomes import FetchOutcome
from scrapersky.settings import Settings
from scrapersky.sitemaps import discovery, submission
from scrapersky.stages import STAGES
from tests.app import ended, scan, serving
from tests.conftest import make_settings
from tests.fake_web import FakeWeb, urlset
from tests.stage_cases import CASES, OWNED
from tests.waiting import PATIENCE_SECONDS

SCANS = discovery.STAGE.name
NOT_MET_HERE = (
    FetchOutcome.TLS,
    FetchOutcome.REDIRECT,
    FetchOutcome.CIRCUIT_OPEN,
    FetchOutcome.HOST_ASKED,
)


class Figures(dict[str, float]):
    """By name and labels, as they stand in the text."""

    @classmethod
    async def read(cls, client: httpx.AsyncClient) -> Figures:
        answer = await client.get("/metrics")
        assert answer.status_code == 200, answer.text
        found = cls()
        for family in text_string_to_metric_families(answer.text):
            for each in family.samples:
                labels = ",".join(f"{k}={v}" for k, v in sorted(each.labels.items()))
                found[f"{each.name}{{{labels}}}" if labels else each.name] = each.value
        return found

    def of(self, name: str, **labels: str) -> float:
        said = ",".join(f"{k}={v}" for k, v in sorted(labels.items()))
        return self[f"scrapersky_{name}{{{said}}}" if said else f"scrapersky_{name}"]


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as made:
        bakery = made.host("bakery.example")
        bakery.robots("Sitemap: http://bakery.example/sitemap.xml\n")
        bakery.xml("/sitemap.xml", urlset("http://bakery.example/"))
        yield made


async def test_a_scan_shows_in_the_figures_and_its_site_does_not(
    url: str, web: FakeWeb, database: Database
) -> None:
    patient = {"worker_dead_after_seconds": 60, "lease_grace_seconds": 60}
    async with serving(make_settings(url, fetch_resolve=web.resolve, **patient)) as client:
        asked = await scan(client, "http://bakery.example")
        await ended(client, asked["job_id"])
        figures = await Figures.read(client)
        said = (await client.get("/metrics")).text
        async with database.transaction() as session:
            await session.execute(delete(StageEvent))
        later = await Figures.read(client)

    assert figures.of("rows_claimed_total", stage=SCANS) == 1
    assert figures.of("attempts_total", stage=SCANS, end="completed") == 1
    assert figures.of("stage_attempts_last_hour", stage=SCANS, end="completed") == 1
    assert figures.of("stage_duration_seconds", stage=SCANS, quantile="0.95") > 0
    assert figures.of("fetches_total", end="ok") >= 2
    assert figures.of("stage_queued_rows", stage=SCANS) == 0
    assert figures.of("listener_up") == 1
    assert figures.of("database_connections_most") == 10
    assert later.of("attempts_total", stage=SCANS, end="completed") == 1
    assert later.of("stage_attempts_last_hour", stage=SCANS, end="completed") == 0
    assert "bakery" not in said


async def test_every_label_is_one_of_few_words(url: str, web: FakeWeb) -> None:
    async with serving(make_settings(url)) as client:
        families = text_string_to_metric_families((await client.get("/metrics")).text)
        labels = {name for family in families for each in family.samples for name in each.labels}
    known = {"stage", "end", "quantile", "rule", "version", "provider", "sku", "limit"}
    assert labels <= known


async def test_fetches_are_counted_by_how_they_end(url: str) -> None:
    async with FakeWeb() as web:
        odd = web.host("odd.example").robots("").body("/gone", "", status=410)
        odd.body("/broken", "", status=500).hang("/never").redirect("/in", "http://10.0.0.1/")
        odd.conditional("/known", "body", etag='"1"').body("/big", b"x" * 5000)
        odd.closes("/shut")
        settings = make_settings(url, fetch_resolve=web.resolve, fetch_timeout_seconds=5)
        async with serving(settings) as client:
            context = client.app.state.context  # type: ignore[attr-defined]
            fetch = context.scheduler.engine.tools.fetch
            for path in ("/robots.txt", "/gone", "/broken", "/never", "/in", "/shut"):
                await _quietly(fetch.get(f"http://odd.example{path}"))
            await fetch.get("http://odd.example/known", etag='"1"')
            await fetch.get("http://odd.example/big", max_bytes=2000)
            await _quietly(fetch.get("http://nowhere.invalid/"))
            figures = await Figures.read(client)

    counted = {end: figures.of("fetches_total", end=end) for end in FetchOutcome}
    assert counted == dict.fromkeys(FetchOutcome, 1.0) | dict.fromkeys(NOT_MET_HERE, 0.0)


async def _quietly(fetching: Awaitable[object]) -> None:
    with suppress(FetchFailed):
        await fetching


async def test_what_waits_hangs_or_is_paused_shows(url: str, database: Database) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        await client.post(f"/api/v3/stages/{SCANS}/pause")
        async with database.transaction() as session:
            await CASES[SCANS].make_due(session, 3)
            stuck = Job(job_type="sitemap", subject="stuck", status="processing", **OWNED)
            session.add(stuck)
        figures = await Figures.read(client)

    assert figures.of("stage_queued_rows", stage=SCANS) == 3
    assert figures.of("stage_due_rows", stage=SCANS) == 3
    assert figures.of("stage_oldest_due_seconds", stage=SCANS) > 0
    assert figures.of("stage_in_flight_rows", stage=SCANS) == 1
    assert figures.of("stage_overdue_rows", stage=SCANS) == 1
    assert figures.of("stage_paused", stage=SCANS) == 1
    assert figures.of("alerts", rule="stage_without_consumer") == 1


async def test_who_waits_for_a_connection_is_counted(url: str) -> None:
    small = Database(url, pool_size=1)
    async with small.engine.connect():
        assert (small.checked_out(), small.pool_waits()) == (1, 0)
        second = asyncio.create_task(_ask(small))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not small.pool_waits():
                await asyncio.sleep(0.01)
    await second
    assert small.pool_waits() == 1
    await small.close()


async def _ask(database: Database) -> None:
    async with database.reading() as session:
        await session.execute(select(1))


async def test_viewers_of_the_default_tenant_may_look_and_nobody_without_a_key(
    url: str, database: Database
) -> None:
    settings = make_settings(url, auth_mode="required", scheduler_enabled=False)
    async with database.transaction() as session:
        actor = await get_system_actor(session, settings)
        _, key = await create_api_key(session, actor, name="prometheus", role=Role.VIEWER)
    async with serving(settings) as client:
        without = await client.get("/metrics")
        signed_in = await client.get("/metrics", headers={"Authorization": f"Bearer {key}"})
    assert (without.status_code, signed_in.status_code) == (401, 200)
    assert signed_in.headers["content-type"].startswith("text/plain")


# What it costs


async def test_a_large_table_is_not_counted_and_says_so(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with database.transaction() as session:
        for status, rows in {"queued": 3, "submitted": 40, "failed": 2}.items():
            session.add_all(
                Domain(
                    id=uuid7(),
                    domain=f"{status}{n}.example",
                    status="completed",
                    sitemap_analysis_status=status,
                    **OWNED,
                )
                for n in range(rows)
            )
    async with database.engine.begin() as connection:
        await connection.execute(text("ANALYZE domains"))
    async with database.reading() as session:
        [small] = await report_stages(session, [submission.STAGE], settings)
        monkeypatch.setattr(stats, "MAX_EXACT_ROWS", 10)
        [large] = await report_stages(session, [submission.STAGE], settings)

    assert (small.counts, small.estimated) == ({"queued": 3, "submitted": 40, "failed": 2}, ())
    assert large.counts == small.counts
    assert large.estimated == ("submitted",)


async def test_durations_are_of_the_last_hour(settings: Settings, database: Database) -> None:
    long_ago = func.now() - func.make_interval(0, 0, 0, 0, 2)
    async with database.transaction() as session:
        for at, durations in ((func.now(), [10, 20, 30]), (long_ago, [9_000])):
            session.add(
                StageEvent(
                    stage=SCANS,
                    kind="completed",
                    rows=len(durations),
                    durations_ms=durations,
                    at=at,
                )
            )
    async with database.reading() as session:
        [report] = await report_stages(session, [discovery.STAGE], settings)
    assert report.p50_ms == 20
    assert report.p95_ms == pytest.approx(29)


async def test_a_stage_that_is_busy_for_long_has_not_stopped_ticking(url: str) -> None:
    async with serving(make_settings(url)) as client:
        context = client.app.state.context  # type: ignore[attr-defined]
        runner = context.scheduler.engine.runners[STAGES[0].name]
        await runner.no_runs.wait()
        runner.runs, runner.last_tick = runner.pace.max_instances, 1.0
        assert await run_job_loop(runner) is None
        runner.runs = 0
        assert runner.last_tick > 1.0
