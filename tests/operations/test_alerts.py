"""Every rule fires and clears when it should, and its posts are delivered despite failures."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from aiohttp.web import BaseRequest, Response, StreamResponse
from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from standardwebhooks import Webhook
from structlog.testing import capture_logs

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import DEFAULT_TENANT_ID, Domain, Job, WebhookDelivery
from scrapersky.models.stage_names import DELIVERY_STAGE
from scrapersky.operations.alert_rules import RULES
from scrapersky.operations.alerts import build_alert_chore, check_alerts
from scrapersky.pipeline.report import report_stages
from scrapersky.pipeline.scheduler import run_scheduler
from scrapersky.pipeline.tables import (
    Alert,
    ChoreFailure,
    DeadLetter,
    Host,
    StageControl,
    StageEvent,
    Worker,
)
from scrapersky.settings import Settings
from scrapersky.sitemaps import submission
from scrapersky.stages import STAGES
from scrapersky.webhooks.service import deliver_operator_events
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


async def test_a_process_that_only_takes_requests_notices_and_tells_that_nobody_works(
    url: str, database: Database
) -> None:
    hook = Hook()
    await do(database, due_domain)
    async with FakeWeb() as web:
        web.host("hook.example").route("/alerts", hook)
        async with (
            serving(hooked(web, url, scheduler_enabled=False)),
            asyncio.timeout(PATIENCE_SECONDS),
        ):
            while not hook.taken:
                await asyncio.sleep(0.05)
    async with database.reading() as session:
        noted = list(await session.scalars(select(Alert.rule)))

    assert noted == ["stage_without_consumer"]
    assert [each["data"]["rule"] for each in hook.told] == noted


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

    @property
    def told(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.taken]

    async def __call__(self, request: BaseRequest) -> StreamResponse:
        self.taken.append((dict(request.headers), await request.read()))
        return Response(status=self.status)


SECRET = "a secret between the two of us"


def hooked(web: FakeWeb, url: str, **more: Any) -> Settings:
    known = {"alert_webhook_url": "http://hook.example/alerts", "alert_webhook_secret": SECRET}
    return web.settings(database_url=url, **{**known, **more})


async def alert_deliveries(database: Database) -> list[WebhookDelivery]:
    async with database.reading() as session:
        return list(await session.scalars(select(WebhookDelivery).order_by(WebhookDelivery.id)))


async def test_an_alert_is_a_signed_event_sent_once_when_it_begins_and_once_when_it_is_over(
    url: str, database: Database
) -> None:
    hook = Hook()
    async with FakeWeb() as web:
        web.host("hook.example").route("/alerts", hook)
        settings = hooked(web, url)
        delivered = []
        for step in (due_domain, done):
            await do(database, step)
            await check_alerts(database, settings, STAGES)
            delivered += [await deliver_operator_events(database, settings) for _ in range(2)]

    assert delivered == [1, 0, 1, 0]
    (headers, body), _ = hook.taken
    assert Webhook(SECRET.encode()).verify(body, dict(headers)) == hook.told[0]
    began, cleared = hook.told
    assert (began["event"], cleared["event"]) == ("alert.fired", "alert.resolved")
    assert headers["webhook-id"] == began["id"] != cleared["id"]
    assert began["tenant_id"] == str(DEFAULT_TENANT_ID)
    assert began["data"]["rule"] == "stage_without_consumer"
    assert began["data"]["cleared_at"] is None
    assert began["data"]["id"] == cleared["data"]["id"]
    assert cleared["data"]["cleared_at"] > cleared["data"]["began_at"]
    assert {each.status for each in await alert_deliveries(database)} == {"delivered"}


async def test_processes_that_deliver_at_once_send_it_once(url: str, database: Database) -> None:
    """Also beside a worker, which is woken as soon as the alert is noted."""
    hook = Hook()
    others = [Database(url, pool_size=2) for _ in range(3)]
    async with FakeWeb() as web:
        web.host("hook.example").route("/alerts", hook)
        # Nobody dies here, however slow the machine is.
        settings = hooked(web, url, worker_dead_after_seconds=300)
        await do(database, events("failed", 100))
        async with run_scheduler(database, settings, STAGES, ()):
            await check_alerts(database, settings, STAGES)
            await asyncio.gather(*(deliver_operator_events(each, settings) for each in others))
            async with asyncio.timeout(PATIENCE_SECONDS):
                while [each.status for each in await alert_deliveries(database)] != ["delivered"]:
                    await asyncio.sleep(0.05)
    for each in others:
        await each.close()

    assert [each["data"]["rule"] for each in hook.told] == ["dead_letters_rising"]


async def test_alerts_are_sent_while_the_deliveries_of_webhooks_are_paused(
    url: str, database: Database
) -> None:
    hook = Hook()
    async with FakeWeb() as web:
        web.host("hook.example").route("/alerts", hook)
        settings = hooked(web, url)
        async with database.transaction() as session:
            session.add(StageControl(stage=DELIVERY_STAGE, paused=True))
        await do(database, due_domain)
        await check_alerts(database, settings, STAGES)
        assert await deliver_operator_events(database, settings) == 1

    assert len(hook.taken) == 1


async def test_a_refused_alert_is_tried_again_later_with_the_same_id(
    url: str, database: Database
) -> None:
    hook = Hook(status=500)
    async with FakeWeb() as web:
        web.host("hook.example").route("/alerts", hook)
        settings = hooked(web, url, retry_base_seconds=600)
        await do(database, due_domain)
        await check_alerts(database, settings, STAGES)
        assert await deliver_operator_events(database, settings) == 0
        assert await deliver_operator_events(database, settings) == 0, "it waits until it is due"
        [refused] = await alert_deliveries(database)
        hook.status = 204
        await do(database, change(WebhookDelivery, due_at=func.now()))
        assert await deliver_operator_events(database, settings) == 1

    assert (refused.status, refused.attempts, refused.response_status) == ("pending", 1, 500)
    assert "answered 500" in (refused.error or "")
    ids = [headers["webhook-id"] for headers, _ in hook.taken]
    assert len(ids) == 2
    assert len(set(ids)) == 1


async def test_an_alert_that_waits_for_its_receiver_raises_no_alert(
    url: str, database: Database
) -> None:
    """Without workers, its row is due for a moment with nobody but the chore to work it."""
    hook = Hook(status=500)
    async with FakeWeb() as web:
        web.host("hook.example").route("/alerts", hook)
        settings = hooked(web, url, retry_base_seconds=600)
        await do(database, events("failed", 100))
        chore = build_alert_chore(STAGES)
        for _ in range(3):
            await chore.run(database, settings)
            await do(database, change(WebhookDelivery, due_at=func.now()))

    assert [each["data"]["rule"] for each in hook.told] == ["dead_letters_rising"] * 3
    assert len(await alert_deliveries(database)) == 1


async def test_a_receiver_that_hangs_holds_up_no_evaluation(url: str, database: Database) -> None:
    async with FakeWeb() as web:
        let_go = asyncio.Event()

        async def hang(_request: BaseRequest) -> StreamResponse:
            await let_go.wait()
            return Response(status=503)

        host = web.host("hook.example").route("/alerts", hang)
        settings = hooked(web, url, webhook_timeout_seconds=60)
        await do(database, due_domain)
        await check_alerts(database, settings, STAGES)
        delivering = asyncio.create_task(deliver_operator_events(database, settings))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not host.in_flight:
                await asyncio.sleep(0.01)
        await do(database, events("failed", 100))
        said = await said_of(database, settings, "dead_letters_rising")
        assert said == [("error", "alert")]
        assert not delivering.done()
        let_go.set()
        assert await delivering == 0

    first, second = await alert_deliveries(database)
    assert "503" in (first.error or "")
    assert (second.status, second.attempts) == ("pending", 0)


async def test_an_alert_lost_with_its_process_is_sent_by_another(
    url: str, database: Database
) -> None:
    hook = Hook()
    async with FakeWeb() as web:
        web.host("hook.example").route("/alerts", hook)
        settings = hooked(web, url)
        await do(database, due_domain)
        await check_alerts(database, settings, STAGES)
        lost = {
            "status": "processing",
            "lease_token": uuid7(),
            "lease_expires_at": func.now() + HOUR,
            "worker_id": uuid7(),
        }
        await do(database, change(WebhookDelivery, **lost))
        assert await deliver_operator_events(database, settings) == 1

    assert len(hook.taken) == 1


@pytest.mark.parametrize("status", [307, 404, 410])
async def test_an_alert_that_is_refused_for_good_is_a_dead_letter(
    url: str, database: Database, status: int
) -> None:
    async with FakeWeb() as web:
        inside = web.host("inside.example")
        web.host("hook.example").redirect("/alerts", f"http://127.0.0.1:{web.port}/", status)
        settings = hooked(web, url)
        await do(database, due_domain)
        await check_alerts(database, settings, STAGES)
        assert await deliver_operator_events(database, settings) == 0

    [refused] = await alert_deliveries(database)
    async with database.reading() as session:
        [letter] = await session.scalars(select(DeadLetter))
    assert (refused.status, letter.row_id) == ("failed", refused.id)
    assert f"hook.example answered {status}" in (refused.error or "")
    assert inside.seen == []


async def test_a_receiver_at_a_private_address_is_not_asked(url: str, database: Database) -> None:
    async with FakeWeb() as web:
        settings = make_settings(
            url, webhook_allow_networks="", alert_webhook_url=f"http://127.0.0.1:{web.port}/alerts"
        )
        await do(database, due_domain)
        await check_alerts(database, settings, STAGES)
        assert await deliver_operator_events(database, settings) == 0

    [refused] = await alert_deliveries(database)
    assert refused.status == "failed"
    assert "127.0.0.1" in (refused.error or "")


async def test_nothing_is_sent_once_the_url_is_removed(url: str, database: Database) -> None:
    async with FakeWeb() as web:
        await do(database, due_domain)
        await check_alerts(database, hooked(web, url), STAGES)
        await deliver_operator_events(database, make_settings(url))

    [skipped] = await alert_deliveries(database)
    assert (skipped.status, skipped.error) == ("skipped", "ALERT_WEBHOOK_URL is not set.")


async def test_without_a_secret_alerts_are_not_signed(url: str, database: Database) -> None:
    hook = Hook()
    async with FakeWeb() as web:
        web.host("hook.example").route("/alerts", hook)
        settings = hooked(web, url, alert_webhook_secret="")
        await do(database, due_domain)
        await check_alerts(database, settings, STAGES)
        await deliver_operator_events(database, settings)

    [(headers, _)] = hook.taken
    assert "webhook-signature" not in headers


async def test_nothing_is_kept_to_be_sent_without_a_url(
    settings: Settings, database: Database
) -> None:
    await do(database, due_domain)
    await check_alerts(database, settings, STAGES)
    assert await alert_deliveries(database) == []
