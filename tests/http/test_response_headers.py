"""Headers of every response."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest
from sqlalchemy import update

from scrapersky.dashboard.rendering import static_url
from scrapersky.db.session import Database
from scrapersky.models import Job
from tests.app import scan, serving
from tests.conftest import make_settings
from tests.processes import api
from tests.waiting import PATIENCE_SECONDS

NOSNIFF = "x-content-type-options"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/health", 200),
        ("/metrics", 200),
        ("/openapi.json", 200),
        ("/api/v3/jobs", 200),
        ("/api/v3/jobs/export?format=csv", 200),
        ("/api/v3/jobs/no-id", 422),
        ("/nowhere", 404),
        ("/api/v3/nowhere", 404),
        ("/static/x/nowhere.js", 404),
        (static_url("css/base.css"), 200),
    ],
)
async def test_no_answer_may_be_sniffed(url: str, path: str, status: int) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        answer = await client.get(path, headers={"Accept": "*/*"})

    assert answer.status_code == status, answer.text[:200]
    assert answer.headers.get_list(NOSNIFF) == ["nosniff"]


async def test_an_unchanged_file_and_a_refused_method_may_not_be_sniffed(url: str) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        first = await client.get(static_url("css/base.css"))
        again = await client.get(
            static_url("css/base.css"), headers={"If-None-Match": first.headers["etag"]}
        )
        refused = await client.delete("/health")
        stranger = await client.get("/health", headers={"Host": "evil.example"})

    assert (again.status_code, refused.status_code, stranger.status_code) == (304, 405, 403)
    for each in (again, refused, stranger):
        assert each.headers[NOSNIFF] == "nosniff"


async def test_an_error_nobody_expected_may_not_be_sniffed(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("scrapersky.jobs.service.get", broken)
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        answer = await client.get("/api/v3/jobs/0191d5a6-0000-7000-8000-000000000000")

    assert answer.status_code == 500
    assert answer.headers[NOSNIFF] == "nosniff"


async def test_a_stream_may_not_be_sniffed(url: str, database: Database) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        job_id = (await scan(client, "example.com"))["job_id"]
        async with database.transaction() as session:
            await session.execute(update(Job).values(status="complete"))
        stream = await client.get(f"/api/v3/jobs/{job_id}/events")

    assert stream.headers["content-type"].startswith("text/event-stream")
    assert stream.headers[NOSNIFF] == "nosniff"


async def raw(client: httpx.AsyncClient, request: bytes) -> str:
    """What the server answers to these very bytes."""
    host, port = client.base_url.host, client.base_url.port
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(request)
    async with asyncio.timeout(PATIENCE_SECONDS):
        answer = (await reader.read()).decode().lower()
    writer.close()
    return answer


async def test_what_never_reaches_a_route_may_not_be_sniffed_nor_forwarded(
    url: str, tmp_path: Path
) -> None:
    environ = {"DATABASE_URL": url, "AUTH_MODE": "required", "MAX_HEADER_BYTES": "4096"}
    limits = {"RATE_LIMIT_BURST": "1", "RATE_LIMIT_PER_MINUTE": "1"}

    async with api(environ | limits, tmp_path / "serve.log") as client:
        garbage = await raw(client, b"this is no request\r\n\r\n")
        large = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Large: " + b"x" * 8192 + b"\r\n\r\n"
        too_large = await raw(client, large)
        named = [
            await client.get("/api/v3/jobs", headers={"X-Forwarded-For": f"203.0.113.{n}"})
            for n in (1, 2)
        ]

    assert garbage.startswith("http/1.1 400")
    assert too_large.startswith("http/1.1 431")
    for each in (garbage, too_large):
        assert "\r\nx-content-type-options: nosniff\r\n" in each
    # Nobody is trusted, so both are the one who really asked.
    assert [each.status_code for each in named] == [401, 429]
