"""Reverse proxies: whose forwarded headers are trusted, and the effect on cookies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.types import Receive, Scope, Send
from structlog.testing import capture_logs

from scrapersky.db.session import Database
from scrapersky.http.credentials import SECURE_SESSION_COOKIE, SESSION_COOKIE
from scrapersky.http.proxies import ProxyHeadersMiddleware, find_exposure_warnings
from scrapersky.http.rate_limit import get_client_address
from scrapersky.main import create_app
from scrapersky.settings import Settings, SettingsSource, load_settings
from tests.app import serving
from tests.auth.accounts import signed_in_settings
from tests.auth.dashboard_clients import add_person, sign_in
from tests.conftest import make_settings

JOBS = "/api/v3/jobs"
PROXY = "10.0.0.1"


def settings_with(**values: Any) -> Settings:
    return load_settings(SettingsSource(environ={}, env_file=None), **values)


async def seen_by_the_app(
    peer: str, *headers: tuple[str, str], trusted: str = f"{PROXY},10.9.0.0/16,::1"
) -> tuple[str, str]:
    """The client's address and the scheme that routes see."""
    seen: list[tuple[str, str]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        assert request.client is not None
        seen.append((request.client.host, request.url.scheme))

    scope: Scope = {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "path": "/",
        "query_string": b"",
        "server": ("localhost", 8000),
        "client": (peer, 40000),
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
    }

    async def receive() -> Any:
        raise AssertionError("no body is read")

    async def send(message: Any) -> None:
        raise AssertionError("nothing is answered")

    middleware = ProxyHeadersMiddleware(app, settings_with(trusted_proxies=trusted))
    await middleware(scope, receive, send)
    return seen[0]


FOR, PROTO = "X-Forwarded-For", "X-Forwarded-Proto"


@pytest.mark.parametrize(
    ("headers", "client"),
    [
        ([(FOR, "203.0.113.9")], "203.0.113.9"),
        ([(FOR, "1.1.1.1, 203.0.113.9")], "203.0.113.9"),
        ([(FOR, "1.1.1.1"), (FOR, "203.0.113.9, 10.9.1.1")], "203.0.113.9"),
        ([(FOR, "10.9.1.2, 10.9.1.1")], "10.9.1.2"),
        ([(FOR, "203.0.113.9:4711")], "203.0.113.9"),
        ([(FOR, '"[2001:db8::7]:4711"')], "2001:db8::7"),
        ([(FOR, "::ffff:203.0.113.9")], "203.0.113.9"),
        ([(FOR, "203.0.113.9, unknown")], PROXY),
        ([(FOR, "203.0.113.9, unknown, 10.9.1.1")], "10.9.1.1"),
        ([(FOR, "")], PROXY),
        ([(PROTO, "https")], PROXY),
    ],
)
async def test_the_rightmost_hop_that_is_not_a_trusted_proxy_is_the_client(
    headers: list[tuple[str, str]], client: str
) -> None:
    assert (await seen_by_the_app(PROXY, *headers))[0] == client


@pytest.mark.parametrize(
    ("headers", "scheme"),
    [
        ([(PROTO, "https")], "https"),
        ([(PROTO, "HTTPS"), (FOR, "203.0.113.9")], "https"),
        ([(PROTO, "http")], "http"),
        ([(PROTO, "https, http"), (FOR, "203.0.113.9, 10.9.1.1")], "https"),
        ([(PROTO, "https, http"), (FOR, "203.0.113.9")], "http"),
        ([(PROTO, "javascript")], "http"),
        ([(FOR, "203.0.113.9")], "http"),
    ],
)
async def test_the_scheme_is_what_the_proxy_nearest_to_the_client_says(
    headers: list[tuple[str, str]], scheme: str
) -> None:
    assert (await seen_by_the_app(PROXY, *headers))[1] == scheme


async def test_an_ipv4_proxy_on_a_dual_stack_socket_is_recognised() -> None:
    seen = await seen_by_the_app(f"::ffff:{PROXY}", (FOR, "203.0.113.9"), (PROTO, "https"))

    assert seen == ("203.0.113.9", "https")


async def test_headers_of_an_untrusted_peer_are_ignored_and_logged_once() -> None:
    with capture_logs() as logs:
        seen = await seen_by_the_app("203.0.113.5", (FOR, "127.0.0.1"), (PROTO, "https"))

    assert seen == ("203.0.113.5", "http")
    (line,) = [each for each in logs if each["event"] == "forwarded headers ignored"]
    assert line["peer"] == "203.0.113.5"
    assert "TRUSTED_PROXIES" in line["reason"]


async def test_nobody_is_trusted_unless_the_settings_say_so() -> None:
    seen = await seen_by_the_app("127.0.0.1", (FOR, "203.0.113.9"), (PROTO, "https"), trusted="")

    assert seen == ("127.0.0.1", "http")


async def test_rate_limits_count_the_client_and_not_the_proxy(url: str) -> None:
    limits = {"rate_limit_burst": 2, "rate_limit_per_minute": 1}
    settings = signed_in_settings(url, trusted_proxies="127.0.0.1", **limits)

    async with serving(settings) as client:
        for _ in range(2):
            await client.get(JOBS, headers={FOR: "203.0.113.9"})
        over = await client.get(JOBS, headers={FOR: "203.0.113.9"})
        pretending = await client.get(JOBS, headers={FOR: "198.51.100.1, 203.0.113.9"})
        other = await client.get(JOBS, headers={FOR: "203.0.113.10"})

    assert over.status_code == pretending.status_code == 429
    assert other.status_code == 401


# Cookies


@asynccontextmanager
async def https(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """A browser whose every request comes by https, through a proxy we may or may not trust."""
    app = create_app(settings)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app, client=(PROXY, 40000)),
            base_url="http://scrapersky.example",
            headers={PROTO: "https", FOR: "203.0.113.9"},
        ) as client,
    ):
        yield client


def cookie_in(answer: httpx.Response) -> tuple[str, str]:
    name, _, rest = answer.headers["set-cookie"].partition("=")
    return name, rest.lower()


async def test_the_cookie_is_for_https_only_behind_a_trusted_proxy(
    url: str, database: Database
) -> None:
    await add_person(database, "alice")

    async with https(signed_in_settings(url, trusted_proxies=PROXY)) as client:
        begun = await sign_in(client)
        token = begun.headers["set-cookie"].partition("=")[2].partition(";")[0]
        client.cookies.clear()
        inside = await client.get(JOBS, headers={"Cookie": f"{SECURE_SESSION_COOKIE}={token}"})
        plain = await client.get(JOBS, headers={"Cookie": f"{SESSION_COOKIE}={token}"})

    name, rest = cookie_in(begun)
    assert name == "__Host-scrapersky_session"
    assert "; secure" in rest
    assert "path=/" in rest
    assert "domain" not in rest
    assert inside.status_code == 200
    assert plain.status_code == 401, "whoever is on the way could have planted it"


async def test_a_planted_cookie_does_not_override_the_secure_one(
    url: str, database: Database
) -> None:
    await add_person(database, "alice")
    await add_person(database, "mallory")

    async with https(signed_in_settings(url, trusted_proxies=PROXY)) as client:
        tokens = {}
        for name in ("alice", "mallory"):
            begun = await sign_in(client, name)
            tokens[name] = begun.headers["set-cookie"].partition("=")[2].partition(";")[0]
            client.cookies.clear()
        cookies = (
            f"{SESSION_COOKIE}={tokens['mallory']}",
            f"{SECURE_SESSION_COOKIE}={tokens['alice']}",
        )
        for both in (cookies, cookies[::-1]):
            shown = await client.get("/api/v3/session", headers={"Cookie": "; ".join(both)})
            assert shown.json()["user"]["name"] == "alice"


async def test_the_cookie_is_plain_where_the_proxy_is_not_trusted(
    url: str, database: Database
) -> None:
    await add_person(database, "alice")

    async with https(signed_in_settings(url)) as client:
        name, rest = cookie_in(await sign_in(client))

    assert name == "scrapersky_session"
    assert "secure" not in rest


async def test_the_cookie_can_be_for_https_only_always(url: str, database: Database) -> None:
    await add_person(database, "alice")

    async with https(signed_in_settings(url, cookie_secure="always")) as client:
        begun = await sign_in(client)
        token = begun.headers["set-cookie"].partition("=")[2].partition(";")[0]
        inside = await client.get(JOBS, headers={"Cookie": f"{SECURE_SESSION_COOKIE}={token}"})

    name, rest = cookie_in(begun)
    assert name == "__Host-scrapersky_session"
    assert "; secure" in rest
    assert inside.status_code == 200


async def test_signing_out_deletes_both_forms(url: str, database: Database) -> None:
    await add_person(database, "alice")

    async with serving(signed_in_settings(url)) as client:
        await sign_in(client)
        ended = await client.delete("/api/v3/session")

    said = [each.lower() for each in ended.headers.get_list("set-cookie")]
    assert {each.partition("=")[0] for each in said} == {
        "scrapersky_session",
        "__host-scrapersky_session",
    }
    assert all("max-age=0" in each for each in said)
    assert all("secure" in each for each in said if each.startswith("__host-"))


# Open mode


@pytest.mark.parametrize("named", ["203.0.113.9", "127.0.0.1, 203.0.113.9", "unknown"])
async def test_open_mode_refuses_what_a_proxy_forwards_for_others(url: str, named: str) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        refused = await client.get(JOBS, headers={FOR: named})
        own = await client.get(JOBS, headers={FOR: "127.0.0.1, ::1"})

    assert refused.status_code == 403
    assert "AUTH_MODE=required" in refused.json()["detail"]
    assert own.status_code == 200


# Warnings


def test_sign_in_over_plain_http_for_others_is_warned_about() -> None:
    settings = settings_with(auth_mode="required")

    (said,) = find_exposure_warnings(settings, ["0.0.0.0"])
    assert "plain http" in said
    assert "TRUSTED_PROXIES" in said
    assert find_exposure_warnings(settings, ["127.0.0.1", "::1"]) == []
    assert len(find_exposure_warnings(settings)) == 1
    for more in ({"trusted_proxies": PROXY}, {"cookie_secure": "always"}, {"auth_mode": "open"}):
        fine = settings_with(**{"auth_mode": "required", **more})
        assert find_exposure_warnings(fine, ["0.0.0.0"]) == []


@pytest.mark.parametrize("everybody", ["0.0.0.0/0", "10.0.0.0/8,::/0"])
def test_trusting_everybody_is_warned_about(everybody: str) -> None:
    settings = settings_with(auth_mode="required", trusted_proxies=everybody)

    (said,) = find_exposure_warnings(settings, ["127.0.0.1"])
    assert "any client can forge" in said


def test_the_address_that_limits_count_is_the_client_as_it_was_resolved() -> None:
    scope: Scope = {"type": "http", "client": ("2001:db8::7", 0), "headers": []}

    assert get_client_address(Request(scope)) == "address:2001:db8::/64"
