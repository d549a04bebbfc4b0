"""Bodies and headers that are too large, too slow or wrongly declared."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.types import Message, Receive, Scope, Send

from scrapersky.cli.server import LimitedHttpProtocol
from scrapersky.db.session import Database
from scrapersky.http import body_limits
from scrapersky.http.body_limits import (
    MAX_ANONYMOUS_BYTES,
    MAX_JSON_BYTES,
    BodyLimitMiddleware,
    BodyRoutes,
    LargeBodyRequest,
    parse_json,
)
from scrapersky.main import create_app
from tests.app import serving
from tests.auth.accounts import add_key, asking, signed_in_settings
from tests.auth.dashboard_clients import SESSION, add_person, sign_in
from tests.conftest import make_settings
from tests.processes import HASTY, api
from tests.waiting import PATIENCE_SECONDS

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
    limits = BodyLimitMiddleware(read_all, make_settings(url), patience_seconds=0.05)
    parts: list[Message] = [{"type": "http.request", "body": b"{", "more_body": True}]

    async def receive() -> Message:
        return parts.pop() if parts else await asyncio.Future()

    assert await status_of(limits, receive) == 408


async def test_a_body_that_trickles_is_not_waited_for_to_its_end(url: str) -> None:
    """Each part comes in time; all together do not."""
    limits = BodyLimitMiddleware(
        read_all, make_settings(url), patience_seconds=60, grace_seconds=0.2
    )

    async def receive() -> Message:
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b" ", "more_body": True}

    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await status_of(limits, receive) == 408


async def test_a_route_that_takes_its_time_does_not_cost_the_client_its_own(url: str) -> None:
    async def read_slowly(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(3)
        await read_all(scope, receive, send)

    limits = BodyLimitMiddleware(
        read_slowly, make_settings(url), patience_seconds=60, grace_seconds=2.5
    )
    parts = [b"{", b"}"]

    async def receive() -> Message:
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    assert await status_of(limits, receive) == 200


async def status_of(limits: BodyLimitMiddleware, receive: Receive) -> int:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "query_string": b""}
    await limits(scope, receive, send)
    status: int = sent[0]["status"]
    return status


# Who sends it


async def test_a_body_of_nobody_known_is_refused_before_it_is_read(url: str) -> None:
    """The first byte of the body is never sent, and still there is an answer."""

    async def parts() -> AsyncIterator[bytes]:
        raise AssertionError("The body was read.")
        yield b""

    wrong = {"X-API-Key": "ss_wrong"}
    async with serving(signed_in_settings(url)) as client:
        for headers in ({}, wrong, {"Idempotency-Key": "once"}, {**wrong, "Idempotency-Key": "x"}):
            for path in (SCAN, "/api/v3/domains/import-csv", "/api/v3/nowhere"):
                answer = await client.post(path, content=parts(), headers={**JSON, **headers})
                assert answer.status_code == 401, (path, headers)
                assert answer.headers["content-type"] == "application/problem+json"
                assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_forged_request_of_a_session_is_refused_before_its_body_is_read(
    url: str, database: Database
) -> None:
    async def parts() -> AsyncIterator[bytes]:
        raise AssertionError("The body was read.")
        yield b""

    await add_person(database, "alice")
    async with serving(signed_in_settings(url)) as client:
        await sign_in(client)
        del client.headers["X-CSRF-Token"]
        answer = await client.post(SCAN, content=parts(), headers=JSON)
    assert answer.status_code == 403


async def test_who_signs_in_may_send_64_kilobytes(url: str) -> None:
    body = json.dumps({"name": "alice", "password": "wrong"}).encode()
    async with serving(signed_in_settings(url)) as client:
        fits = await client.post(SESSION, content=body.ljust(MAX_ANONYMOUS_BYTES), headers=JSON)
        over = await client.post(SESSION, content=body.ljust(MAX_ANONYMOUS_BYTES + 1), headers=JSON)
    assert (fits.status_code, over.status_code) == (401, 413)
    assert "65,536 bytes" in over.json()["detail"]
    assert "unauthenticated" in over.json()["detail"]


async def test_json_may_have_a_megabyte_and_a_list_as_much_as_the_setting_says(
    url: str, database: Database
) -> None:
    _, key = await add_key(database)
    domains = json.dumps({"domains": ["example.com"], "queue": False}).encode()
    async with asking(signed_in_settings(url), key) as client:

        async def status(path: str, body: bytes) -> int:
            return (await client.post(path, content=body, headers=JSON)).status_code

        assert await status(SCAN, scan_of(MAX_JSON_BYTES)) == 202
        refused = await client.post(SCAN, content=scan_of(MAX_JSON_BYTES + 1), headers=JSON)
        assert refused.status_code == 413
        assert "1,048,576 bytes" in refused.json()["detail"]
        listed = domains.ljust(3 * MAX_JSON_BYTES)
        assert await status("/api/v3/domains/direct-submit", listed) == 202
        assert await status("/api/v3/sitemap/batch/create", domains.ljust(11 * 1024 * 1024)) == 413


def test_only_routes_that_take_lists_read_more_than_a_megabyte(url: str) -> None:
    app = create_app(make_settings(url))
    routes = BodyRoutes.find(app)
    post = {path for method, path in routes.lists if method == "POST" and "{" not in path}
    assert post == {
        f"/api/v3/{each}"
        for each in (
            "domains/direct-submit",
            "domains/import-csv",
            "pages/direct-submit",
            "pages/import-csv",
            "places/import-csv",
            "sitemap-files/direct-submit",
            "sitemap-files/import-csv",
            "sitemap/batch/create",
            "start",
            "suppressions",
        )
    }
    assert {call for call in routes.public if call[0] != "GET"} == {("POST", SESSION)}


# Large lists


LARGE = {"queue": False, "domains": [f"site{n}.example" for n in range(300_000)], "more": {}}


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        ' {"a": [], "b": {"c": [1, 2]}, "d": [1, "x", null, [2, [3]], {"e": 1.5}], "a": 2} ',
        '{"a": ["\\ud83d\\ude00", "\u00e4", NaN, Infinity]}',
        "[1, 2]",
        '"text"',
        json.dumps(LARGE),
    ],
)
def test_a_list_is_parsed_to_the_same_as_by_the_standard_library(text: str) -> None:
    assert repr(parse_json(text.encode())) == repr(json.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        '{"a"',
        '{"a":',
        '{"a": [1, 2',
        '{"a": [1,]}',
        '{"a": [1 2]}',
        '{"a": 1,}',
        '{"a": 1} x',
        "{1: 2}",
        '{"a" 1}',
        "{,}",
    ],
)
def test_what_is_not_json_is_told_in_the_words_of_the_standard_library(text: str) -> None:
    with pytest.raises(json.JSONDecodeError) as ours:
        parse_json(text.encode())
    with pytest.raises(json.JSONDecodeError) as theirs:
        json.loads(text)
    assert str(ours.value) == str(theirs.value)


async def test_the_event_loop_goes_on_while_a_large_list_is_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It sees the work half done; if the interpreter were not given back, only begun or ended."""
    body, decoded = json.dumps(LARGE).encode(), 0
    decode = json.JSONDecoder().raw_decode

    class CountingDecoder:
        def raw_decode(self, text: str, position: int) -> tuple[Any, int]:
            nonlocal decoded
            decoded += 1
            return decode(text, position)

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    monkeypatch.setattr(body_limits, "_decoder", CountingDecoder())
    parsing = asyncio.create_task(LargeBodyRequest({"type": "http", "headers": []}, receive).json())
    seen: set[int] = set()
    while not parsing.done():
        await asyncio.sleep(0)
        seen.add(decoded)

    assert await parsing == LARGE
    assert [each for each in seen if 0 < each < 300_000]


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
    async with connected(client) as (reader, writer), asyncio.timeout(PATIENCE_SECONDS):
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


async def test_nobody_known_is_answered_at_once_however_much_they_declare(
    url: str, tmp_path: Path
) -> None:
    environ = {
        **HASTY,
        "DATABASE_URL": url,
        "SCHEDULER_ENABLED": "false",
        "AUTH_MODE": "required",
        "MAX_REQUEST_BYTES": "100000000",
    }
    async with api(environ, tmp_path / "log") as client:
        huge = head("Content-Length: 99999999")
        said = await answer_to(client, huge)
        expecting = await answer_to(
            client, head("Content-Length: 99999999", "Expect: 100-continue")
        )
        wrong = await answer_to(client, head("Content-Length: 99999999", "X-API-Key: wrong"))
        chunked = await answer_to(client, head("Transfer-Encoding: chunked"))
    for each in (said, expecting, wrong, chunked):
        assert each.startswith(b"HTTP/1.1 401 "), each
        assert b"application/problem+json" in each


@asynccontextmanager
async def impatient_server() -> AsyncIterator[int]:
    """A real server on which headers have half a second; its port."""

    config = uvicorn.Config(
        read_all,
        http=LimitedHttpProtocol.build_class(8192, header_seconds=0.5),
        lifespan="off",
        log_config=None,
        port=0,
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await serving


async def said_to(port: int, parts: AsyncIterator[bytes]) -> bytes:
    """All that the server says until it hangs up, while these bytes are sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def send() -> None:
        with suppress(ConnectionError):
            async for part in parts:
                writer.write(part)
                await writer.drain()

    sending = asyncio.create_task(send())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            with suppress(ConnectionError):
                return await reader.read()
        return HUNG_UP
    finally:
        sending.cancel()
        writer.close()


async def trickle(first: bytes, *, drop: bytes) -> AsyncIterator[bytes]:
    yield first
    while True:
        await asyncio.sleep(0.05)
        yield drop


async def test_headers_that_trickle_are_cut_off_with_408() -> None:
    async with impatient_server() as port:
        said = await said_to(port, trickle(b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ", drop=b"x"))
    assert said.startswith(b"HTTP/1.1 408 ")
    assert b"The headers did not arrive within 0.5 s" in said


async def test_a_connection_that_sends_nothing_or_only_empty_lines_is_closed() -> None:
    async def nothing() -> AsyncIterator[bytes]:
        if False:
            yield b""

    async with impatient_server() as port:
        assert await said_to(port, nothing()) == HUNG_UP
        assert await said_to(port, trickle(b"", drop=b"\r\n")) == HUNG_UP


async def test_a_client_that_does_not_hang_up_after_its_408_is_hung_up_on() -> None:
    """Or whoever ignores the answer would keep the connection after all."""
    async with impatient_server() as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nX-Slow: ")

        async def send_on() -> None:
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.05)

        with pytest.raises(ConnectionError):
            await asyncio.wait_for(send_on(), PATIENCE_SECONDS)
        writer.close()


async def test_the_second_request_of_a_connection_has_its_time_limit_too() -> None:
    first = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    async with impatient_server() as port:
        whole = await said_to(port, trickle(first, drop=b""))
        said = await said_to(port, trickle(first + b"GET / HTTP/1.1\r\nX-Slow: ", drop=b"x"))
        lines = await said_to(port, trickle(first, drop=b"\r\n"))
    assert whole.count(b"HTTP/1.1 200 ") == 1
    assert said.index(b"HTTP/1.1 200 ") < said.index(b"HTTP/1.1 408 ")
    assert lines.count(b"HTTP/1.1 200 ") == 1


async def test_a_body_that_takes_longer_than_headers_may_is_read_to_its_end() -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 20\r\n\r\n"
        for _ in range(20):
            await asyncio.sleep(0.05)
            yield b"x"

    async with impatient_server() as port:
        assert (await said_to(port, parts())).startswith(b"HTTP/1.1 200 ")


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
