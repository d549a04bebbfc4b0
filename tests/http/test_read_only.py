"""A read-only database: a standby, or default_transaction_read_only = on."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest
from sqlalchemy import func, text, update

from scrapersky.dashboard.page_route import PageRoute
from scrapersky.db.session import Database
from scrapersky.main import create_app
from scrapersky.models import ApiKey, Role, UserSession
from tests.app import serving
from tests.auth.accounts import add_key, asking, signed_in_settings
from tests.auth.dashboard_clients import add_person, sign_in
from tests.auth.token_issuer import with_secret
from tests.conftest import make_settings
from tests.databases import END_OTHERS
from tests.http.test_api import api_routes

JOBS, SCAN = "/api/v3/jobs", "/api/v3/sitemap/scan"
SITE = {"base_url": "example.com"}


async def make_read_only(database: Database) -> None:
    """From the next connection on; those that are open are closed."""
    async with database.engine.connect() as connection:
        apart = await connection.execution_options(isolation_level="AUTOCOMMIT")
        name = database.url.database
        await apart.execute(text(f"ALTER DATABASE {name} SET default_transaction_read_only = on"))
        await apart.execute(text(END_OTHERS))
        await connection.invalidate()


def assert_says_read_only(answer: httpx.Response) -> None:
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert "The database is currently read-only" in answer.json()["detail"]
    assert int(answer.headers["retry-after"]) > 0


async def test_a_read_only_database_is_not_ready_and_says_why(url: str, database: Database) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        good = await client.get("/health/ready")
        await make_read_only(database)
        bad = await client.get("/health/ready")
        alive = await client.get("/health")

    assert (good.status_code, bad.status_code, alive.status_code) == (200, 503, 200)
    assert "The database is currently read-only" in bad.json()["problem"]


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "once"}])
async def test_a_request_that_stores_is_answered_503_with_a_sentence(
    url: str, database: Database, headers: dict[str, str]
) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        await make_read_only(database)
        answer = await client.post(SCAN, json=SITE, headers=headers)

    assert_says_read_only(answer)


async def test_an_export_that_could_not_be_audited_does_not_begin(
    url: str, database: Database
) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        good = await client.get("/api/v3/domains/export")
        await make_read_only(database)
        answer = await client.get("/api/v3/domains/export")

    assert good.status_code == 200
    assert_says_read_only(answer)


async def test_an_api_key_still_reads(url: str, database: Database) -> None:
    _, secret = await add_key(database)
    async with asking(signed_in_settings(url), secret) as client:
        async with database.transaction() as session:
            await session.execute(update(ApiKey).values(last_used_at=None))
        await make_read_only(database)
        seen = await client.get(JOBS)
        stored = await client.post(SCAN, json=SITE)

    assert seen.status_code == 200, seen.text
    assert_says_read_only(stored)


async def test_a_session_still_reads(url: str, database: Database) -> None:
    await add_person(database, "alice")
    async with serving(signed_in_settings(url)) as client:
        await sign_in(client)
        long_ago = func.now() - timedelta(minutes=5)
        async with database.transaction() as session:
            await session.execute(update(UserSession).values(last_seen_at=long_ago))
        await make_read_only(database)
        seen = await client.get(JOBS)
        page = await client.get("/")
        stored = await client.post(SCAN, json=SITE)
        again = await sign_in(client)

    assert (seen.status_code, page.status_code) == (200, 200), seen.text
    assert_says_read_only(stored)
    assert_says_read_only(again)


async def test_a_token_of_somebody_known_still_reads_with_its_new_role(
    url: str, database: Database
) -> None:
    issuer = with_secret()
    before, after = (issuer.token(role=each) for each in (Role.VIEWER, Role.ADMIN))
    async with asking(signed_in_settings(url, **issuer.settings), before) as client:
        assert (await client.get(JOBS)).status_code == 200
        await make_read_only(database)
        client.headers["Authorization"] = f"Bearer {after}"
        known = await client.get("/api/v3/users")
        client.headers["Authorization"] = f"Bearer {issuer.token(sub='somebody new')}"
        unknown = await client.get(JOBS)

    assert known.status_code == 200, known.text
    assert_says_read_only(unknown)


async def test_no_page_and_no_list_answers_500(url: str, database: Database) -> None:
    settings = make_settings(url, scheduler_enabled=False)
    described = create_app(settings).openapi()["paths"]
    api = {path for path, methods in described.items() if "get" in methods}
    pages = {each.path_format for each in api_routes(settings) if isinstance(each, PageRoute)}
    streams = ("/events", "/live")  # without an end
    paths = [each for each in api | pages if "{" not in each and not each.endswith(streams)]
    statuses = {}
    async with serving(settings) as client:
        await make_read_only(database)
        for path in paths:
            statuses[path] = (await client.get(path)).status_code

    assert list(statuses.values()).count(200) > 40
    assert [path for path, each in statuses.items() if each == 500] == []
    refused = {path for path, each in statuses.items() if each == 503}
    assert {path for path in refused if not path.endswith("/export")} == {"/health/ready"}


async def test_a_process_without_schedulers_starts_on_a_read_only_database(
    url: str, database: Database
) -> None:
    await make_read_only(database)
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        ready = await client.get("/health/ready")
        seen = await client.get(JOBS)

    assert (ready.status_code, seen.status_code) == (503, 200)
