"""The operations pages as rendered by the server."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import func

from scrapersky.dashboard import live
from scrapersky.dashboard.rendering import PageRenderer
from scrapersky.dashboard.views.routes import OPERATIONS_VIEWS
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import DEFAULT_TENANT_ID, Role, WebhookDelivery
from scrapersky.models.stage_names import PAGE_STAGE
from scrapersky.pipeline.tables import Alert, Host, StageControl, StageEvent, Worker
from scrapersky.settings import SettingsSource, load_settings
from scrapersky.stages import STAGES
from tests.app import serving
from tests.auth.accounts import add_key, add_tenant, asking, signed_in_settings
from tests.conftest import make_settings

PAGES = ("/stages", f"/stages/{STAGES[0].name}", "/workers", "/hosts", "/alerts", "/settings")
HOSTILE = "<script>alert(1)</script>\u202egnp.exe" + "x" * 10_000


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    settings = make_settings(url, scheduler_enabled=False, worker_dead_after_seconds=600)
    async with serving(settings) as client:
        yield client


async def text_of(client: httpx.AsyncClient, path: str) -> str:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_is_light_and_says_how_the_whole_is(
    client: httpx.AsyncClient, path: str
) -> None:
    page = await text_of(client, path)
    assert '<span class="badge good">healthy</span> 0 rows due, 0 workers.' in page
    assert len(page.encode()) < 150_000
    assert " style=" not in page


async def test_every_stage_is_there_with_what_it_does(client: httpx.AsyncClient) -> None:
    page = await text_of(client, "/stages")
    shown = re.findall(r'<section class="card stage" data-stage="([a-z_]+)"', page)
    assert shown == [each.name for each in STAGES]
    assert STAGES[0].does.replace("'", "&#39;") in page


async def test_the_health_line_says_what_the_probe_says(
    client: httpx.AsyncClient, database: Database
) -> None:
    async with database.transaction() as session:
        states = {STAGES[0].name: {"last_tick": 1_700_000_000}}
        session.add(
            Worker(hostname="forge", boot_id="b", pid=1, pid_start=1, version="1", stages=states)
        )
    health = (await client.get("/health/schedulers")).json()
    [sentence] = [each for stage in health["stages"] for each in stage["problems"]]
    for path in ("/stages", "/hosts"):
        page = await text_of(client, path)
        assert "unhealthy" in page
        assert sentence in page


async def test_a_pause_shows_its_note_and_a_pace_who_said_it(
    client: httpx.AsyncClient, database: Database
) -> None:
    name, prefix = STAGES[0].name, STAGES[0].prefix
    async with database.transaction() as session:
        session.add(StageControl(stage=name, paused=True, note="A move.", pace={"concurrency": 2}))
    page = await text_of(client, f"/stages/{name}")
    assert "A move." in page
    assert f"{prefix}_CONCURRENCY" in page
    assert "operator</span>" in page
    assert f"setting: {STAGES[0].pace.concurrency} (default)" in page
    assert 'data-act="pause" hidden' in page


async def test_what_happened_is_told_row_by_row_and_cannot_harm(
    client: httpx.AsyncClient, database: Database
) -> None:
    row = uuid4()
    async with database.transaction() as session:
        for kind, more in (("failed", {"row_id": row, "error": HOSTILE}), ("completed", {})):
            session.add(StageEvent(stage=PAGE_STAGE, kind=kind, rows=1, **more))
    page = await text_of(client, f"/stages/{PAGE_STAGE}")
    assert f'href="/pages/{row}"' in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert len(page.encode()) < 150_000


async def test_a_stage_that_is_not_there_is_told_on_a_page(client: httpx.AsyncClient) -> None:
    answer = await client.get("/stages/nobody")
    assert answer.status_code == 404
    assert "There is no stage nobody" in answer.text
    assert "<!doctype html>" in answer.text


async def test_workers_are_told_apart_by_their_silence(
    client: httpx.AsyncClient, database: Database
) -> None:
    own = {"boot_id": "b", "pid_start": 1, "version": "9.9"}
    free = {"listener": "down", "deaf_since": 1_700_000_000, "disk_free_bytes": 3 * 1024**3}
    async with database.transaction() as session:
        told = {STAGES[0].name: {"failed": "No such thing."}, STAGES[1].name: {"in_flight": 4}}
        session.add(Worker(hostname="awake", pid=11, vitals=free, stages=told, **own))
        gone = func.now() - timedelta(hours=1)
        session.add(Worker(hostname="asleep", pid=12, beat_at=gone, started_at=gone, **own))
    page = await text_of(client, "/workers")
    assert "1 alive, 1 silent" in page
    assert page.index("awake") < page.index("asleep")
    assert "3.0 GiB" in page
    assert "No such thing." in page
    assert "4 in flight" in page
    assert "2023-11-14 22:13 UTC" in page


async def test_hosts_are_found_filtered_and_paged(
    client: httpx.AsyncClient, database: Database
) -> None:
    async with database.transaction() as session:
        session.add_all([Host(host=f"h{n:03}.example") for n in range(60)])
        session.add(
            Host(
                host="sick.example",
                failures=7,
                circuit_open_until=func.now() + timedelta(hours=1),
                circuit_reason="it failed 7 times in a row, last with status 500",
            )
        )
    first = await text_of(client, "/hosts")
    assert "h049.example" in first
    assert "h050.example" not in first
    (after,) = re.findall(r'id="next-page" rel="next" href="([^"]+)"', first)
    second = await text_of(client, after.replace("&amp;", "&"))
    assert "h050.example" in second
    assert "sick.example" in second
    assert "next-page" not in second

    alone = await text_of(client, "/hosts?left_alone=true")
    assert "it failed 7 times in a row, last with status 500" in alone
    assert "h001.example" not in alone
    named = await text_of(client, "/hosts?name=H01")
    assert len(re.findall(r"h01\d\.example</bdi>", named)) == 10
    assert "No matching hosts" in await text_of(client, "/hosts?name=100%25")


async def test_alerts_are_told_with_what_became_of_their_deliveries(
    url: str, database: Database
) -> None:
    secret = "https://hooks.example/services/T0CANARY0WEBHOOK0PATH"
    async with database.transaction() as session:
        over = Alert(rule="listener_down", sentence="It was deaf.", cleared_at=func.now())
        session.add(over)
        await session.flush()
        known = {"tenant_id": DEFAULT_TENANT_ID, "subject_id": over.id, "payload": {}}
        failed = {"attempts": 2, "error": f"{secret} said 500."}
        later, before = func.now() + timedelta(hours=1), func.now() - timedelta(hours=1)
        done = {"event": "alert.fired", "status": "delivered", "created_at": before}
        first = WebhookDelivery(id=uuid7(), **done, **known)
        second = WebhookDelivery(
            id=uuid7(), event="alert.resolved", due_at=later, **known, **failed
        )
        session.add_all([first, second])
        session.add_all(
            [
                Host(host=f"s{n}.example", circuit_open_until=func.now() + timedelta(hours=1))
                for n in range(20)
            ]
        )
    settings = make_settings(url, scheduler_enabled=False, alert_webhook_url=secret)
    async with serving(settings) as client:
        page = await text_of(client, "/alerts")
        delivery = await text_of(client, f"/webhook-deliveries/{second.id}")
    assert "20 hosts keep failing and are being backed off" in page
    assert "It was deaf." in page
    assert "fired: delivered; resolved: retrying, 2 attempts" in page
    assert "alert.resolved to ALERT_WEBHOOK_URL" in delivery
    assert "CANARY" not in page


async def test_secrets_are_told_to_be_set_and_never_shown(url: str) -> None:
    canary = "canary-of-at-least-thirty-two-bytes-in-here"
    said = {
        "DATABASE_URL": url,
        "JWT_SECRET": f"jwt-{canary}",
        "JWT_AUDIENCE": "us",
        "AUTH_MODE": "required",
        "ALERT_WEBHOOK_URL": f"https://hooks.example/{canary}",
        "ALERT_WEBHOOK_SECRET": f"hook-{canary}",
        "SCHEDULER_ENABLED": "false",
        "HOST_DELAY_MS": "4321",
    }
    settings = load_settings(SettingsSource(environ=said, env_file=None))
    database = Database(url, pool_size=2)
    _, key = await add_key(database)
    await database.close()
    async with asking(settings, key) as client:
        pages = [await text_of(client, path) for path in PAGES]
    shown = pages[-1]
    assert not any(canary in page or url in page for page in pages)
    assert shown.count("set (hidden)") == 4
    assert "4321" in shown
    assert "Between the starts of two requests to one host" in shown
    assert "Metrics, alerts, retention</h2>" in shown
    assert f"{STAGES[0].prefix}_HIGH_WATER" in shown


async def test_values_from_the_environment_the_file_and_the_program_are_told_apart(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST_CONCURRENCY", "3")
    read = SettingsSource(environ={"HOST_CONCURRENCY": "3", "PAGES_PER_SITE": "9"}, env_file=None)
    settings = load_settings(read, database_url=url, scheduler_enabled=False)
    async with serving(settings) as client:
        page = await text_of(client, "/settings")
    origins = dict(
        re.findall(r"<code>([A-Z_]+)</code>.*?<span class=\"\w+ ?\w*\">([^<]+)</span>", page, re.S)
    )
    assert origins["HOST_CONCURRENCY"] == "environment"
    assert origins["PAGES_PER_SITE"] == ".env"
    assert origins["SCHEDULER_ENABLED"] == "set at startup"
    assert origins["HOST_DELAY_MS"] == "default"


async def test_people_of_another_tenant_see_a_refusal_and_no_data(
    url: str, database: Database
) -> None:
    async with database.transaction() as session:
        session.add(Host(host="private.example"))
    other = await add_tenant(database, "other")
    _, key = await add_key(database, other, role=Role.ADMIN)
    async with asking(signed_in_settings(url), key) as client:
        for path in PAGES:
            answer = await client.get(path)
            assert answer.status_code == 403
            assert "<!doctype html>" in answer.text
            assert "private.example" not in answer.text
        context = client.app.state.context  # type: ignore[attr-defined]
        request = httpx.Request("GET", "http://localhost/")
        for view in OPERATIONS_VIEWS:
            show = PageRenderer(request, context, other)  # type: ignore[arg-type]
            assert await live.render_parts(show, view, STAGES[0].name) == {}


@pytest.mark.parametrize(
    ("role", "offered"),
    [
        (Role.VIEWER, set()),
        (Role.CURATOR, {"run"}),
        (Role.ADMIN, {"run", "pause", "resume", "pace-back", "not-pause", "ask-again"}),
    ],
)
async def test_only_what_one_may_do_is_offered(
    url: str, database: Database, role: Role, offered: set[str]
) -> None:
    async with database.transaction() as session:
        session.add(Host(host="sick.example", failures=7))
    _, key = await add_key(database, role=role)
    async with asking(signed_in_settings(url), key) as client:
        pages = "".join([await text_of(client, path) for path in ("/stages", "/hosts")])
        settings = await client.get("/settings")
    assert set(re.findall(r'data-act="([a-z-]+)"', pages)) == offered
    assert ("<form data-pace" in pages) == (role is Role.ADMIN)
    assert settings.status_code == (200 if role is Role.ADMIN else 403)
