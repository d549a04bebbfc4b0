"""What is logged, and what is never logged or shown anywhere else."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import httpx
import pytest
import structlog
from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.errors import InvalidInput
from scrapersky.logging import configure_logging, get_logger
from scrapersky.pipeline.engine import run_engine
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.tables import DeadLetter
from scrapersky.redaction import REDACTED, redact
from scrapersky.settings import SettingsSource, load_settings
from tests.cli.conftest import Cli
from tests.conftest import make_settings
from tests.fake_web import FakeWeb
from tests.noop import NOOP, NoopRow
from tests.processes import HASTY, answering, free_port, running
from tests.stage_cases import prepare
from tests.waiting import PATIENCE_SECONDS

CANARY = "HUNTER2-canary"


@pytest.fixture(params=["console", "json"])
def style(request: pytest.FixtureRequest) -> Iterator[str]:
    configure_logging(level="debug", style=request.param)
    yield request.param
    configure_logging(level="error")


def test_a_logged_failure_shows_no_secret_of_the_settings(
    style: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging(level="debug", style=style)
    settings = load_settings(
        SettingsSource(environ={"DATABASE_URL": f"postgresql://u:{CANARY}@db/x"}, env_file=None)
    )
    try:
        raise RuntimeError(f"it broke with {CANARY}", settings)
    except RuntimeError:
        get_logger("test").exception("work failed", settings=settings, value=[CANARY])
        logging.getLogger("uvicorn.error").exception("failed with %s", CANARY)
    said = capsys.readouterr().err

    assert said.count("it broke with") >= 2
    assert REDACTED in said
    assert CANARY not in said


def test_json_logs_are_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(level="info", style="json")
    get_logger("test").info("run", stage="noop", found=3, header='Authorization: Bearer "x"')
    line = json.loads(capsys.readouterr().err)
    configure_logging(level="error")

    assert (line["event"], line["stage"], line["found"]) == ("run", "noop", 3)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"postgresql://sky:{CANARY}@db/x", f"postgresql://sky:{REDACTED}@db/x"),
        (f"to https://{CANARY}@git.example/x", f"to https://{REDACTED}@git.example/x"),
        (f"http://u:p@{CANARY}@host/", f"http://u:{REDACTED}@host/"),
        (f"{{'Authorization': 'Bearer {CANARY}'}}", f"{{'Authorization': '{REDACTED}'}}"),
        (f"authorization: Basic {CANARY}", f"authorization: {REDACTED}"),
        (f"X-Api-Key: {CANARY}", f"X-Api-Key: {REDACTED}"),
        (f"sent Bearer {CANARY} on", f"sent Bearer {REDACTED} on"),
        (f"the key sky_{CANARY} is", f"the key sky_{REDACTED} is"),
        ("signed by whsec_MfKQ9r8G+/8ILPZIo2La= now", f"signed by whsec_{REDACTED} now"),
        (f"https://maps.example/a?key={CANARY}&q=b", f"https://maps.example/a?key={REDACTED}&q=b"),
        (f"?access_token={CANARY}", f"?access_token={REDACTED}"),
        (f"password={CANARY} host=db", f"password={REDACTED} host=db"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", REDACTED),
        (f"X-Goog-Api-Key: {CANARY}", f"X-Goog-Api-Key: {REDACTED}"),
        (f"{{'X-Goog-Api-Key': '{CANARY}'}}", f"{{'X-Goog-Api-Key': '{REDACTED}'}}"),
        (f"x-csrf-token: {CANARY}, next", f"x-csrf-token: {REDACTED}, next"),
        (f"(b'authorization', b'Bearer {CANARY}')", f"(b'authorization', b'{REDACTED}')"),
        (f"secret_key={CANARY}&a=b", f"secret_key={REDACTED}&a=b"),
        (f"GOOGLE_PLACES_API_KEY={CANARY}", f"GOOGLE_PLACES_API_KEY={REDACTED}"),
        (f"aws_secret_access_key={CANARY}", f"aws_secret_access_key={REDACTED}"),
        (f"connect(password='{CANARY}', host='db')", f"connect(password='{REDACTED}', host='db')"),
        (f'{{"api_key": "{CANARY} {CANARY}", "a": 1}}', f'{{"api_key": "{REDACTED}", "a": 1}}'),
        (f'{{"apiKey":"{CANARY}"}}', f'{{"apiKey":"{REDACTED}"}}'),
        (f"{{'client_secret': '{CANARY}'}}", f"{{'client_secret': '{REDACTED}'}}"),
        (f'{{"password": "a\\"{CANARY}"}}', f'{{"password": "{REDACTED}"}}'),
        (f"Cookie: a=1; sid={CANARY}; b={CANARY}", f"Cookie: {REDACTED}"),
        (f'Cookie: a=1; sid="{CANARY} x"; b={CANARY}', f"Cookie: {REDACTED}"),
        (f"Cookie: a=1; sid={CANARY}\nHost: db", f"Cookie: {REDACTED}\nHost: db"),
        (
            f"Set-Cookie: a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT, sid={CANARY}; Path=/",
            f"Set-Cookie: {REDACTED}",
        ),
        (f"{{'Cookie': 'a=1; sid={CANARY}', 'a': 1}}", f"{{'Cookie': '{REDACTED}', 'a': 1}}"),
        (
            f"[(b'cookie', b'a=1; sid={CANARY}'), (b'a', b'')]",
            f"[(b'cookie', b'{REDACTED}'), (b'a', b'')]",
        ),
        (f"?cookie={CANARY}&a=b", f"?cookie={REDACTED}&a=b"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out(text: str, shown: str) -> None:
    assert redact(text) == shown
    assert redact(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "http://bakery.example/a?page=2",
        "mail baker@bakery.example about http://bakery.example/@home",
        "http://bakery.example?from=a@b.example",
        "The API key is not known, or was revoked.",
        "The row's key: 12, token of the bearer",
        "monkey=banana",
        '{"monkey": "banana", "page": 2}',
        "cookies are not read",
        "idempotency_key=order-7 row_key=12",
    ],
)
def test_all_else_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "field",
    [
        f"Cookie: a=1; sid={CANARY}",
        f"Set-Cookie: a=1; sid={CANARY}; Path=/",
        f'{{"api_key": "{CANARY}", "a": 1}}',
        f"X-Goog-Api-Key: {CANARY}",
        f"POST / HTTP/1.1\nCookie: sid={CANARY}\nHost: x",
        f"GET /\nsecret_key={CANARY}\tX-Api-Key: {CANARY}\nsky_{CANARY}",
        f"sent {{'Cookie': 'sid={CANARY}', 'api_key': '{CANARY}'}}",
        f'sent {{"Cookie": "a=1; sid={CANARY}", "X-Goog-Api-Key": "{CANARY}", "b": "x"}}',
        f'password="{CANARY} {CANARY}"',
    ],
)
def test_a_log_line_stays_json_without_its_secrets(
    field: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging(level="info", style="json")
    get_logger("test").info("run", before=1, sent=field, after=2)
    said = capsys.readouterr().err
    configure_logging(level="error")

    assert CANARY not in said
    line = json.loads(said)
    assert (line["event"], line["before"], line["after"]) == ("run", 1, 2)


def test_a_secret_is_known_in_every_spelling() -> None:
    secret = 'pä"ss/w\\rd'
    load_settings(SettingsSource(environ={"ALERT_WEBHOOK_SECRET": secret}, env_file=None))
    texts = [secret, json.dumps({"a": secret}), repr({"a": secret}), "p%C3%A4%22ss%2Fw%5Crd"]

    assert [text for text in texts if "rd" in redact(text)] == []


def test_our_own_errors_show_no_secret() -> None:
    error = InvalidInput(f"http://u:{CANARY}@host/ is none")

    assert str(error) == f"http://u:{REDACTED}@host/ is none"


async def test_whatever_is_logged_during_the_work_tells_which_row(
    url: str, database: Database
) -> None:
    await prepare(database)
    async with database.transaction() as session:
        rows = [NoopRow(), NoopRow()]
        session.add_all(rows)
    ids = {str(row.id) for row in rows}
    seen: list[dict[str, object]] = []

    async def work(item: UUID, _tools: object) -> UUID:
        await asyncio.sleep(0)
        seen.append({**structlog.contextvars.get_contextvars(), "item": str(item)})
        return item

    stage = replace(NOOP, work=work)
    async with run_engine(database, make_settings(url), [stage]) as engine:
        await run_job_loop(engine.runner("noop"))
        worker = engine.worker.readable

    assert {each["row_id"] for each in seen} == ids
    assert all(each["row_id"] == each["item"] for each in seen)
    assert {(each["stage"], each["worker"]) for each in seen} == {("noop", worker)}
    assert structlog.contextvars.get_contextvars() == {}


# A canary in every place a secret can be, and nothing the program says has it

SECRETS = {
    "database": "canary-in-the-database-url",
    "listen": "canary-in-the-listen-url",
    "jwt": "canary-in-the-jwt-secret-of-32-bytes",
    "webhook": "canary-in-the-webhook-secret",
    "hook_url": "canary-in-the-webhook-url",
    "redirect": "canary-in-a-redirect",
    "api_key": "sky_canary-in-an-api-key",
    "token": "eyJjYW5hcnki.canary-in-a-token",
}


def leaks(said: str) -> list[str]:
    return [place for place, secret in SECRETS.items() if secret in said]


def environ_of(url: str, web: FakeWeb, style: str) -> dict[str, str]:
    with_password = url.replace("://scrapersky@", f"://scrapersky:{SECRETS['database']}@")
    assert SECRETS["database"] in with_password
    return {
        **HASTY,
        **web.environ,
        "DATABASE_URL": with_password,
        "LISTEN_DATABASE_URL": f"postgresql://u:{SECRETS['listen']}@127.0.0.1:1/none",
        "AUTH_MODE": "required",
        "JWT_SECRET": SECRETS["jwt"],
        "JWT_AUDIENCE": "scrapersky",
        "ALERT_WEBHOOK_URL": f"http://hook.example/{SECRETS['hook_url']}",
        "ALERT_WEBHOOK_SECRET": SECRETS["webhook"],
        "ALERT_DISK_FREE_BYTES": str(10**17),
        "ALERT_LISTENER_DOWN_SECONDS": "0.1",
        "SITEMAP_SCHEDULER_MAX_ATTEMPTS": "1",
        "LOG_LEVEL": "debug",
        "LOG_FORMAT": style,
    }


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as made:
        made.host("hook.example").always(500)
        leaky = made.host("leaky.example")
        for path in ("/", "/robots.txt", "/sitemap.xml"):
            leaky.redirect(path, f"ftp://u:{SECRETS['redirect']}@leaky.example{path}")
        made.host("shut.example").closes("/").closes("/robots.txt")
        yield made


@pytest.mark.parametrize("style", ["console", "json"])
async def test_no_secret_is_shown_anywhere(
    style: str, url: str, web: FakeWeb, database: Database, tmp_path: Path
) -> None:
    environ = environ_of(url, web, style)
    cli = Cli(environ)
    key = (await cli("api-key", "create", "--name", "canary", "--role", "admin")).out.strip()
    port = free_port()
    log = tmp_path / "log"
    async with (
        running("serve", "--port", str(port), environ=environ, log=log) as program,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_SECONDS) as client,
    ):
        await answering(client, program)
        answers = await _ask_everything(client, key, database)
        said = [await cli(*words) for words in (COMMANDS if style == "console" else ())]
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "hook.example answered 500" not in program.said():
                await asyncio.sleep(0.1)
        logged = program.said()

    shown = "\n".join([*answers, *(each.out + each.err for each in said), logged])
    assert leaks(shown) == []
    assert key not in shown
    for expected in ("listener connection lost", "hook.example", "row failed"):
        assert expected in logged
    assert "shut.example" in shown


COMMANDS = (
    ("doctor",),
    ("alerts",),
    ("stage", "list"),
    ("dead-letter", "list", "--json"),
    ("settings",),
    ("job", "list", "--json"),
)


async def _ask_everything(client: httpx.AsyncClient, key: str, database: Database) -> list[str]:
    """Scans that fail, credentials that are none, and every page that tells something."""
    signed_in = {"Authorization": f"Bearer {key}"}
    for site in ("http://shut.example", "http://leaky.example"):
        await client.post("/api/v3/sitemap/scan", json={"base_url": site}, headers=signed_in)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await _letters(database):
            await asyncio.sleep(0.1)
    answers = [
        await client.get("/api/v3/jobs", headers={"Authorization": f"Bearer {SECRETS[name]}"})
        for name in ("api_key", "token")
    ]
    answers.append(
        await client.post(
            "/api/v3/sitemap/scan",
            json={"base_url": f"http://u:{SECRETS['redirect']}@leaky.example", "max_pages": 0},
            headers=signed_in,
        )
    )
    for place in SECRETS.keys() - {"redirect"}:  # what was asked for stands in the log
        await client.get(f"/api/v3/{SECRETS[place]}", headers=signed_in)
    for path in ("/health", "/health/ready", "/health/schedulers", "/metrics", *PAGES):
        answers.append(await client.get(path, headers=signed_in))
    [letter] = (await client.get("/api/v3/dead-letters", headers=signed_in)).json()["items"][:1]
    answers.append(await client.get(f"/api/v3/dead-letters/{letter['id']}", headers=signed_in))
    return [f"{each.status_code} {each.headers} {each.text}" for each in answers]


PAGES = ("/api/v3/alerts", "/api/v3/stages", "/api/v3/workers", "/api/v3/dead-letters")


async def _letters(database: Database) -> int:
    async with database.reading() as session:
        return int(await session.scalar(select(func.count()).select_from(DeadLetter)) or 0)
