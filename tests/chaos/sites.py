"""Sites that are slow, sometimes fail, and count concurrent requests."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from aiohttp import web as aiohttp_web

from tests.fake_web import FakeHost, FakeWeb, index, urlset

CHILDREN, PAGES = 4, 50
URLS = CHILDREN * PAGES
"""That each site lists."""
HOST_LIMIT = 2
"""Requests to one host at once that the workers are allowed, all together."""
SETTLED_SECONDS = 0.03
"""After this it is known here that a client is gone whose place another has taken."""
DRIP_SECONDS = 10.0
"""Between two bytes of a site that is a tar pit."""
FAULTS = 0.08
"""The share of requests that go wrong while there is mischief."""

Answer = Callable[[aiohttp_web.BaseRequest], Awaitable[aiohttp_web.StreamResponse]]


@dataclass
class Site:
    """One site, and when it had too many requests under way from clients that were still there."""

    host: FakeHost
    rng: random.Random
    faulty: Callable[[], bool]
    crowded: list[str] = field(default_factory=list)
    """Each moment at which it was asked by more at once than it allows, and by whom."""
    asked: int = 0
    pit: asyncio.Event | None = None
    """While there is one the site drips, until the event is set."""
    hold: asyncio.Event | None = None
    """While there is one, requests for child sitemaps wait for it."""
    _open: list[aiohttp_web.BaseRequest] = field(default_factory=list)

    def build(self) -> None:
        base = self.host.base
        self.route("/robots.txt", f"Sitemap: {base}/index.xml\n", "text/plain")
        self.route("/index.xml", index(*(f"{base}/{child}.xml" for child in range(CHILDREN))))
        for child in range(CHILDREN):
            pages = urlset(*(f"{base}/{child}/{page}" for page in range(PAGES)))
            self.route(f"/{child}.xml", pages)

    def route(self, path: str, body: str, kind: str = "application/xml") -> None:
        async def answer(request: aiohttp_web.BaseRequest) -> aiohttp_web.StreamResponse:
            pit, hold = self.pit, self.hold if path.removesuffix(".xml")[1:].isdigit() else None
            with self._under_way(request):
                await asyncio.sleep(SETTLED_SECONDS)
                self.count()
                if pit is not None:
                    return await _drip(request, body, kind, pit)
                await asyncio.sleep(self.rng.uniform(0.05, 0.8))
                if hold is not None:
                    await hold.wait()
            if self.faulty() and self.rng.random() < FAULTS:
                return self._fault(request, body)
            return aiohttp_web.Response(text=body, content_type=kind)

        self.host.route(path, answer)

    def _under_way(self, request: aiohttp_web.BaseRequest) -> _UnderWay:
        return _UnderWay(self, request)

    def count(self) -> None:
        """A client that was killed waits for nothing any more, though the answer is still made."""
        there = self.get_open_requests()
        if len(there) > HOST_LIMIT:
            asked = ", ".join(f"{each.path} from port {_port(each)}" for each in there)
            self.crowded.append(f"{datetime.now(UTC):%H:%M:%S.%f} {asked}")

    def get_open_requests(self) -> list[aiohttp_web.BaseRequest]:
        return [each for each in self._open if each.transport is not None]

    def _fault(self, request: aiohttp_web.BaseRequest, body: str) -> aiohttp_web.StreamResponse:
        kind = self.rng.randrange(3)
        if kind == 0:
            return aiohttp_web.Response(status=500, text="oops")
        if kind == 1:
            return aiohttp_web.Response(status=503, headers={"Retry-After": "1"})
        if request.transport is not None:
            request.transport.close()
        return aiohttp_web.Response()


async def _drip(
    request: aiohttp_web.BaseRequest, body: str, kind: str, pit: asyncio.Event
) -> aiohttp_web.StreamResponse:
    """Send a byte now and then, and the rest as soon as the pit is healed."""
    data = body.encode()
    response = aiohttp_web.StreamResponse(
        headers={"Content-Type": kind, "Content-Length": str(len(data))}
    )
    await response.prepare(request)
    sent = 0
    while not pit.is_set() and sent < len(data) - 1:
        await response.write(data[sent : sent + 1])
        sent += 1
        with suppress(TimeoutError):
            await asyncio.wait_for(pit.wait(), DRIP_SECONDS)
    with suppress(ConnectionError):  # nobody waits that long
        await response.write(data[sent:])
    return response


def _port(request: aiohttp_web.BaseRequest) -> int:
    assert request.transport is not None
    return int(request.transport.get_extra_info("peername")[1])


class _UnderWay:
    def __init__(self, site: Site, request: aiohttp_web.BaseRequest) -> None:
        self._site, self._request = site, request

    def __enter__(self) -> None:
        self._site.asked += 1
        self._site._open.append(self._request)

    def __exit__(self, *_: object) -> None:
        self._site._open.remove(self._request)


def build_sites(
    web: FakeWeb, count: int, rng: random.Random, *, faulty: Callable[[], bool]
) -> list[Site]:
    sites = [Site(web.host(f"site{number}.example"), rng, faulty) for number in range(count)]
    for each in sites:
        each.build()
    return sites
