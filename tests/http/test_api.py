"""The API: authorisation, validation and error messages."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from fastapi.routing import APIRoute
from sqlalchemy import func, select

from scrapersky.auth.service import create_api_key, get_system_actor
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import STATIC_FILES
from scrapersky.db.session import Database
from scrapersky.http.auth import PublicRoute, RoleRequired
from scrapersky.main import create_app
from scrapersky.models import ApiKey, Domain, Job, Role
from scrapersky.settings import Settings
from tests.app import scan, serving
from tests.conftest import make_settings

SCAN = "/api/v3/sitemap/scan"


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


def api_routes(settings: Settings) -> Iterator[APIRoute]:
    """Every route there is; included routers are looked into."""
    found: list[Any] = list(create_app(settings).routes)
    while found:
        route = found.pop()
        included = getattr(route, "original_router", None)
        if included is not None:
            found.extend(included.routes)
        elif route is not STATIC_FILES:
            assert isinstance(route, APIRoute), f"{route} is a route nobody guards"
            yield route


def guards_of(dependant: Any) -> Iterator[RoleRequired | PublicRoute]:
    for each in dependant.dependencies:
        if isinstance(each.call, RoleRequired | PublicRoute):
            yield each.call
        yield from guards_of(each)


def test_every_route_declares_who_may_call_it(settings: Settings) -> None:
    routes = list(api_routes(settings))
    unguarded = [route.path for route in routes if not list(guards_of(route.dependant))]
    public = {
        route.path_format
        for route in routes
        if any(isinstance(guard, PublicRoute) for guard in guards_of(route.dependant))
    }

    assert len(routes) > 20
    assert unguarded == []
    assert public == {"/health", "/health/ready", "/session", "/sign-in"}


async def test_without_a_key_every_guarded_route_answers_401(url: str) -> None:
    settings = make_settings(url, scheduler_enabled=False, auth_mode="required")
    answers = {}
    async with serving(settings) as client:
        for path, methods in create_app(settings).openapi()["paths"].items():
            filled = re.sub(r"{.*?}", str(uuid4()), path)
            for method in methods:
                answers[method, path] = (await client.request(method, filled)).status_code

    described = [each for each in api_routes(settings) if not isinstance(each, PageRoute)]
    assert len(answers) == len(described)
    open_to_all = {key for key, status in answers.items() if status != 401}
    assert open_to_all == {
        ("get", "/health"),
        ("get", "/health/ready"),
        ("post", "/api/v3/session"),
    }


async def test_without_a_session_every_page_leads_to_sign_in(url: str) -> None:
    settings = make_settings(url, scheduler_enabled=False, auth_mode="required")
    pages = [each for each in api_routes(settings) if isinstance(each, PageRoute)]
    led = {}
    async with serving(settings) as client:
        for page in pages:
            filled = re.sub(r"{.*?}", str(uuid4()), page.path_format)
            answer = await client.get(filled)
            led[page.path_format] = answer.headers.get("location", "").startswith("/sign-in?next=")

    assert len(led) > 10
    assert {path for path, is_led in led.items() if not is_led} == {"/sign-in"}


async def test_a_key_opens_what_its_role_reaches_and_no_more(url: str, database: Database) -> None:
    settings = make_settings(url, scheduler_enabled=False, auth_mode="required")
    async with database.transaction() as session:
        actor = await get_system_actor(session, settings)
        key, secret = await create_api_key(session, actor, name="reader", role=Role.VIEWER)
    async with serving(settings) as client:
        client.headers["Authorization"] = f"Bearer {secret}"
        seen = await client.get("/api/v3/jobs")
        refused = await client.post(SCAN, json={"base_url": "example.com"})
        client.headers["Authorization"] = "Bearer sky_wrong"
        unknown = await client.get("/api/v3/jobs")

    assert (seen.status_code, refused.status_code, unknown.status_code) == (200, 403, 401)
    assert "curator" in refused.json()["detail"]
    async with database.reading() as session:
        stored = await session.get_one(ApiKey, key.id)
        assert stored.last_used_at is not None
        assert secret.encode() not in stored.key_hash


async def test_a_revoked_key_opens_nothing(url: str, database: Database) -> None:
    settings = make_settings(url, scheduler_enabled=False, auth_mode="required")
    async with database.transaction() as session:
        actor = await get_system_actor(session, settings)
        _, admin = await create_api_key(session, actor, name="root", role=Role.ADMIN)
    async with serving(settings) as client:
        client.headers["X-API-Key"] = admin
        made = (await client.post("/api/v3/api-keys", json={"name": "x", "role": "viewer"})).json()
        await client.post(f"/api/v3/api-keys/{made['id']}/revoke")
        listed = (await client.get("/api/v3/api-keys")).json()
        client.headers["X-API-Key"] = made["key"]
        refused = await client.get("/api/v3/jobs")

    assert refused.status_code == 401
    assert made["key"] not in json.dumps(listed)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "scrapersky.example"}, 403),
        ({"Host": "127.0.0.1.evil.example:8000"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost"}, 202),
        ({"Host": "127.0.0.1:8000"}, 202),
        ({"Host": "[::1]:8000"}, 202),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": "application/json; charset=utf-8"}, 202),
    ],
)
async def test_open_mode_keeps_foreign_pages_out(
    client: httpx.AsyncClient, headers: dict[str, str], status: int
) -> None:
    sent = {"Content-Type": "application/json", **headers}
    answer = await client.post(SCAN, content=b'{"base_url": "example.com"}', headers=sent)
    assert answer.status_code == status


BAD_SITES = [
    "",
    "   ",
    "two words",
    "http://user:password@example.com",
    "localhost",
    "http://10.0.0.1/",
    "http://[::1]/",
    "http://0x7f000001:81/",
    "169.254.169.254",
    "javascript:alert(1)",
    "ftp://example.com",
    "a" * 64 + ".example",
    ".".join(["label"] * 60) + ".example",
    "example.com:22",
    "exa\x00mple.com",
    "-",
    "http://",
]


@pytest.mark.parametrize("site", BAD_SITES)
async def test_a_site_that_cannot_be_is_refused_and_nothing_is_stored(
    url: str, database: Database, site: str
) -> None:
    settings = make_settings(url, scheduler_enabled=False, fetch_allow_networks="")
    async with serving(settings) as client:
        answer = await client.post(SCAN, json={"base_url": site})

    body = answer.json()
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert len(body["detail"]) > 20
    assert "Traceback" not in answer.text
    assert "password" not in body["detail"].lower().replace("user name or password", "") or site
    async with database.reading() as session:
        for model in (Job, Domain):
            assert await session.scalar(select(func.count()).select_from(model)) == 0


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("EXAMPLE.com", "example.com"),
        ("https://www.example.com/", "example.com"),
        ("http://example.com:80", "example.com"),
        ("example.com:8080", "example.com:8080"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("example.com/blog/", "example.com"),
        (" example.com. ", "example.com"),
        ("127.0.0.1:45678", "127.0.0.1:45678"),
    ],
)
async def test_many_spellings_are_one_site(
    client: httpx.AsyncClient, database: Database, text: str, key: str
) -> None:
    await scan(client, text)
    async with database.reading() as session:
        assert (await session.scalars(select(Domain.domain))).all() == [key]


@pytest.mark.parametrize("max_pages", [0, -1, 50_000_001, 10**30, "100", 1.5, True, []])
async def test_max_pages_must_be_a_sensible_number(
    client: httpx.AsyncClient, max_pages: Any
) -> None:
    answer = await client.post(SCAN, json={"base_url": "example.com", "max_pages": max_pages})
    assert answer.status_code == 422
    assert "max_pages" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b"not json", 400), (b"[]", 422), (b"null", 422), (b"{}", 422), (b"\xff", 400)],
)
async def test_a_body_that_does_not_fit_gets_a_problem_document(
    client: httpx.AsyncClient, body: bytes, status: int
) -> None:
    headers = {"Content-Type": "application/json"}
    answer = await client.post(SCAN, content=body, headers=headers)
    assert answer.status_code == status
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize("text", [r"a\u0000b", r"a\ud800b"])
async def test_a_text_that_cannot_be_stored_is_refused(
    client: httpx.AsyncClient, text: str
) -> None:
    headers = {"Content-Type": "application/json"}
    body = f'{{"name": "{text}"}}'.encode()
    answer = await client.post("/api/v3/api-keys", content=body, headers=headers)
    asked = await client.get("/api/v3/jobs", params={"status": "\x00"})

    assert (answer.status_code, asked.status_code) == (422, 422)


async def test_unknown_things_and_wrong_methods_are_said_so(client: httpx.AsyncClient) -> None:
    unknown = str(uuid4())
    paths = [
        f"/api/v3/sitemap/status/{unknown}",
        f"/api/v3/jobs/{unknown}",
        f"/api/v3/domains/{unknown}",
        f"/api/v3/domains/{unknown}/urls",
        f"/api/v3/sitemap-files/{unknown}",
        f"/api/v3/sitemap-files/{unknown}/urls",
        f"/api/v3/dead-letters/{unknown}",
        "/api/v3/stages/nothing",
        "/api/v3/nothing",
    ]
    for path in paths:
        answer = await client.get(path)
        assert answer.status_code == 404, path
        assert answer.json()["detail"].startswith(("There is no", "Not found")), path
    assert (await client.get("/api/v3/jobs/not-a-uuid")).status_code == 422
    assert (await client.delete(SCAN)).status_code == 405
    assert (await client.get("/api/v3/jobs?cursor=%00junk")).status_code == 422
    assert (await client.get("/api/v3/jobs?limit=0")).status_code == 422


async def test_lists_are_newest_first_and_page_by_cursor(client: httpx.AsyncClient) -> None:
    for number in range(5):
        await scan(client, f"site{number}.example")
    first = (await client.get("/api/v3/jobs?limit=2")).json()
    second = (await client.get(f"/api/v3/jobs?limit=2&cursor={first['next_cursor']}")).json()
    third = (await client.get(f"/api/v3/jobs?limit=2&cursor={second['next_cursor']}")).json()

    pages = [first, second, third]
    names = [job["params"]["domain"] for page in pages for job in page["items"]]
    assert names == [f"site{number}.example" for number in (4, 3, 2, 1, 0)]
    assert third["next_cursor"] is None


async def test_an_unexpected_error_shows_an_id_and_nothing_else(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def explode(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret internals")

    monkeypatch.setattr("scrapersky.jobs.service.get", explode)
    answer = await client.get(f"/api/v3/jobs/{uuid4()}")

    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.json()["request_id"] in answer.json()["detail"]


async def test_openapi_describes_every_answer_and_error(settings: Settings) -> None:
    described = create_app(settings).openapi()
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            answers = operation["responses"]
            assert operation.get("summary"), (method, path)
            good = [status for status in answers if status.startswith("2")]
            assert good, (method, path)
            if path.startswith("/api/"):
                assert {"401", "403", "422"} <= set(answers), (method, path)
                assert "application/problem+json" in answers["422"]["content"], (method, path)
