"""A real web server on loopback that behaves as oddly as the web does.

async with FakeWeb() as web:
    bakery = web.host("bakery.example")
    bakery.xml("/sitemap.xml", urlset("http://bakery.example/"))
    async with Fetcher.from_settings(web.settings()) as fetch:
        ...
"""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any, Self

import trustme
from aiohttp import web as aiohttp_web

from scrapersky.settings import Settings, SettingsSource, load_settings

Handler = Callable[[aiohttp_web.BaseRequest], Awaitable[aiohttp_web.StreamResponse]]

XML = "application/xml"
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
HTML_404 = "<!DOCTYPE html><html><head><title>Oops</title></head><body>Not here</body></html>"


def urlset(*locs: str, lastmod: str | None = None) -> str:
    """A sitemap of these pages."""
    date = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    records = "\n".join(f"<url><loc>{loc}</loc>{date}</url>" for loc in locs)
    return f'<?xml version="1.0"?>\n<urlset xmlns="{NAMESPACE}">\n{records}\n</urlset>\n'


def index(*locs: str) -> str:
    """A sitemap index of these children."""
    records = "\n".join(f"<sitemap><loc>{loc}</loc></sitemap>" for loc in locs)
    return f'<sitemapindex xmlns="{NAMESPACE}">\n{records}\n</sitemapindex>\n'


Certificate = Callable[[trustme.CA], trustme.LeafCert]
"""What a server shows, signed by its authority or not."""


def good_certificate(authority: trustme.CA) -> trustme.LeafCert:
    return authority.issue_cert("*.example", "bakery.example")


def expired_certificate(authority: trustme.CA) -> trustme.LeafCert:
    then = datetime(2020, 1, 1, tzinfo=UTC)
    return authority.issue_cert(
        "bakery.example", not_before=then, not_after=then + timedelta(days=90)
    )


def foreign_certificate(authority: trustme.CA) -> trustme.LeafCert:
    """For another name."""
    return authority.issue_cert("butcher.example")


def unsigned_certificate(authority: trustme.CA) -> trustme.LeafCert:
    """By an authority that nobody knows."""
    return trustme.CA().issue_cert("bakery.example")


@dataclass(frozen=True)
class Seen:
    """One request as the server saw it."""

    host: str
    path: str
    at: float
    headers: Mapping[str, str]
    method: str = "GET"


@dataclass
class FakeHost:
    """One name of the fake web and what it answers on its paths."""

    name: str
    base: str
    """`http://name`, as a client that has the name pinned would ask for it."""
    routes: dict[str, Handler] = field(default_factory=dict)
    otherwise: Handler | None = None
    seen: list[Seen] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0

    # What it answers

    def route(self, path: str, handler: Handler) -> Self:
        self.routes[path] = handler
        return self

    def body(
        self,
        path: str,
        body: str | bytes,
        content_type: str = "text/plain",
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        data = body.encode() if isinstance(body, str) else body
        sent = {"Content-Type": content_type, **(headers or {})}

        async def answer(request: aiohttp_web.BaseRequest) -> aiohttp_web.StreamResponse:
            return aiohttp_web.Response(body=data, status=status, headers=sent)

        return self.route(path, answer)

    def robots(self, text: str) -> Self:
        return self.body("/robots.txt", text)

    def page(self, path: str, html: str, **more: Any) -> Self:
        return self.body(path, html, "text/html", **more)

    def xml(self, path: str, body: str | bytes, **more: Any) -> Self:
        return self.body(path, body, XML, **more)

    def gz(self, path: str, body: str | bytes, content_type: str = "application/gzip") -> Self:
        """A compressed file, sent without any content encoding."""
        data = body.encode() if isinstance(body, str) else body
        return self.body(path, gzip.compress(data), content_type)

    def encoded(self, path: str, body: str, content_type: str = XML) -> Self:
        """A document compressed on its way."""
        data = gzip.compress(body.encode())
        return self.body(path, data, content_type, headers={"Content-Encoding": "gzip"})

    def redirect(self, path: str, location: str, status: int = 301) -> Self:
        return self.body(path, "", status=status, headers={"Location": location})

    def too_many(self, path: str, *, retry_after: str) -> Self:
        return self.body(path, "slow down", status=429, headers={"Retry-After": retry_after})

    def conditional(self, path: str, body: str, *, etag: str) -> Self:
        """Answers 304 to who already has it."""

        async def answer(request: aiohttp_web.BaseRequest) -> aiohttp_web.StreamResponse:
            if request.headers.get("If-None-Match") == etag:
                return aiohttp_web.Response(status=304, headers={"ETag": etag})
            return aiohttp_web.Response(text=body, headers={"ETag": etag})

        return self.route(path, answer)

    def drip(self, path: str, body: bytes, *, every_seconds: float, size: int = 1) -> Self:
        """Sends the body so slowly that it never seems to end."""

        async def answer(request: aiohttp_web.BaseRequest) -> aiohttp_web.StreamResponse:
            response = aiohttp_web.StreamResponse(headers={"Content-Type": XML})
            await response.prepare(request)
            for start in range(0, len(body), size):
                await response.write(body[start : start + size])
                await asyncio.sleep(every_seconds)
            return response

        return self.route(path, answer)

    def hang(self, path: str) -> Self:
        """Takes the request and says nothing."""

        async def answer(request: aiohttp_web.BaseRequest) -> aiohttp_web.StreamResponse:
            await asyncio.sleep(3600)
            raise AssertionError("nobody waits that long")

        return self.route(path, answer)

    def huge(self, path: str, piece: bytes, times: int, **headers: str) -> Self:
        """Sends the piece again and again."""

        async def answer(request: aiohttp_web.BaseRequest) -> aiohttp_web.StreamResponse:
            response = aiohttp_web.StreamResponse(headers=headers)
            await response.prepare(request)
            for _ in range(times):
                await response.write(piece)
            return response

        return self.route(path, answer)

    def breaks_off(self, path: str, body: bytes, *, promised: int) -> Self:
        """Promises more than it sends, then closes the connection."""

        async def answer(request: aiohttp_web.BaseRequest) -> aiohttp_web.StreamResponse:
            response = aiohttp_web.StreamResponse(headers={"Content-Length": str(promised)})
            await response.prepare(request)
            await response.write(body)
            _close(request)
            return response

        return self.route(path, answer)

    def closes(self, path: str) -> Self:
        """Closes the connection without an answer."""

        async def answer(request: aiohttp_web.BaseRequest) -> aiohttp_web.StreamResponse:
            _close(request)
            return aiohttp_web.Response()

        return self.route(path, answer)

    def soft_404(self, html: str = HTML_404) -> Self:
        """Answers everything unknown with a page and status 200."""
        self.page("*", html)
        self.otherwise = self.routes.pop("*")
        return self

    def always(self, status: int, **headers: str) -> Self:
        """Answers everything unknown with this status."""
        self.body("*", "", status=status, headers=headers)
        self.otherwise = self.routes.pop("*")
        return self

    # What it was asked

    @property
    def paths(self) -> list[str]:
        """The paths asked for, in order."""
        return [each.path for each in self.seen]

    def count(self, path: str) -> int:
        return Counter(self.paths)[path]

    async def answer(self, request: aiohttp_web.BaseRequest) -> aiohttp_web.StreamResponse:
        headers = dict(request.headers)
        self.seen.append(Seen(self.name, request.path_qs, monotonic(), headers, request.method))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            handler = self.routes.get(request.path_qs) or self.otherwise
            return await handler(request) if handler else aiohttp_web.Response(status=404)
        finally:
            self.in_flight -= 1


def _close(request: aiohttp_web.BaseRequest) -> None:
    if request.transport is not None:
        request.transport.close()


class FakeWeb:
    """Many hosts on one port, told apart by the name they are asked for."""

    def __init__(
        self,
        *,
        tls: bool = False,
        certificate: Certificate | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        self.hosts: dict[str, FakeHost] = {}
        self.address = address
        self._authority = trustme.CA() if tls or certificate else None
        self._certificate = certificate or good_certificate
        self._runner: aiohttp_web.ServerRunner | None = None
        self.port = 0

    async def __aenter__(self) -> Self:
        server = aiohttp_web.Server(self._answer, access_log=None)
        self._runner = aiohttp_web.ServerRunner(server, shutdown_timeout=0.1)
        await self._runner.setup()
        site = aiohttp_web.TCPSite(self._runner, self.address, 0, ssl_context=self._tls())
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    def _tls(self) -> ssl.SSLContext | None:
        if self._authority is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._certificate(self._authority).configure_cert(context)
        return context

    def ca_file(self, folder: Path) -> Path:
        """A PEM file with which a client trusts this server."""
        assert self._authority is not None
        path = folder / "authority.pem"
        self._authority.cert_pem.write_to_path(str(path))
        return path

    def host(self, name: str) -> FakeHost:
        scheme = "https" if self._authority else "http"
        return self.hosts.setdefault(name, FakeHost(name, f"{scheme}://{name}"))

    async def _answer(self, request: aiohttp_web.BaseRequest) -> aiohttp_web.StreamResponse:
        name = request.host.partition(":")[0]
        host = self.hosts.get(name) or self.hosts.get("*")
        return await host.answer(request) if host else aiohttp_web.Response(status=421)

    @property
    def resolve(self) -> str:
        """For FETCH_RESOLVE: every host so far leads here."""
        names = (name for name in self.hosts if name != "*")
        return ",".join(f"{name}={self.address}:{self.port}" for name in names)

    @property
    def environ(self) -> dict[str, str]:
        """For a process of its own that is to see this web."""
        networks = "127.0.0.0/8" if self.address == "127.0.0.1" else f"{self.address}/32"
        settings = ("FETCH_ALLOW_NETWORKS", "PROVIDER_ALLOW_NETWORKS", "WEBHOOK_ALLOW_NETWORKS")
        return {**dict.fromkeys(settings, networks), "FETCH_RESOLVE": self.resolve}

    def settings(self, **extra: Any) -> Settings:
        """Settings with which these hosts, and nothing else private, can be fetched."""
        source = SettingsSource(environ=self.environ, env_file=None)
        return load_settings(source, **{"fetch_timeout_seconds": 5, **extra})

    @property
    def seen(self) -> list[Seen]:
        """All requests to all hosts, in order."""
        every: Iterable[Seen] = (each for host in self.hosts.values() for each in host.seen)
        return sorted(every, key=lambda each: each.at)

    def per_host(self) -> dict[str, list[Seen]]:
        found: defaultdict[str, list[Seen]] = defaultdict(list)
        for each in self.seen:
            found[each.host].append(each)
        return dict(found)
