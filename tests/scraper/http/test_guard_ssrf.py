"""Every way into the private network that we know of, tried: nobody comes out at the other end.

Servers stand ready behind the addresses of this machine and count who comes.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_network

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapersky.scraper import (
    AddressRules,
    Blocked,
    ConnectionFailed,
    Fetcher,
    FetchFailed,
    LocalGate,
    SitemapAnalyzer,
    SitemapDone,
    SitemapStatus,
)
from scrapersky.scraper.http.guard import check_url
from tests.fake_web import FakeHost, FakeWeb, index
from tests.scraper.listener import Listener, says

HELLO = says(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
OPEN = "127.0.0.2"
"""The one private address that the tests open: where a hostile site lives."""

ADDRESSES = {
    "this host": ["0.0.0.0", "0.1.2.3"],
    "loopback": ["127.0.0.1", "127.0.0.3", "127.255.255.254", "::1"],
    "private": ["10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
    "link-local": ["169.254.1.1", "fe80::1", "fe80::1%lo", "febf::1"],
    "cloud metadata": ["169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192"],
    "carrier NAT": ["100.64.0.1", "100.127.255.255"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"],
    "broadcast": ["255.255.255.255"],
    "reserved": ["240.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1"],
    "reserved v6": ["::", "100::1", "2001:db8::1", "3fff::1", "5f00::1", "fec0::1"],
    "unique-local": ["fc00::1", "fdff::1"],
    "mapped": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe"],
    "compatible": ["::127.0.0.1", "::10.0.0.1"],
    "translated": ["::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe"],
    "translated at home": ["64:ff9b:1::7f00:1", "64:ff9b:1:ffff::10.0.0.1"],
    "6to4": ["2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::1"],
    "Teredo": ["2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001::1"],
}
EACH_ADDRESS = [address for group in ADDRESSES.values() for address in group]

SPELLINGS = {
    "decimal": ["2130706433", "3232235521", "2852039166"],
    "hexadecimal": ["0x7f000001", "0X7F000001", "0x7f.1", "0x7f.0x0.0x0.0x1", "0xa9fea9fe"],
    "octal": ["0177.0.0.1", "017700000001", "0177.1", "00000177.0.0.1", "0251.0376.0251.0376"],
    "short": ["127.1", "127.0.1", "10.1", "0", "0.0"],
    "mixed": ["0x7f.0.0.01", "127.0x1", "0177.0x0.1"],
    "trailing dots": ["127.0.0.1.", "2130706433.", "[::1]."],
    "names": ["localhost", "LocalHost", "localhost.", "a.b.localhost"],
    "full-width": ["１２７.０.０.１", "127。0。0。1", "１２７．１", "①②⑦.⓪.⓪.①"],
    "too large": ["127.0.0.256", "4294967296", "1.2.3.4.5", "0x1ffffffff"],
    "zones": ["[fe80::1%25lo]", "[fe80::1%lo]", "[::1%25lo]"],
    "percent": ["%31%32%37.0.0.1", "127%2e0.0.1", "127.0.0.1%00", "127.0.0.1%2eexample"],
    "userinfo": ["good.example@127.0.0.1", "good:80@127.0.0.1", "@127.0.0.1", "a@b@127.0.0.1"],
}
EACH_SPELLING = [host for group in SPELLINGS.values() for host in group]

TRICKS = [
    "http://good.example\\@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\@good.example/",
    "http://127.0.0.1:{port}#@good.example/",
    "http://127.0.0.1:{port}?@good.example/",
    "http:\\\\127.0.0.1:{port}/",
    "http:/\\127.0.0.1:{port}/",
    "\\\\127.0.0.1:{port}\\",
    "/\\127.0.0.1:{port}/",
    "//127.0.0.1:{port}/",
    "///127.0.0.1:{port}/",
    "http:///127.0.0.1:{port}/",
    "http:127.0.0.1:{port}/",
    "http:/127.0.0.1:{port}/",
    "HtTp://127.0.0.1:{port}/",
    " http://127.0.0.1:{port}/ ",
    "http://127.0.0.1:{port}",
    "http://127.0.0.1:{port}/..//../%2e%2e/",
    "http://localhost:{port}/",
    "http://[::1]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[0:0:0:0:0:ffff:7f00:1]:{port}/",
    "http://0:{port}/",
    "http://2130706433:{port}/",
    "http://inside.example:{port}/",
]
"""Whole URLs, told apart by nothing but how they are read. `inside.example` leads to 127.0.0.1."""

SCHEMES = [
    *("ftp://1.1.1.1/", "file:///etc/passwd", "file://127.0.0.1/x", "gopher://1.1.1.1:80/_x"),
    *("dict://1.1.1.1:80/", "ldap://1.1.1.1/", "ws://1.1.1.1/", "data:text/plain,x"),
    *("javascript:alert(1)", "jar:http://1.1.1.1!/", "http+unix://%2Frun%2Fx/", "unix:/run/x"),
    *(
        "about:blank",
        "view-source:http://1.1.1.1/",
        "",
        "1.1.1.1",
        "//1.1.1.1/",
        "http://",
        "http://:80/",
    ),
]
PORTS = [0, 1, 21, 22, 23, 25, 110, 445, 3306, 5432, 6379, 9200, 11211, 65535]


async def lookup(name: str) -> list[str]:
    if name == "inside.example":
        return ["127.0.0.1"]
    raise socket.gaierror(socket.EAI_NONAME, "no")


@dataclass
class Trap:
    """A hostile site, the servers it wants us to visit, and a client with all ports open."""

    site: FakeHost
    server: Listener
    fetch: Fetcher

    @property
    def port(self) -> int:
        return self.server.port


@asynccontextmanager
async def trapped() -> AsyncIterator[Trap]:
    async with FakeWeb(address=OPEN) as web, Listener(HELLO, addresses=here()) as server:
        site = web.host("hostile.example")
        rules = AddressRules(
            (ip_network(f"{OPEN}/32"),),
            frozenset({80, 443, server.port}),
            {"hostile.example": (OPEN, web.port)},
        )
        gate = LocalGate(delay_seconds=0)
        async with Fetcher(user_agent="test", rules=rules, gate=gate, lookup=lookup) as fetch:
            yield Trap(site, server, fetch)
        assert server.connections == 0


def here() -> tuple[str, ...]:
    """All that leads to this machine, without what is open."""
    return ("127.0.0.1", "127.0.0.3", "::1") if socket.has_ipv6 else ("127.0.0.1", "127.0.0.3")


def host_of(address: str) -> str:
    return f"[{address.replace('%', '%25')}]" if ":" in address else address


async def test_the_trap_would_catch_us() -> None:
    """Without the guard somebody would come: otherwise the other tests would prove nothing."""
    everywhere = (ip_network("0.0.0.0/0"), ip_network("::/0"))
    async with Listener(HELLO, addresses=here()) as server:
        rules = AddressRules(everywhere, frozenset({server.port}))
        hosts = (*map(host_of, here()), "localhost", "inside.example")
        async with Fetcher(user_agent="test", rules=rules, lookup=lookup) as fetch:
            for host in hosts:
                assert (await fetch.get(f"http://{host}:{server.port}/")).body == b"hello"

        assert server.connections == len(hosts)


# Asked for directly


async def test_no_private_address_is_fetched_however_it_is_spelled() -> None:
    async with trapped() as trap:
        for host in (*map(host_of, EACH_ADDRESS), *EACH_SPELLING):
            for url in (f"http://{host}:{trap.port}/", f"http://{host}/", f"HTTPS://{host}/"):
                with pytest.raises(FetchFailed) as failure:
                    await trap.fetch.get(url)
                assert isinstance(failure.value, Blocked), url


async def test_no_trick_leads_to_a_private_address() -> None:
    async with trapped() as trap:
        for trick in TRICKS:
            with pytest.raises(FetchFailed):
                await trap.fetch.get(trick.format(port=trap.port))


@pytest.mark.parametrize("url", SCHEMES)
async def test_nothing_but_http_is_fetched(url: str) -> None:
    async with Fetcher(user_agent="test", lookup=lookup) as fetch:
        with pytest.raises(Blocked):
            await fetch.get(url)


@pytest.mark.parametrize("port", PORTS)
async def test_only_the_ports_of_the_web_are_fetched_from(port: int) -> None:
    async with Fetcher(user_agent="test", lookup=lookup) as fetch:
        for host in ("1.1.1.1", "good.example", "[2606:4700::1111]"):
            with pytest.raises(Blocked):
                await fetch.get(f"http://{host}:{port}/")


# As the place a redirect leads to


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_leads_to_a_private_address(status: int) -> None:
    async with trapped() as trap:
        spelled = [f"http://{host}:{trap.port}/" for host in EACH_SPELLING]
        plain = [f"//{host_of(address)}:{trap.port}/" for address in EACH_ADDRESS]
        for location in (*plain, *spelled):
            trap.site.body("/", "", status=status, headers={"Location": location})
            with pytest.raises(Blocked):
                await trap.fetch.get("http://hostile.example/")


async def test_no_trick_in_a_redirect_leads_anywhere_but_back() -> None:
    async with trapped() as trap:
        for trick in TRICKS:
            trap.site.redirect("/", trick.format(port=trap.port))
            try:
                answer = await trap.fetch.get("http://hostile.example/")
            except FetchFailed:
                continue
            assert answer.final_url.startswith("http://hostile.example/"), trick


async def test_the_last_of_many_redirects_is_checked_like_the_first() -> None:
    async with trapped() as trap:
        for number in range(3):
            trap.site.redirect(f"/{number}", f"/{number + 1}")
        trap.site.redirect("/3", f"http://127.0.0.1:{trap.port}/")
        with pytest.raises(Blocked, match=r"127\.0\.0\.1 is not a public address"):
            await trap.fetch.get("http://hostile.example/0")


# As what a name leads to


@pytest.mark.parametrize("address", EACH_ADDRESS)
async def test_no_name_leads_to_a_private_address(address: str) -> None:
    async def to_it(name: str) -> list[str]:
        return [address]

    async with Fetcher(user_agent="test", lookup=to_it) as fetch:
        for scheme in ("http", "https"):
            with pytest.raises(Blocked, match=r"name\.example resolves to"):
                await fetch.get(f"{scheme}://name.example/")


@dataclass
class Pair:
    """On one port a server that may be visited and one that may not; a name leads to both."""

    good: Listener
    bad: Listener
    fetch: Fetcher

    async def get(self) -> bytes:
        return (await self.fetch.get(f"http://changing.example:{self.good.port}/")).body

    def forget_names(self) -> None:
        session = self.fetch._session
        assert session is not None
        assert isinstance(session.connector, aiohttp.TCPConnector)
        session.connector.clear_dns_cache()

    @property
    def connections(self) -> tuple[int, int]:
        return self.good.connections, self.bad.connections


@asynccontextmanager
async def paired(answers: Callable[[], list[str]]) -> AsyncIterator[Pair]:
    async def leads(name: str) -> list[str]:
        return answers()

    async with (
        Listener(HELLO, addresses=(OPEN,)) as good,
        Listener(HELLO, port=good.port) as bad,
    ):
        rules = AddressRules((ip_network(f"{OPEN}/32"),), frozenset({good.port}))
        gate = LocalGate(delay_seconds=0)
        async with Fetcher(user_agent="test", rules=rules, gate=gate, lookup=leads) as fetch:
            yield Pair(good, bad, fetch)


async def test_dns_that_changes_its_mind_is_asked_once_for_each_connection() -> None:
    """What was checked is what is connected to; nobody asks again in between."""
    asked: list[str] = []

    def changing() -> list[str]:
        asked.append("127.0.0.1" if asked else OPEN)
        return asked[-1:]

    async with paired(changing) as pair:
        assert await pair.get() == b"hello"

        assert (asked, pair.connections) == ([OPEN], (1, 0))


async def test_dns_that_has_changed_its_mind_is_checked_again() -> None:
    answers = iter([OPEN, "127.0.0.1"])
    async with paired(lambda: [next(answers)]) as pair:
        assert await pair.get() == b"hello"
        pair.forget_names()
        with pytest.raises(Blocked, match=r"changing\.example resolves to an address that is"):
            await pair.get()

        assert pair.connections == (1, 0)


@pytest.mark.parametrize("answers", [[OPEN, "127.0.0.1"], ["127.0.0.1", OPEN, "10.0.0.1"]])
async def test_of_a_name_with_several_addresses_only_the_allowed_are_tried(
    answers: list[str],
) -> None:
    async with paired(lambda: answers) as pair:
        assert await pair.get() == b"hello"

        assert pair.connections == (1, 0)


async def test_an_allowed_address_that_fails_does_not_make_way_for_another() -> None:
    async with paired(lambda: [OPEN, "127.0.0.1"]) as pair:
        await pair.good.__aexit__()
        with pytest.raises(ConnectionFailed):
            await pair.get()

        assert pair.connections == (0, 0)


# As what a site names


def in_index(site: FakeHost, url: str) -> None:
    escaped = url.replace("&", "&amp;").replace("<", "&lt;")
    site.robots("Sitemap: /i.xml").xml("/i.xml", index(escaped))


def in_robots(site: FakeHost, url: str) -> None:
    site.robots(f"Sitemap: {url}")


def in_head(site: FakeHost, url: str) -> None:
    site.page("/", f"<link rel=sitemap href='{url}'><a href='{url}sitemap.xml'>map</a>")


def in_header(site: FakeHost, url: str) -> None:
    site.page("/", "hello", headers={"Link": f"<{url}>; rel=sitemap"})


def in_redirected_child(site: FakeHost, url: str) -> None:
    site.robots("Sitemap: /i.xml").xml("/i.xml", index("http://hostile.example/child.xml"))
    site.redirect("/child.xml", url)


def in_redirected_robots(site: FakeHost, url: str) -> None:
    site.redirect("/robots.txt", url)


WAYS = [in_index, in_robots, in_head, in_header, in_redirected_child, in_redirected_robots]


@pytest.mark.parametrize("name_it", WAYS)
async def test_nothing_that_a_site_names_leads_to_a_private_address(
    name_it: Callable[[FakeHost, str], None],
) -> None:
    async with trapped() as trap:
        plain = [f"http://{host_of(each)}:{trap.port}/" for each in EACH_ADDRESS[::3]]
        spelled = [f"http://{host}:{trap.port}/" for host in EACH_SPELLING[::2] if host.isascii()]
        for url in (*plain, *spelled, *(trick.format(port=trap.port) for trick in TRICKS)):
            trap.site.routes.clear()
            name_it(trap.site, url)
            async for event in SitemapAnalyzer(trap.fetch).analyze_domain_sitemaps(
                "http://hostile.example"
            ):
                if isinstance(event, SitemapDone) and "/i.xml" not in event.url:
                    assert event.status is SitemapStatus.ERROR


# Whatever may come


URL_SOUP = st.text(alphabet="htp:/\\@[]%.0127fxX#?&=-_ \t\n１。٣é", max_size=40)


@given(st.one_of(st.text(max_size=60), URL_SOUP.map(lambda text: f"http://{text}"), URL_SOUP))
def test_no_text_breaks_the_check_of_a_url(url: str) -> None:
    try:
        check_url(url, AddressRules())
    except Blocked:
        return

    assert url.lower().lstrip().startswith(("http:", "https:"))
