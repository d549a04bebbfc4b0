"""Bodies and headers that are too large, too slow, or not what they say they are."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from scrapersky.http.body_limits import BodyLimits
from tests.app import serving
from tests.conftest import make_settings
from tests.processes import HASTY, api

SCAN = "/api/v3/sitemap/scan"
LIMIT = 4096
JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    settings = make_settings(url, scheduler_enabled=False, max_request_bytes=LIMIT)
    async with serving(settings) as made:
        yield made


def scan_of(size: int) -> bytes:
    """A body of exactly so many bytes, of which most is space."""
    body = json.dumps({"base_url": "example.com"}).encode()
    return body + b" " * (size - len(body))


async def test_a_body_of_just_the_limit_is_read(client: httpx.AsyncClient) -> None:
    assert (await client.post(SCAN, content=scan_of(LIMIT), headers=JSON)).status_code == 202


async def test_a_body_that_declares_more_is_refused_unread(client: httpx.AsyncClient) -> None:
    answer = await client.post(SCAN, content=scan_of(LIMIT + 1), headers=JSON)

    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"
    assert "4,096 bytes" in answer.json()["detail"]
    assert answer.headers["x-request-id"] == answer.json()["request_id"]


@pytest.mark.parametrize("more", [{}, {"Idempotency-Key": "once"}])
async def test_a_body_that_declares_nothing_is_counted_while_it_is_read(
    client: httpx.AsyncClient, more: dict[str, str]
) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b" " * 1024

    answer = await client.post(SCAN, content=parts(), headers={**JSON, **more})

    assert answer.status_code == 413


async def read_all(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def test_a_body_that_stops_half_way_is_not_waited_for(url: str) -> None:
    limits = BodyLimits(read_all, make_settings(url), patience_seconds=0.05)
    sent: list[Message] = []
    parts: list[Message] = [{"type": "http.request", "body": b"{", "more_body": True}]

    async def receive() -> Message:
        return parts.pop() if parts else await asyncio.Future()

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "query_string": b""}
    await limits(scope, receive, send)

    assert sent[0]["status"] == 408


# On a real server


@asynccontextmanager
async def connected(
    client: httpx.AsyncClient,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", client.base_url.port)
    try:
        yield reader, writer
    finally:
        writer.close()


HUNG_UP = b""
"""A server that leaves while somebody still sends may do so before its answer has arrived."""


async def answer_to(client: httpx.AsyncClient, *parts: bytes) -> bytes:
    """What the server says first to these bytes; it may say it, and leave, before all are sent."""
    async with connected(client) as (reader, writer), asyncio.timeout(20):
        said = asyncio.create_task(reader.read(4096))
        for part in parts:
            with suppress(ConnectionError):
                writer.write(part)
                await writer.drain()
            if said.done():
                break
        try:
            return await said
        except ConnectionError:
            return HUNG_UP


def head(*lines: str) -> bytes:
    first = f"POST {SCAN} HTTP/1.1"
    every = ["Host: 127.0.0.1", "Content-Type: application/json", *lines]
    return "\r\n".join([first, *every, "", ""]).encode()


async def test_oddities_on_the_wire_get_a_clean_refusal(url: str, tmp_path: Path) -> None:
    environ = {
        **HASTY,
        "DATABASE_URL": url,
        "SCHEDULER_ENABLED": "false",
        "MAX_REQUEST_BYTES": "4096",
        "MAX_HEADER_BYTES": "8192",
    }
    async with api(environ, tmp_path / "log") as client:
        huge = await client.post(SCAN, content=b" " * 8_000_000, headers=JSON)
        chunk = b"1000\r\n" + b" " * 4096 + b"\r\n"
        chunked = await answer_to(client, head("Transfer-Encoding: chunked"), chunk, chunk)
        both = await answer_to(
            client, head("Transfer-Encoding: chunked", "Content-Length: 3"), b"0\r\n\r\n"
        )
        negative = await answer_to(client, head("Content-Length: -1"))
        words = await answer_to(client, head("Content-Length: many"))
        twice = await answer_to(client, head("Content-Length: 2", "Content-Length: 3"), b"{}")
        too_short = await answer_to(client, head("Content-Length: 2"), b'{"base_url": "x.example"}')
        one_header = await answer_to(client, head("X-Large: " + "x" * 9000))
        endless = await answer_to(client, head("X-Large: ")[:-4], *[b"x" * 4096] * 200)
        healthy = await client.get("/health")

    assert huge.status_code == 413
    assert chunked.startswith(b"HTTP/1.1 413 ")
    assert both.startswith(b"HTTP/1.1 400 ")
    assert negative.startswith(b"HTTP/1.1 400 ")
    assert words.startswith(b"HTTP/1.1 400 ")
    assert twice.startswith(b"HTTP/1.1 400 ")
    assert too_short.startswith(b"HTTP/1.1 4")
    assert one_header.startswith(b"HTTP/1.1 431 ")
    assert endless == HUNG_UP or endless.startswith(b"HTTP/1.1 431 ")
    assert healthy.status_code == 200
