"""No connection is made to a private address, however it is written or reached."""

from __future__ import annotations

import ipaddress
import socket

import pytest

from scrapersky.scraper import AddressRules, Blocked, DoesNotResolve, Fetcher, ResolverFailed
from scrapersky.scraper.http.addresses import is_public
from scrapersky.scraper.http.guard import GuardedResolver, check_url
from tests.fake_web import FakeWeb

LOOPBACK = AddressRules(allowed_networks=(ipaddress.ip_network("127.0.0.0/8"),))


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "100.100.100.200",
        "127.0.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.0.1",
        "192.168.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:a00:1::",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "ff02::1",
    ],
)
def test_private_addresses_are_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::101:101", "2002:101:101::"]
)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "http://user:secret@example.com/",
        "http:///path",
        "http://[::1/",
        "http://example.com:22/",
        "http://example.com:0x50/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://[::ffff:169.254.169.254]/",
        "http://1.1.1.1:25/",
    ],
)
def test_urls_that_give_themselves_away_are_refused_at_once(url: str) -> None:
    with pytest.raises(Blocked):
        check_url(url, AddressRules())


async def test_every_private_form_is_refused_before_the_server_sees_it() -> None:
    forms = ["127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "[::ffff:127.0.0.1]"]
    async with FakeWeb() as web, Fetcher(user_agent="test") as fetch:
        host = web.host("*")
        for form in (*forms, "localhost", "[::1]"):
            with pytest.raises(Blocked):
                await fetch.get(f"http://{form}:{web.port}/")

        assert host.seen == []


async def test_a_name_that_leads_to_a_private_address_is_refused() -> None:
    async def lookup(name: str) -> list[str]:
        return ["10.0.0.1", "127.0.0.1"]

    async with Fetcher(user_agent="test", lookup=lookup) as fetch:
        with pytest.raises(
            Blocked, match=r"inside\.example resolves to an address that is not pub"
        ):
            await fetch.get("http://inside.example/")


async def test_only_the_public_addresses_of_a_name_are_used() -> None:
    async def lookup(name: str) -> list[str]:
        return ["10.0.0.1", "93.184.216.34"]

    found = await GuardedResolver(AddressRules(), lookup).resolve("both.example", 443)

    assert [each["host"] for each in found] == ["93.184.216.34"]


async def test_a_redirect_into_a_private_address_is_refused() -> None:
    async with FakeWeb() as web:
        web.host("bakery.example").redirect("/", "http://10.0.0.1/admin")
        async with Fetcher.from_settings(web.settings()) as fetch:
            with pytest.raises(Blocked, match=r"10\.0\.0\.1"):
                await fetch.get("http://bakery.example/")


async def test_dns_that_changes_its_mind_is_checked_again() -> None:
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])

    async def lookup(name: str) -> list[str]:
        return next(answers)

    resolver = GuardedResolver(LOOPBACK, lookup)
    await resolver.resolve("rebind.example", 80)

    with pytest.raises(Blocked):
        await resolver.resolve("rebind.example", 80)


async def test_the_socket_itself_refuses_what_the_resolver_let_through() -> None:
    class Careless(GuardedResolver):
        async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[object]:  # type: ignore[override]
            return [
                {
                    "hostname": host,
                    "host": "127.0.0.1",
                    "port": port,
                    "family": socket.AF_INET,
                    "proto": 0,
                    "flags": 0,
                }
            ]

    async with FakeWeb() as web, Fetcher(user_agent="test") as fetch:
        host = web.host("*")
        assert fetch._session is not None
        fetch._session.connector._resolver = Careless(AddressRules())  # type: ignore[union-attr]
        with pytest.raises(Blocked):
            await fetch.get("http://careless.example:8080/")

        assert host.seen == []


async def test_a_pin_leads_into_allowed_networks_only() -> None:
    inside = AddressRules(LOOPBACK.allowed_networks, resolve={"a.example": ("127.0.0.1", 99)})
    outside = AddressRules(resolve={"a.example": ("127.0.0.1", 99)})

    found = await GuardedResolver(inside).resolve("a.example", 80)

    assert (found[0]["host"], found[0]["port"]) == ("127.0.0.1", 99)
    with pytest.raises(Blocked):
        await GuardedResolver(outside).resolve("a.example", 80)


@pytest.mark.parametrize(
    ("code", "expected"), [(socket.EAI_NONAME, DoesNotResolve), (socket.EAI_AGAIN, ResolverFailed)]
)
async def test_a_missing_name_is_told_from_a_failing_resolver(
    code: int, expected: type[Exception]
) -> None:
    async def lookup(name: str) -> list[str]:
        raise socket.gaierror(code, "no")

    async with Fetcher(user_agent="test", lookup=lookup) as fetch:
        with pytest.raises(expected):
            await fetch.get("http://missing.example/")
