"""Every rule fires when it should and is over when it is mended; posts arrive, whatever happens."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from math import ceil
from typing import Any

import pytest
from aiohttp.web import BaseRequest, Response, StreamResponse
from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from structlog.testing import capture_logs

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import Domain, Job
from scrapersky.operations.alert_delivery import post_due_alerts
from scrapersky.operations.alert_rules import RULES
from scrapersky.operations.alerts import check_alerts
from scrapersky.pipeline.report import report_stages
from scrapersky.pipeline.scheduler import run_scheduler
from scrapersky.pipeline.tables import (
    Alert,
    AlertPost,
    ChoreFailure,
    Host,
    StageControl,
    StageEvent,
    Worker,
)
from scrapersky.settings import Settings
from scrapersky.sitemaps import submission
from scrapersky.stages import STAGES
from tests.app import serving
from tests.cli.conftest import Cli
from tests.conftest import make_settings
from tests.fake_web import FakeWeb
from tests.stage_cases import CASES, OWNED
from tests.waiting import PATIENCE_SECONDS

STAGE = submission.STAGE.name
HOUR = timedelta(hours=1)

Step = Callable[[AsyncSession], Awaitable[object]]


@dataclass(frozen=True)
class Case:
    """How to make a rule fire, and how to mend it."""

    rule: str
    subject: str
    go_wrong: Step
    mend: Step
    settings: Mapping[str, Any] = field(default_factory=dict)


def worker(**values: Any) -> Step:
    async def step(session: AsyncSession) -> None:
        session.add(
            Worker(
                hostname="mill",
                boot_id="boot",
                pid=7,
                pid_start=1,
                version="0",
                **{"stages": {}, **values},
            )
        )

    return step


def change(model: Any, **values: Any) -> Step:
    async def step(session: AsyncSession) -> None:
        await session.execute(update(model).values(**values))

    return step


async def due_domain(session: AsyncSession) -> None:
    await CASES[STAGE].make_due(session, 1)


async def domain_due_for_hours(session: AsyncSession) -> None:
    await due_domain(session)
    await session.flush()
    await session.execute(update(Domain).values(sitemap_analysis_due_at=func.now() - 2 * HOUR))


async def paused_for_hours(session: AsyncSession) -> None:
    await due_domain(session)
    session.add(StageControl(stage=STAGE, paused=True, updated_at=func.now() - 2 * HOUR))


def events(kind: str, rows: int) -> Step:
    async def step(session: AsyncSession) -> None:
        session.add(StageEvent(stage=STAGE, kind=kind, rows=rows))

    return step


async def domain_of_a_dead_worker(session: AsyncSession) -> None:
    await due_domain(session)
    await session.flush()
    held = {
        "sitemap_analysis_status": "processing",
        "sitemap_analysis_lease_token": uuid7(),
        "sitemap_analysis_lease_expires_at": func.now() + HOUR,
        "sitemap_analysis_worker_id": uuid7(),
    }
    await session.execute(update(Domain).values(held))


async def failed_chore(session: AsyncSession) -> None:
    session.add(ChoreFailure(name="delete_old_rows", error="OSError: No space left."))


async def no_failed_chore(session: AsyncSession) -> None:
    await session.execute(delete(ChoreFailure))


async def job_of_an_unknown_type(session: AsyncSession) -> None:
    session.add(Job(job_type="sitemaps", subject="site", **OWNED))


async def scans_without_sitemaps(session: AsyncSession) -> None:
    for n in range(3):
        session.add(
            Job(
                job_type="sitemap",
                subject=f"site{n}",
                status="complete",
                result_data={"sitemaps_count": 0},
                finished_at=func.now(),
                **OWNED,
            )
        )


async def hosts_left_alone(session: AsyncSession) -> None:
    for n in range(3):
        session.add(Host(host=f"host{n}", circuit_open_until=func.now() + HOUR))


done = change(Domain, sitemap_analysis_status="submitted")
an_hour_ago = change(StageEvent, at=func.now() - 2 * HOUR)

CASES_OF_RULES = [
    Case(
        "own_limit_reached",
        "mill:7",
        worker(vitals={"own_limits": {"disk_space": "The disk is full."}}),
        change(Worker, vitals={}),
    ),
    Case(
        "stage_not_registered",
        STAGE,
        worker(stages={STAGE: {"failed": "its trigger is odd"}}),
        change(Worker, stages={}),
    ),
    Case(
        "stage_run_failing",
        STAGE,
        worker(stages={STAGE: {"last_tick": time.time() + 3600, "error": "OSError: no"}}),
        change(Worker, stages={STAGE: {"last_tick": time.time() + 3600, "error": None}}),
    ),
    Case("stage_without_consumer", STAGE, due_domain, done),
    Case("rows_stuck", STAGE, domain_of_a_dead_worker, done),
    Case("chore_failing", "delete_old_rows", failed_chore, no_failed_chore),
    Case("rows_unhandled", "jobs", job_of_an_unknown_type, change(Job, status="cancelled")),
    Case(
        "stage_not_ticking",
        STAGE,
        worker(stages={STAGE: {"last_tick": time.time() - 3600}}),
        change(Worker, stages={STAGE: {"last_tick": time.time() + 3600}}),
    ),
    Case("oldest_due_too_old", STAGE, domain_due_for_hours, done),
    Case("stage_paused_long", STAGE, paused_for_hours, change(StageControl, paused=False)),
    Case("dead_letters_rising", STAGE, events("failed", 21), an_hour_ago),
    Case("rescues_rising", STAGE, events("rescued", 21), an_hour_ago),
    Case(
        "no_sitemaps_found",
        "",
        scans_without_sitemaps,
        change(Job, result_data={"sitemaps_count": 1}),
        {"alert_scans_without_sitemaps": 3},
    ),
    Case(
        "listener_down",
        "mill:7",
        worker(vitals={"listener": "down", "deaf_since": time.time() - 3600}),
        change(Worker, vitals={"listener": "up", "deaf_since": None}),
    ),
    Case(
        "disk_low",
        "mill",
        worker(vitals={"disk_free_bytes": 5}),
        change(Worker, vitals={"disk_free_bytes": 10**12}),
    ),
    Case(
        "many_circuits_open",
        "",
        hosts_left_alone,
        change(Host, circuit_open_until=None),
        {"alert_open_circuits": 3},
    ),
]


def test_there_is_a_case_for_every_rule() -> None:
    assert [case.rule for case in CASES_OF_RULES] != []
    assert {case.rule for case in CASES_OF_RULES} == {rule.name for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_limit_of_a_rule_is_a_setting(rule: Any) -> None:
    assert rule.means
    assert rule.limit is None or rule.limit in Settings.model_fields


async def said_of(database: Database, settings: Settings, rule: str) -> list[tuple[str, str]]:
    """Level and event of what is logged about a rule when one looks."""
    with capture_logs() as lines:
        await check_alerts(database, settings, STAGES)
    return [(each["log_level"], each["event"]) for each in lines if each.get("rule") == rule]


async def do(database: Database, step: Step) -> None:
    async with database.transaction() as session:
        await step(session)


@pytest.mark.parametrize("case", CASES_OF_RULES, ids=lambda case: case.rule)
async def test_an_alert_is_said_once_when_it_begins_and_once_when_it_is_over(
    case: Case, url: str, database: Database
) -> None:
    settings = make_settings(url, **case.settings, worker_dead_after_seconds=600)
    assert await said_of(database, settings, case.rule) == []

    await do(database, case.go_wrong)
    assert await said_of(database, settings, case.rule) == [("error", "alert")]
    assert await said_of(database, settings, case.rule) == []

    await do(database, case.mend)
    assert await said_of(database, settings, case.rule) == [("warning", "alert over")]
    assert await said_of(database, settings, case.rule) == []
    async with database.reading() as session:
        [alert] = await session.scalars(select(Alert).where(Alert.rule == case.rule))
    assert (alert.subject, alert.cleared_at is not None) == (case.subject, True)


async def test_processes_that_look_at_once_say_it_once(url: str, database: Database) -> None:
    settings = make_settings(url)
    await do(database, due_domain)
    others = [Database(url, pool_size=2) for _ in range(4)]

    with capture_logs() as lines:
        await asyncio.gather(*(check_alerts(each, settings, STAGES) for each in others))
    for each in others:
        await each.close()

    assert [each["event"] for each in lines if "rule" in each] == ["alert"]


async def test_what_comes_again_is_a_new_alert(url: str, database: Database) -> None:
    settings = make_settings(url)
    for step in (due_domain, done, due_domain):
        await do(database, step)
        await check_alerts(database, settings, STAGES)

    async with database.reading() as session:
        ended = list(await session.scalars(select(Alert.cleared_at).order_by(Alert.began_at)))
    assert [each is None for each in ended] == [False, True]


async def test_the_api_and_the_health_page_agree(url: str) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        before = (await client.get("/api/v3/alerts")).json()
        await client.post("/api/v3/sitemap/scan", json={"base_url": "example.com"})
        alerts = (await client.get("/api/v3/alerts")).json()
        health = await client.get("/health/schedulers")

    assert before == {"firing": [], "recent": []}
    unhealthy = {each["stage"]: each["problems"] for each in health.json()["stages"]}
    assert [each["rule"] for each in alerts["firing"]] == ["stage_without_consumer"] * 2
    assert {each["subject"]: [each["sentence"]] for each in alerts["firing"]} == {
        stage: problems for stage, problems in unhealthy.items() if problems
    }
    assert health.status_code == 503


async def test_the_command_line_shows_what_is_wrong(url: str, database: Database) -> None:
    await do(database, due_domain)
    await check_alerts(database, make_settings(url), STAGES)
    cli = Cli({"DATABASE_URL": url})
    said, listed = await cli("alerts"), await cli("alerts", "--json")

    [firing] = json.loads(listed.out)["firing"]
    assert said.out.startswith(f"stage_without_consumer {STAGE}: Rows are due (1)")
    assert (firing["rule"], firing["since"] is not None) == ("stage_without_consumer", True)


async def test_a_scheduler_that_has_just_started_is_not_taken_for_nobody(
    url: str, database: Database
) -> None:
    settings = make_settings(url, worker_beat_seconds=60, worker_dead_after_seconds=300)
    async with run_scheduler(database, settings, STAGES, ()):
        async with database.reading() as session:
            reports = await report_stages(session, STAGES, settings)
        assert {each.name: each.consumers for each in reports} == {each.name: 1 for each in STAGES}


async def test_a_process_that_only_takes_requests_notices_that_nobody_works(
    url: str, database: Database
) -> None:
    await do(database, due_domain)
    noted = None
    async with (
        serving(make_settings(url, scheduler_enabled=False)),
        asyncio.timeout(PATIENCE_SECONDS),
    ):
        while noted is None:
            await asyncio.sleep(0.05)
            async with database.reading() as session:
                noted = await session.scalar(select(Alert.rule))

    assert noted == "stage_without_consumer"


async def test_a_process_tells_of_its_own_ear_and_disk(url: str) -> None:
    settings = make_settings(
        url,
        listen_database_url="postgresql://nobody@127.0.0.1:1/none",
        alert_listener_down_seconds=0.1,
        alert_disk_free_bytes=10**17,
        worker_beat_seconds=0.1,
    )
    rules: set[str] = set()
    async with serving(settings) as client, asyncio.timeout(PATIENCE_SECONDS):
        while len(rules) < 2:
            await asyncio.sleep(0.05)
            firing = (await client.get("/api/v3/alerts")).json()["firing"]
            rules = {each["rule"] for each in firing}

    assert rules == {"listener_down", "disk_low"}


# The webhook


@dataclass
class Hook:
    """A webhook that notes what it is sent."""

    status: int = 200
    taken: list[tuple[Mapping[str, str], bytes]] = field(default_factory=list)

    async def __call__(self, request: BaseRequest) -> StreamResponse:
        self.taken.append((dict(request.headers), await request.read()))
        return Response(status=self.status)


SECRET = "a secret between the two of us"


def hooked(web: FakeWeb, url: str, **more: Any) -> Settings:
    return web.settings(
        database_url=url,
        alert_webhook_url="http://hook.example/alerts",
        alert_webhook_secret=SECRET,
        **more,
    )


async def posts(database: Database) -> list[AlertPost]:
    async with database.reading() as session:
        return list(await session.scalars(select(AlertPost).order_by(AlertPost.created_at)))


async def test_a_post_is_signed_and_sent_once(url: str, database: Database) -> None:
    hook = Hook()
    async with FakeWeb() as web:
        web.host("hook.example").route("/alerts", hook)
        settings = hooked(web, url)
        await do(database, due_domain)
        await check_alerts(database, settings, STAGES)
        assert await post_due_alerts(database, settings) == 1
        assert await post_due_alerts(database, settings) == 0

    [(headers, body)] = hook.taken
    signed = headers["X-ScraperSky-Timestamp"].encode() + b"." + body
    expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    told = json.loads(body)
    assert headers["X-ScraperSky-Signature"] == f"sha256={expected}"
    assert headers["Idempotency-Key"] == told["id"]
    assert (told["event"], told["alert"]["rule"]) == ("began", "stage_without_consumer")


async def test_a_refused_post_is_tried_again_later_with_the_same_id(
    url: str, database: Database
) -> None:
    hook = Hook(status=500)
    async with FakeWeb() as web:
        web.host("hook.example").route("/alerts", hook)
        settings = hooked(web, url)
        await do(database, due_domain)
        await check_alerts(database, settings, STAGES)
        assert await post_due_alerts(database, settings) == 0
        assert await post_due_alerts(database, settings) == 0, "it waits before it tries again"
        [refused] = await posts(database)
        hook.status = 204
        await do(database, change(AlertPost, due_at=func.now()))
        assert await post_due_alerts(database, settings) == 1

    assert (refused.attempts, refused.ended_at) == (1, None)
    assert "answered 500" in (refused.error or "")
    ids = [headers["Idempotency-Key"] for headers, _ in hook.taken]
    assert len(ids) == 2
    assert len(set(ids)) == 1


async def test_waits_grow_with_every_try(url: str, database: Database) -> None:
    waits = []
    async with FakeWeb() as web:
        web.host("hook.example").always(503)
        settings = hooked(web, url)
        await do(database, due_domain)
        await check_alerts(database, settings, STAGES)
        for _ in range(3):
            await do(database, change(AlertPost, due_at=func.now()))
            await post_due_alerts(database, settings)
            async with database.reading() as session:
                waits.append(await session.scalar(select(AlertPost.due_at - func.now())))

    seconds = [ceil(wait.total_seconds() / 15) for wait in waits if wait is not None]
    assert seconds == [1, 2, 4]


async def test_a_webhook_that_hangs_holds_up_nothing(url: str, database: Database) -> None:
    async with FakeWeb() as web:
        let_go = asyncio.Event()

        async def hang(_request: BaseRequest) -> StreamResponse:
            await let_go.wait()
            return Response(status=503)

        host = web.host("hook.example").route("/alerts", hang)
        settings = hooked(web, url, fetch_timeout_seconds=600)
        await do(database, due_domain)
        await check_alerts(database, settings, STAGES)
        posting = asyncio.create_task(post_due_alerts(database, settings))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not host.in_flight:
                await asyncio.sleep(0.01)
        await do(database, events("failed", 100))
        said = await said_of(database, settings, "dead_letters_rising")
        assert said == [("error", "alert")]
        assert not posting.done()
        let_go.set()
        assert await posting == 0

    first, second = await posts(database)
    assert "503" in (first.error or "")
    assert (second.attempts, second.ended_at) == (0, None)


async def test_a_process_that_dies_while_posting_has_scheduled_the_repetition(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        host = web.host("hook.example").hang("/alerts")
        settings = hooked(web, url)
        await do(database, due_domain)
        await check_alerts(database, settings, STAGES)
        posting = asyncio.create_task(post_due_alerts(database, settings))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not host.in_flight:
                await asyncio.sleep(0.01)
        posting.cancel()
        with suppress(asyncio.CancelledError):
            await posting

        host.route("/alerts", Hook())
        await do(database, change(AlertPost, due_at=func.now()))
        assert await post_due_alerts(database, settings) == 1


async def test_a_redirect_is_not_followed_anywhere(url: str, database: Database) -> None:
    async with FakeWeb() as web:
        inside = web.host("inside.example")
        web.host("hook.example").redirect("/alerts", f"http://127.0.0.1:{web.port}/", 307)
        settings = hooked(web, url)
        await do(database, due_domain)
        await check_alerts(database, settings, STAGES)
        assert await post_due_alerts(database, settings) == 0

    [refused] = await posts(database)
    assert "redirects" in (refused.error or "")
    assert inside.seen == []


async def test_a_webhook_at_a_private_address_is_not_asked(url: str, database: Database) -> None:
    async with FakeWeb() as web:
        settings = make_settings(
            url, webhook_allow_networks="", alert_webhook_url=f"http://127.0.0.1:{web.port}/alerts"
        )
        await do(database, due_domain)
        await check_alerts(database, settings, STAGES)
        assert await post_due_alerts(database, settings) == 0

    [refused] = await posts(database)
    assert refused.error
    assert "127.0.0.1" in refused.error


async def test_nothing_is_kept_to_be_posted_without_a_webhook(
    settings: Settings, database: Database
) -> None:
    await do(database, due_domain)
    await check_alerts(database, settings, STAGES)
    assert await posts(database) == []
