"""Fetching from servers that lie, delay and send too much."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from time import sleep

import pytest

from scrapersky.scraper import (
    Blocked,
    ConnectionFailed,
    Fetcher,
    FetchErrorKind,
    HostOutcome,
    LocalGate,
    TimedOut,
    TlsFailed,
    TooManyRedirects,
)
from tests.fake_web import FakeWeb


class ListeningGate(LocalGate):
    """Remembers who came and what was reported."""

    def __init__(self) -> None:
        super().__init__(delay_seconds=0)
        self.reports: list[tuple[str, HostOutcome]] = []

    async def report(self, host: str, outcome: HostOutcome) -> None:
        self.reports.append((host, outcome))


async def test_an_answer_comes_with_its_status_headers_and_body() -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").page("/", "<p>bread", headers={"X-Kind": "rye"})
        async with Fetcher.from_settings(web.settings()) as fetch:
            answer = await fetch.get("http://bakery.example/")

    assert (answer.status, answer.body, answer.headers["x-kind"]) == (200, b"<p>bread", "rye")
    assert (answer.truncated, answer.redirects, answer.network_bytes) == (None, (), 8)


async def test_it_says_who_it_is_and_sends_no_cookies() -> None:
    async with FakeWeb() as web:
        host = web.host("bakery.example")
        host.body("/", "x", headers={"Set-Cookie": "a=b"})
        async with Fetcher.from_settings(web.settings(fetch_user_agent="Honest/1")) as fetch:
            await fetch.get("http://bakery.example/")
            await fetch.get("http://bakery.example/")

    assert host.seen[1].headers["User-Agent"] == "Honest/1"
    assert "Cookie" not in host.seen[1].headers


async def test_redirects_are_followed_and_remembered() -> None:
    async with FakeWeb() as web:
        web.host("a.example").redirect("/", "//b.example/x", 302)
        web.host("b.example").redirect("/x", "y?z=1", 308).body("/y?z=1", "there")
        async with Fetcher.from_settings(web.settings()) as fetch:
            answer = await fetch.get("http://a.example/")

    assert (answer.final_url, answer.body) == ("http://b.example/y?z=1", b"there")
    assert [hop.status for hop in answer.redirects] == [302, 308]


async def test_redirects_in_a_circle_end_at_once() -> None:
    async with FakeWeb() as web:
        host = web.host("a.example").redirect("/", "/b").redirect("/b", "/")
        async with Fetcher.from_settings(web.settings()) as fetch:
            with pytest.raises(TooManyRedirects, match="loop"):
                await fetch.get("http://a.example/")

    assert len(host.seen) == 2


async def test_endless_redirects_end_at_the_limit() -> None:
    async with FakeWeb() as web:
        host = web.host("a.example")
        for number in range(10):
            host.redirect(f"/{number}", f"/{number + 1}")
        async with Fetcher.from_settings(web.settings(fetch_max_redirects=3)) as fetch:
            with pytest.raises(TooManyRedirects, match="3 times"):
                await fetch.get("http://a.example/0")

    assert len(host.seen) == 4


async def test_a_redirect_to_another_scheme_is_blocked() -> None:
    async with FakeWeb() as web:
        web.host("a.example").redirect("/", "file:///etc/passwd")
        async with Fetcher.from_settings(web.settings()) as fetch:
            with pytest.raises(Blocked):
                await fetch.get("http://a.example/")


async def test_too_large_a_body_is_cut_and_says_so() -> None:
    async with FakeWeb() as web:
        web.host("a.example").huge("/", b"x" * 65536, times=100)
        async with Fetcher.from_settings(web.settings(fetch_max_bytes=100_000)) as fetch:
            answer = await fetch.get("http://a.example/")

    assert len(answer.body) == 100_000
    assert answer.truncated is not None
    assert answer.digest is None


async def test_a_slow_drip_is_cut_by_the_deadline_and_keeps_what_came() -> None:
    async with FakeWeb() as web:
        web.host("a.example").drip("/", b"x" * 100_000, every_seconds=0.05, size=100)
        async with Fetcher.from_settings(web.settings(fetch_timeout_seconds=2)) as fetch:
            answer = await fetch.get("http://a.example/")

    assert answer.truncated is not None
    assert 0 < len(answer.body) < 100_000


async def test_a_host_that_says_nothing_times_out() -> None:
    async with FakeWeb() as web:
        web.host("a.example").hang("/")
        async with Fetcher.from_settings(web.settings(fetch_timeout_seconds=0.2)) as fetch:
            with pytest.raises(TimedOut, match=r"a\.example did not answer within 0\.2 s"):
                await fetch.get("http://a.example/")


async def test_a_closed_connection_is_a_failure_of_ours() -> None:
    async with FakeWeb() as web:
        web.host("a.example").closes("/")
        async with Fetcher.from_settings(web.settings()) as fetch:
            with pytest.raises(ConnectionFailed):
                await fetch.get("http://a.example/")


async def test_a_connection_that_breaks_off_keeps_what_came() -> None:
    async with FakeWeb() as web:
        web.host("a.example").breaks_off("/", b"half", promised=1000)
        async with Fetcher.from_settings(web.settings()) as fetch:
            answer = await fetch.get("http://a.example/")

    assert answer.body == b"half"
    assert answer.truncated == "The connection broke before the end."


async def test_nobody_listening_is_a_failed_connection() -> None:
    async with FakeWeb() as web:
        web.host("a.example")
        settings = web.settings()
    async with Fetcher.from_settings(settings) as fetch:
        with pytest.raises(ConnectionFailed, match=r"a\.example did not accept the connection"):
            await fetch.get("http://a.example/")


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"hello " * 9, mtime=0)),
        ("x-gzip", gzip.compress(b"hello " * 5, mtime=0) + gzip.compress(b"hello " * 4, mtime=0)),
        ("deflate", zlib.compress(b"hello " * 9)),
        ("deflate", zlib.compress(b"hello " * 9)[2:-4]),
        ("gzip", b"hello " * 9),
        ("identity", b"hello " * 9),
    ],
)
async def test_content_encodings_are_undone_as_the_bytes_say(encoding: str, body: bytes) -> None:
    async with FakeWeb() as web:
        web.host("a.example").body("/", body, headers={"Content-Encoding": encoding})
        async with Fetcher.from_settings(web.settings()) as fetch:
            answer = await fetch.get("http://a.example/")

    assert (answer.body, answer.truncated) == (b"hello " * 9, None)


async def test_a_bomb_of_content_encoding_is_cut() -> None:
    bomb = gzip.compress(b"\0" * 64 * 1024 * 1024)
    async with FakeWeb() as web:
        web.host("a.example").body("/", bomb, headers={"Content-Encoding": "gzip"})
        async with Fetcher.from_settings(web.settings()) as fetch:
            answer = await fetch.get("http://a.example/")

    assert len(answer.body) < 20 * 1024 * 1024
    assert "times its size" in (answer.truncated or "")


async def test_an_encoding_we_did_not_ask_for_is_flagged() -> None:
    async with FakeWeb() as web:
        web.host("a.example").body("/", b"\x8b\x02", headers={"Content-Encoding": "br"})
        async with Fetcher.from_settings(web.settings()) as fetch:
            answer = await fetch.get("http://a.example/")

    assert "br" in (answer.truncated or "")


async def test_conditional_requests_are_answered_without_a_body() -> None:
    async with FakeWeb() as web:
        web.host("a.example").conditional("/", "body", etag='"1"')
        async with Fetcher.from_settings(web.settings()) as fetch:
            first = await fetch.get("http://a.example/")
            again = await fetch.get("http://a.example/", etag=first.headers["ETag"])

    assert (first.status, again.status, again.body) == (200, 304, b"")


async def test_a_stream_comes_in_pieces_and_knows_its_digest_at_the_end() -> None:
    async with FakeWeb() as web:
        web.host("a.example").huge("/", b"x" * 100_000, times=20)
        async with (
            Fetcher.from_settings(web.settings()) as fetch,
            fetch.stream("http://a.example/") as answer,
        ):
            before = answer.digest
            sizes = [len(piece) async for piece in answer.chunks()]

    assert before is None
    assert answer.digest is not None
    assert sum(sizes) == answer.network_bytes == 2_000_000
    assert max(sizes) <= 256 * 1024


async def test_time_that_the_reader_of_a_stream_takes_is_not_the_hosts() -> None:
    async with FakeWeb() as web:
        web.host("a.example").body("/", b"x" * 10)
        settings = web.settings(fetch_timeout_seconds=2)
        async with (
            Fetcher.from_settings(settings) as fetch,
            fetch.stream("http://a.example/") as answer,
        ):
            sleep(2.1)
            body = b"".join([piece async for piece in answer.chunks()])

    assert (body, answer.truncated) == (b"x" * 10, None)


async def test_tls_is_verified_against_the_given_authority(tmp_path: Path) -> None:
    async with FakeWeb(tls=True) as web:
        web.host("bakery.example").body("/", "safe")
        trusting = web.settings(fetch_ca_file=web.ca_file(tmp_path))
        async with Fetcher.from_settings(trusting) as fetch:
            answer = await fetch.get("https://bakery.example/")
        async with Fetcher.from_settings(web.settings()) as fetch:
            with pytest.raises(TlsFailed):
                await fetch.get("https://bakery.example/")

    assert answer.body == b"safe"


async def test_the_gate_hears_how_every_hop_went() -> None:
    gate = ListeningGate()
    async with FakeWeb() as web:
        web.host("a.example").redirect("/", "http://b.example:81/")
        web.host("b.example").too_many("/", retry_after="7").closes("/closed")
        async with Fetcher.from_settings(web.settings(), gate) as fetch:
            await fetch.get("http://a.example/")
            with pytest.raises(ConnectionFailed):
                await fetch.get("http://b.example/closed")

    assert gate.reports == [
        ("a.example", HostOutcome(status=301)),
        ("b.example:81", HostOutcome(status=429, retry_after_seconds=7.0)),
        ("b.example", HostOutcome(error=FetchErrorKind.CONNECTION)),
    ]


async def test_the_gate_hears_of_a_body_that_never_ended() -> None:
    gate = ListeningGate()
    async with FakeWeb() as web:
        web.host("a.example").drip("/", b"x" * 1000, every_seconds=0.1)
        settings = web.settings(fetch_timeout_seconds=2)
        async with Fetcher.from_settings(settings, gate) as fetch:
            with pytest.raises(TimedOut, match="too slow"):
                await fetch.get("http://a.example/")

    assert gate.reports == [("a.example", HostOutcome(status=200, error=FetchErrorKind.TIMED_OUT))]


async def test_connections_are_kept_for_the_next_request() -> None:
    ports = set()
    async with FakeWeb() as web:
        host = web.host("a.example").body("/", "x")
        plain = host.routes["/"]

        async def answer(request):  # type: ignore[no-untyped-def]
            ports.add(request.transport.get_extra_info("peername"))
            return await plain(request)

        host.route("/", answer)
        async with Fetcher.from_settings(web.settings()) as fetch:
            for _ in range(3):
                await fetch.get("http://a.example/")

    assert len(ports) == 1


async def test_a_service_is_asked_with_a_document_and_its_redirect_is_not_followed() -> None:
    async with FakeWeb() as web:
        elsewhere = web.host("elsewhere.example").body("/", "the key, please")
        service = web.host("service.example").redirect("/v1", "http://elsewhere.example/", 307)
        async with Fetcher.from_settings(web.settings()) as fetch:
            answer = await fetch.ask(
                "http://service.example/v1", b'{"q": 1}', headers={"X-Key": "secret"}
            )

    asked = service.seen[0]
    assert (answer.status, asked.headers["X-Key"]) == (307, "secret")
    assert (asked.method, asked.headers["Content-Length"]) == ("POST", "8")
    assert elsewhere.seen == []


async def test_a_service_that_hangs_up_is_not_asked_a_second_time() -> None:
    async with FakeWeb() as web:
        service = web.host("service.example").closes("/v1/places/7")
        async with Fetcher.from_settings(web.settings()) as fetch:
            with pytest.raises(ConnectionFailed):
                await fetch.ask("http://service.example/v1/places/7", headers={})

    assert len(service.seen) == 1
