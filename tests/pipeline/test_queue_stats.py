"""Queue statistics are bounded however long a queue is, and still report its age."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from scrapersky.contacts import extraction
from scrapersky.db.session import Database
from scrapersky.domains import metadata
from scrapersky.pipeline import queue_stats
from scrapersky.pipeline.report import StageReport, load_status, report_stages
from scrapersky.settings import Settings
from scrapersky.stages import STAGES
from tests.app import serving
from tests.conftest import make_settings

CAP = 100
ROWS = 20_000
TABLES = {"domains", "jobs", "pages", "dead_letters"}
OWNER = "tenant_id, created_by"
OWNED = "tenants.id, users.id FROM generate_series(1, :rows) n, tenants, users"
FILL = (
    # The last group of each queue has the oldest row, and one that is not due yet.
    f"""INSERT INTO domains (domain, status, sitemap_analysis_status, due_at, id, {OWNER})
    SELECT 'site' || n || '.example', 'pending', 'queued',
        now() - n * interval '1 s', gen_random_uuid(), {OWNED}""",
    f"""INSERT INTO jobs (job_type, subject, priority, due_at, id, {OWNER})
    SELECT 'sitemap', 'site' || n || '.example', CASE WHEN n > :rows - 2 THEN 5 ELSE 1 END,
        now() - (n - CASE WHEN n = :rows - 1 THEN :rows * 2 ELSE 0 END) * interval '1 s',
        gen_random_uuid(), {OWNED}""",
    f"""INSERT INTO pages (domain_id, url, url_digest, path_depth, host, priority_level,
        page_processing_status, page_processing_due_at, id, {OWNER})
    SELECT (SELECT id FROM domains LIMIT 1), 'http://x.example/' || n, decode(md5(n::text), 'hex'),
        1, 'host' || lpad((n * 40 / (:rows + 1))::text, 2, '0'), 1 + n % 2, 'Queued',
        now() - (n - CASE WHEN n = :rows - 1 THEN :rows * 2 ELSE 0 END) * interval '1 s',
        gen_random_uuid(), {OWNED}""",
    """INSERT INTO dead_letters (id, stage, row_id, error_class, error, worker, attempts)
    SELECT gen_random_uuid(), 'process_pending_sitemaps', gen_random_uuid(), 'X', 'It broke.', '', 1
    FROM generate_series(1, :rows) n""",
)


@pytest.fixture
async def long_queues(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_stats, "MAX_COUNTED", CAP)
    async with database.engine.begin() as connection:
        for each in FILL:
            await connection.execute(text(each), {"rows": ROWS})
    async with database.engine.connect() as connection:
        await connection.execution_options(isolation_level="AUTOCOMMIT")
        await connection.execute(text("VACUUM ANALYZE domains, jobs, pages, dead_letters"))


def hear(engine: AsyncEngine) -> list[tuple[str, Any]]:
    heard: list[tuple[str, Any]] = []

    def note(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
        heard.append((statement, parameters))

    event.listen(engine.sync_engine, "before_cursor_execute", note)
    return heard


def scans_in(plan: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Every scan of a table in a plan, with the rows that it read."""
    if plan.get("Relation Name") in TABLES:
        removed = plan.get("Rows Removed by Filter", 0)
        yield plan["Relation Name"], (plan["Actual Rows"] + removed) * plan["Actual Loops"]
    for each in plan.get("Plans", ()):
        yield from scans_in(each)


@pytest.mark.usefixtures("long_queues")
async def test_no_probe_reads_more_of_a_queue_than_is_counted(url: str, database: Database) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        heard = hear(client.app.state.context.database.engine)  # type: ignore[attr-defined]
        answers = [await ask(client, path) for path in ("/health", "/health/ready")]
        stages = (await ask(client, "/health/schedulers")).json()["stages"]
        asked = [each for each in heard if each[0].lstrip().startswith(("SELECT", "WITH"))]

    scans = []
    async with database.engine.connect() as connection:
        for statement, parameters in asked:
            explain = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {statement}"
            found = (await connection.exec_driver_sql(explain, parameters)).scalar_one()
            (plan,) = json.loads(found) if isinstance(found, str) else found
            scans += list(scans_in(plan["Plan"]))

    assert [each.status_code for each in answers] == [200, 200]
    assert {table for table, _ in scans} >= TABLES
    assert [each for each in scans if each[1] > CAP + 1] == []
    (told,) = [each for each in stages if each["stage"] == extraction.STAGE.name]
    assert told["due"] == CAP
    assert "Rows are due (100+) and no consumer runs this stage." in told["problems"]


async def ask(client: httpx.AsyncClient, path: str) -> httpx.Response:
    return await client.get(path)


@pytest.mark.usefixtures("long_queues")
async def test_of_a_long_queue_the_oldest_row_is_told(
    settings: Settings, database: Database
) -> None:
    async with database.reading() as session:
        brief = {each.name: each for each in (await load_status(session, STAGES, settings)).reports}
        whole = {each.name: each for each in await report_stages(session, STAGES, settings)}

    for name in ("process_pending_sitemaps", extraction.STAGE.name, metadata.STAGE.name):
        assert (brief[name].queued, brief[name].due) == (CAP, CAP)
        for seconds in (brief[name].oldest_due_seconds, brief[name].oldest_ready_seconds):
            assert seconds is not None
            assert seconds >= ROWS
    for name in ("process_pending_sitemaps", extraction.STAGE.name):
        assert brief[name].next_due_at is not None
        assert counts_of(whole[name]) == (ROWS, ROWS - 1)
    assert brief["process_pending_sitemaps"].dead_letters == CAP
    assert whole["process_pending_sitemaps"].dead_letters == ROWS


def test_a_count_that_was_cut_off_says_so() -> None:
    most = queue_stats.MAX_COUNTED

    assert queue_stats.describe_count(most) == "10,000+"
    assert queue_stats.describe_count(1, most, 3) == "10,004+"
    assert queue_stats.describe_count(1, 2) == "3"
    assert queue_stats.describe_count(20_000) == "20,000"


def counts_of(report: StageReport) -> tuple[int, int]:
    return report.queued, report.due
