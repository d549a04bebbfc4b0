"""Servers that violate the protocol or break the connection."""

from __future__ import annotations

import asyncio
import gzip
import ipaddress
import tracemalloc
import zlib
from pathlib import Path

import pytest

from scrapersky.scraper import (
    AddressRules,
    Blocked,
    ConnectionFailed,
    Fetcher,
    FetchLimits,
    LocalGate,
    Response,
    TimedOut,
    TlsFailed,
    TooManyRedirects,
)
from scrapersky.settings import Settings
from tests.fake_web import (
    Certificate,
    FakeWeb,
    expired_certificate,
    foreign_certificate,
    good_certificate,
    unsigned_certificate,
)
from tests.scraper.listener import Listener, Script, repeats, says
from tests.waiting import PATIENCE_SECONDS

LOOPBACK = AddressRules(allowed_networks=(ipaddress.ip_network("127.0.0.0/8"),))
OK = b"HTTP/1.1 200 OK\r\n"
BROKEN = "The connection broke before the end."
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


async def fetched(script: Script, *, seconds: float = 60, **limits: int) -> Response:
    limited = FetchLimits(timeout_seconds=seconds, **limits)
    async with (
        Listener(script) as listener,
        Fetcher(user_agent="test", rules=LOOPBACK, limits=limited) as fetch,
    ):
        return await fetch.get(listener.url)


# What can still be read


@pytest.mark.parametrize(
    ("script", "body", "is_whole"),
    [
        (says(OK + b"\r\nhello"), b"hello", True),
        (says(b"HTTP/1.0 200 OK\r\n\r\nhello"), b"hello", True),
        (says(b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello"), b"hello", True),
        (says(b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello"), b"hello", True),
        (says(CHUNKED + b"5\r\nhello\r\n0\r\n\r\n"), b"hello", True),
        # The end is missing.
        (says(OK + b"Content-Length: 30\r\n\r\nhello"), b"hello", False),
        (says(CHUNKED + b"5\r\nhello\r\n"), b"hello", False),
        (says(CHUNKED + b"5\r\nhello\r\n5\r\nwor"), b"hellowor", False),
        # The chunks go wrong on the way.
        (says(CHUNKED + b"5\r\nhello\r\n", b"what?\r\nworld\r\n"), b"hello", False),
        (says(CHUNKED + b"5\r\nhello\r\n", b"-5\r\nworld\r\n"), b"hello", False),
        (says(CHUNKED + b"5\r\nhello\r\n", b"FFFFFFFFFFFFFFFFF\r\nworld"), b"hello", False),
    ],
)
async def test_what_came_is_kept_and_a_missing_end_is_said(
    script: Script, body: bytes, is_whole: bool
) -> None:
    answer = await fetched(script)

    assert (answer.body, answer.truncated) == (body, None if is_whole else BROKEN)
    assert (answer.digest is not None) == is_whole


async def test_chunks_that_go_wrong_while_nobody_reads_are_a_broken_connection() -> None:
    async with (
        Listener(says(CHUNKED + b"5\r\nhello\r\n", b"what?\r\n")) as listener,
        Fetcher(user_agent="test", rules=LOOPBACK) as fetch,
        fetch.stream(listener.url) as answer,
    ):
        pieces = answer.chunks()
        assert await anext(pieces) == b"hello"
        async with asyncio.timeout(PATIENCE_SECONDS):
            while answer._is_alive():
                await asyncio.sleep(0.01)
        rest = [piece async for piece in pieces]

    assert (rest, answer.truncated) == ([], BROKEN)


# What cannot


@pytest.mark.parametrize(
    "script",
    [
        says(b""),
        says(b"SSH-2.0-OpenSSH_9.9\r\n"),
        says(b"<html>hello</html>"),
        says(b"HTTP/1.1 two hundred\r\n\r\n"),
        says(OK + b"no colon\r\n\r\nhello"),
        says(OK + b"X: a\0b\r\nContent-Length: 5\r\n\r\nhello"),
        says(OK + b"Content-Length: five\r\n\r\nhello"),
        says(OK + b"Content-Length: -5\r\n\r\nhello"),
        says(OK + b"Content-Length: 99999999999999999999999\r\n\r\nhello"),
        says(OK + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nhello"),
        says(OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello"),
    ],
)
async def test_what_is_not_http_is_a_failed_connection(script: Script) -> None:
    with pytest.raises(
        ConnectionFailed, match=r"^127\.0\.0\.1 (did not answer with HTTP|closed|dropped)"
    ):
        await fetched(script)


@pytest.mark.parametrize(
    "script",
    [
        repeats(b"HTTP/1.1 200 ", lambda _: b"y" * 65536),
        repeats(OK + b"X: ", lambda _: b"y" * 65536),
        repeats(OK, lambda number: b"X-%d: %s\r\n" % (number, b"y" * 4000)),
        repeats(OK, lambda _: b"X: y\r\n" * 1000),
    ],
)
async def test_bombs_of_headers_are_cut_before_they_fill_the_memory(script: Script) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ConnectionFailed):
            await fetched(script, seconds=60)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 32 * 1024 * 1024


# What takes too long


@pytest.mark.parametrize(
    "script",
    [
        repeats(b"", lambda _: b"", every_seconds=0.05),
        repeats(b"HTTP/1.1 200 ", lambda _: b"y", every_seconds=0.05),
        repeats(OK, lambda number: b"X-%d: y\r\n" % number, every_seconds=0.05),
        repeats(b"", lambda _: b"HTTP/1.1 100 Continue\r\n\r\n", every_seconds=0.05),
    ],
)
async def test_headers_that_drip_are_cut_by_the_deadline(script: Script) -> None:
    with pytest.raises(TimedOut):
        await fetched(script, seconds=0.3)


DRIP = repeats(OK + b"Content-Length: 100000\r\n\r\n", lambda _: b"x", every_seconds=0.05)


async def test_a_body_that_drips_is_given_up_long_before_its_deadline() -> None:
    limits = FetchLimits(timeout_seconds=3600, rate_window_seconds=0.2)
    async with (
        Listener(DRIP) as listener,
        Fetcher(user_agent="test", rules=LOOPBACK, limits=limits) as fetch,
        asyncio.timeout(60),
    ):
        with pytest.raises(TimedOut, match=r"It arrived at less than 64 bytes per second\.$"):
            await fetch.get(listener.url)


async def test_a_body_that_stalls_after_a_good_start_is_given_up_too() -> None:
    async def script(writer: asyncio.StreamWriter) -> None:
        writer.write(OK + b"Content-Length: 100000\r\n\r\n" + b"x" * 50_000)
        await writer.drain()
        await asyncio.sleep(3600)

    limits = FetchLimits(timeout_seconds=3600, rate_window_seconds=0.2)
    async with (
        Listener(script) as listener,
        Fetcher(user_agent="test", rules=LOOPBACK, limits=limits) as fetch,
        asyncio.timeout(60),
        fetch.stream(listener.url) as answer,
    ):
        body = b"".join([piece async for piece in answer.chunks()])

    # What came of a stream has been used already, so it is told and not raised.
    assert (len(body), answer.too_slow, answer.timed_out) == (50_000, True, True)


async def test_a_rate_of_zero_waits_for_the_whole_deadline() -> None:
    limits = FetchLimits(timeout_seconds=0.5, rate_window_seconds=0.1, min_bytes_per_second=0)
    async with (
        Listener(DRIP) as listener,
        Fetcher(user_agent="test", rules=LOOPBACK, limits=limits) as fetch,
    ):
        answer = await fetch.get(listener.url)

    assert answer.truncated == "It did not finish within 0.5 s."


async def test_a_service_of_ours_may_take_its_time() -> None:
    limits = FetchLimits(timeout_seconds=0.5, rate_window_seconds=0.1)
    async with (
        Listener(DRIP) as listener,
        Fetcher(user_agent="test", rules=LOOPBACK, limits=limits) as fetch,
    ):
        answer = await fetch.ask(listener.url, headers={})

    assert answer.truncated == "It did not finish within 0.5 s."


@pytest.mark.parametrize("script", [DRIP, repeats(OK, lambda _: b"", every_seconds=0.05)])
async def test_a_robots_txt_has_a_shorter_deadline_than_pages(script: Script) -> None:
    limits = FetchLimits(timeout_seconds=3600, robots_timeout_seconds=0.2)
    async with (
        Listener(script) as listener,
        Fetcher(user_agent="test", rules=LOOPBACK, limits=limits) as fetch,
        asyncio.timeout(60),
    ):
        with pytest.raises(TimedOut):
            await fetch.get_robots(f"{listener.url}robots.txt")


async def test_redirects_that_dawdle_share_one_deadline() -> None:
    async with FakeWeb() as web:
        host = web.host("a.example")
        for number in range(5):
            host.redirect(f"/{number}", f"/{number + 1}")
        host.hang("/3")
        async with Fetcher.from_settings(web.settings(fetch_timeout_seconds=0.5)) as fetch:
            with pytest.raises(TimedOut, match=r"0\.5 s\."):
                await fetch.get("http://a.example/0")


@pytest.mark.parametrize("start", [OK + b"\r\n", OK + b"Content-Length: 9999999999\r\n\r\n"])
async def test_a_body_that_never_ends_is_cut_at_its_limit(start: bytes) -> None:
    answer = await fetched(repeats(start, lambda _: b"x" * 65536), max_bytes=300_000)

    assert len(answer.body) == 300_000
    assert "larger than 300000 bytes" in (answer.truncated or "")


async def test_chunks_that_never_end_are_cut_at_the_limit() -> None:
    chunk = b"1000\r\n" + b"x" * 4096 + b"\r\n"
    answer = await fetched(repeats(CHUNKED, lambda _: chunk), max_bytes=300_000)

    assert len(answer.body) == 300_000
    assert answer.truncated is not None


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate"])
async def test_a_small_body_that_unpacks_without_end_is_cut(encoding: str) -> None:
    packer = zlib.compressobj(wbits=31 if "gzip" in encoding else 15)
    start = packer.compress(b"\0" * 1_000_000) + packer.flush(zlib.Z_SYNC_FLUSH)
    more = packer.compress(b"\0" * 8_000_000) + packer.flush(zlib.Z_SYNC_FLUSH)
    head = OK + f"Content-Encoding: {encoding}\r\n\r\n".encode()

    answer = await fetched(repeats(head + start, lambda _: more), seconds=60)

    assert len(answer.body) < 32 * 1024 * 1024
    assert "times its size" in (answer.truncated or "")


async def test_the_limit_of_unpacked_bytes_holds_for_honest_bodies_too() -> None:
    body = gzip.compress(b"".join(b"%d " % number for number in range(200_000)))
    head = OK + b"Content-Encoding: gzip\r\n\r\n"

    answer = await fetched(says(head + body), max_decompressed_bytes=200_000)

    assert 200_000 <= len(answer.body) < 400_000
    assert "more than 200000 bytes" in (answer.truncated or "")


async def test_only_an_encoding_that_can_be_bounded_is_asked_for() -> None:
    async with FakeWeb() as web:
        host = web.host("a.example").body("/", "x")
        async with Fetcher.from_settings(web.settings()) as fetch:
            await fetch.get("http://a.example/")

    assert host.seen[0].headers["Accept-Encoding"] == "gzip"


# TLS


@pytest.mark.parametrize(
    ("certificate", "reason"),
    [
        (expired_certificate, "its certificate has expired"),
        (foreign_certificate, "its certificate is for another host name"),
        (unsigned_certificate, "its certificate is not signed by a trusted authority"),
    ],
)
async def test_a_bad_certificate_is_refused_with_its_reason(
    tmp_path: Path, certificate: Certificate, reason: str
) -> None:
    async with FakeWeb(certificate=certificate) as web:
        host = web.host("bakery.example").body("/", "secret")
        async with Fetcher.from_settings(trusting(web, tmp_path)) as fetch:
            with pytest.raises(TlsFailed) as failure:
                await fetch.get("https://bakery.example/")

    assert str(failure.value) == f"TLS connection to bakery.example failed: {reason}."
    assert host.seen == []


async def test_a_good_certificate_does_not_help_behind_a_redirect_to_a_bad_one(
    tmp_path: Path,
) -> None:
    async with FakeWeb(certificate=good_certificate) as web:
        web.host("bakery.example").redirect("/", "https://sub.bakery.example/")
        other = web.host("sub.bakery.example").body("/", "secret")
        async with Fetcher.from_settings(trusting(web, tmp_path)) as fetch:
            with pytest.raises(TlsFailed, match="for another host name"):
                await fetch.get("https://bakery.example/")

    assert other.seen == []


async def test_a_server_without_tls_says_so() -> None:
    async with FakeWeb() as web:
        web.host("bakery.example")
        async with Fetcher.from_settings(web.settings()) as fetch:
            with pytest.raises(TlsFailed, match="the server does not use TLS on this port"):
                await fetch.get("https://bakery.example/")


def trusting(web: FakeWeb, folder: Path) -> Settings:
    return web.settings(fetch_ca_file=web.ca_file(folder))


# Redirects, cookies, names


async def test_a_redirect_without_a_place_is_an_answer() -> None:
    answer = await fetched(says(b"HTTP/1.1 302 Found\r\nContent-Length: 5\r\n\r\nhello"))

    assert (answer.status, answer.body, answer.redirects) == (302, b"hello", ())


async def test_a_redirect_to_itself_ends_at_once() -> None:
    async with FakeWeb() as web:
        host = web.host("a.example").redirect("/", "http://a.example/")
        async with Fetcher.from_settings(web.settings()) as fetch:
            with pytest.raises(TooManyRedirects, match="loop"):
                await fetch.get("http://a.example/")

    assert len(host.seen) == 1


async def test_no_redirect_is_followed_where_none_is_allowed() -> None:
    async with FakeWeb() as web:
        web.host("a.example").redirect("/", "/b").body("/b", "there")
        async with Fetcher.from_settings(web.settings(fetch_max_redirects=0)) as fetch:
            with pytest.raises(TooManyRedirects):
                await fetch.get("http://a.example/")


@pytest.mark.parametrize(
    "location", ["http://b.example:22/", "ftp://b.example/", "data:,x", "http://"]
)
async def test_a_redirect_out_of_the_web_is_blocked(location: str) -> None:
    async with FakeWeb() as web:
        web.host("a.example").redirect("/", location)
        async with Fetcher.from_settings(web.settings()) as fetch:
            with pytest.raises(Blocked):
                await fetch.get("http://a.example/")


async def test_cookies_of_one_host_reach_no_other_and_not_itself() -> None:
    cookie = "id=7; Domain=example; Path=/"
    async with FakeWeb() as web:
        first = web.host("a.example").redirect("/", "http://b.example/")
        first.body("/again", "x")
        first.body("/set", "x", headers={"Set-Cookie": cookie})
        second = web.host("b.example").body("/", "x", headers={"Set-Cookie": cookie})
        async with Fetcher.from_settings(web.settings(), LocalGate(delay_seconds=0)) as fetch:
            for path in ("/set", "/", "/again"):
                await fetch.get(f"http://a.example{path}")

    assert all("Cookie" not in each.headers for each in (*first.seen, *second.seen))


async def test_credentials_given_for_one_host_are_not_in_the_address_of_any() -> None:
    async with FakeWeb() as web:
        host = web.host("a.example").redirect("/", "http://user:secret@a.example/b")
        async with Fetcher.from_settings(web.settings()) as fetch:
            with pytest.raises(Blocked, match="user name"):
                await fetch.get("http://a.example/")

    assert host.paths == ["/"]


async def test_the_name_we_go_by_has_a_contact_unless_the_operator_says_otherwise() -> None:
    async with FakeWeb() as web:
        host = web.host("a.example").body("/", "x")
        mine = "Bakers/2 (+https://bakers.example/bot; bot@bakers.example)"
        for settings in (web.settings(), web.settings(fetch_user_agent=mine)):
            async with Fetcher.from_settings(settings) as fetch:
                await fetch.get("http://a.example/")

    default, chosen = (each.headers["User-Agent"] for each in host.seen)
    assert default.startswith("ScraperSky/")
    assert "(+https://" in default
    assert chosen == mine
