"""Fetch over HTTP within limits of time, size and place, politely."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from scrapersky.scraper.addresses import AddressRules
from scrapersky.scraper.body import Body
from scrapersky.scraper.deadline import Deadline
from scrapersky.scraper.failures import (
    Blocked,
    DoesNotResolve,
    FetchFailed,
    HostClosed,
    TooManyRedirects,
)
from scrapersky.scraper.fetch_ends import TellEnd, telling_end
from scrapersky.scraper.guard import Lookup, check_url, guarded_connector
from scrapersky.scraper.limits import FetchLimits
from scrapersky.scraper.politeness import Gate, HostOutcome, LocalGate, parse_retry_after
from scrapersky.scraper.responses import Redirect, Response, StreamedResponse
from scrapersky.scraper.translation import error_kind, translated
from scrapersky.scraper.urls import clean_url
from scrapersky.settings import Settings

CONNECT_SECONDS = 10.0
"""A host that has not taken the connection by then is not going to."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NOT_THE_HOSTS_DOING = (Blocked, HostClosed, DoesNotResolve)


@dataclass(frozen=True)
class Asked:
    """A request to a service, with the document it is asked with."""

    body: bytes | None


class Fetcher:
    """A client for the open web, to be used in an `async with`."""

    def __init__(
        self,
        *,
        user_agent: str,
        rules: AddressRules | None = None,
        limits: FetchLimits | None = None,
        gate: Gate | None = None,
        ca_file: Path | None = None,
        lookup: Lookup | None = None,
        tell_end: TellEnd = lambda _: None,
    ) -> None:
        self.rules = rules or AddressRules()
        self.limits = limits or FetchLimits()
        self.user_agent = user_agent
        self._gate = gate or LocalGate()
        self._ca_file = ca_file
        self._lookup = lookup
        self._tell_end = tell_end
        self._session: aiohttp.ClientSession | None = None
        self._asking: aiohttp.ClientSession | None = None
        """For services; see `ask`."""

    @classmethod
    def from_settings(
        cls, settings: Settings, gate: Gate | None = None, tell_end: TellEnd = lambda _: None
    ) -> Fetcher:
        return cls(
            user_agent=settings.fetch_user_agent,
            rules=AddressRules.from_settings(settings),
            limits=FetchLimits.from_settings(settings),
            gate=gate
            or LocalGate(
                concurrency=settings.host_concurrency,
                delay_seconds=settings.host_delay_ms / 1000,
            ),
            ca_file=settings.fetch_ca_file,
            tell_end=tell_end,
        )

    async def __aenter__(self) -> Self:
        # Reading the system's authorities takes too long to do it in between.
        tls = await asyncio.to_thread(self._tls)
        connector = guarded_connector(self.rules, lookup=self._lookup, ssl=tls)
        self._session, self._asking = self._client(connector), self._client(connector)
        # A request that costs money is sent once: the client would repeat one whose connection
        # broke, and tell nobody.
        self._asking._retry_connection = False
        return self

    def _client(self, connector: aiohttp.BaseConnector) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=connector,
            headers={
                "User-Agent": self.user_agent,
                "Accept": "*/*",
                "Accept-Encoding": "gzip",
            },
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        )

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for each in (self._session, self._asking):
            if each is not None:
                await each.close()
        self._session = self._asking = None

    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if self._ca_file is not None:
            context.load_verify_locations(cafile=self._ca_file)
        return context

    async def set_crawl_delay(self, url: str, seconds: float) -> None:
        """Tell the gate what the robots.txt of the URL's host asks for."""
        await self._gate.set_crawl_delay(gate_key(url), seconds)

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
        etag: str | None = None,
        last_modified: str | None = None,
    ) -> Response:
        """Fetch something small; the body is held whole."""
        started = perf_counter()
        async with self.stream(
            url, headers=headers, max_bytes=max_bytes, etag=etag, last_modified=last_modified
        ) as answer:
            body = b"".join([piece async for piece in answer.chunks()])
        return _held_whole(answer, body, started)

    async def ask(
        self,
        url: str,
        body: bytes | None = None,
        *,
        headers: Mapping[str, str],
        max_bytes: int | None = None,
    ) -> Response:
        """One request to a service, a POST where there is a body. A redirect is an answer and not
        followed: a key in the headers goes nowhere else."""
        started = perf_counter()
        deadline = Deadline(self.limits.timeout_seconds)
        async with AsyncExitStack() as stack:
            answered = stack.enter_context(telling_end(self._tell_end))
            read = await stack.enter_async_context(self._hop(url, headers, deadline, Asked(body)))
            answered(read)
            read.max_bytes = max_bytes or self.limits.max_bytes
            answer = StreamedResponse(url, body=read, elapsed_ms=_ms_since(started), redirects=())
            whole = b"".join([piece async for piece in answer.chunks()])
        return _held_whole(answer, whole, started)

    @asynccontextmanager
    async def stream(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
        etag: str | None = None,
        last_modified: str | None = None,
    ) -> AsyncIterator[StreamedResponse]:
        """Fetch something large; the body comes in pieces and the connection is held meanwhile."""
        started = perf_counter()
        deadline = Deadline(self.limits.timeout_seconds)
        sent = {**(headers or {}), **_conditions(etag, last_modified)}
        async with AsyncExitStack() as stack:
            answered = stack.enter_context(telling_end(self._tell_end))
            body, redirects = await self._follow(url, sent, deadline, stack)
            answered(body)
            body.max_bytes = max_bytes or self.limits.max_bytes
            yield StreamedResponse(
                url, body=body, elapsed_ms=_ms_since(started), redirects=redirects
            )

    async def _follow(
        self, url: str, headers: Mapping[str, str], deadline: Deadline, stack: AsyncExitStack
    ) -> tuple[Body, tuple[Redirect, ...]]:
        """Go from hop to hop; the last one's connection and place at the gate stay on `stack`."""
        redirects: list[Redirect] = []
        while True:
            async with AsyncExitStack() as hop:
                body = await hop.enter_async_context(self._hop(url, headers, deadline))
                target = _location(body.answer, url)
                if target is None:
                    await stack.enter_async_context(hop.pop_all())
                    return body, tuple(redirects)
            redirects.append(Redirect(body.answer.status, url, target))
            self._check_chain(redirects)
            url = target

    def _check_chain(self, redirects: list[Redirect]) -> None:
        first, target = redirects[0].url, redirects[-1].location
        if target in {each.url for each in redirects}:
            raise TooManyRedirects(f"{first} redirects in a circle.", url=first)
        if len(redirects) > self.limits.max_redirects:
            raise TooManyRedirects(
                f"{first} redirects more than {self.limits.max_redirects} times.", url=first
            )

    @asynccontextmanager
    async def _hop(
        self,
        url: str,
        headers: Mapping[str, str],
        deadline: Deadline,
        asked: Asked | None = None,
    ) -> AsyncIterator[Body]:
        """One request, from its place at the gate to the report on how it went."""
        check_url(url, self.rules)
        host = gate_key(url)
        exempt = self.rules.is_exempt(urlsplit(url).hostname or "")
        async with self._gate.slot(host, exempt=exempt):
            try:
                answer = await self._send(url, headers, deadline, asked)
            except FetchFailed as error:
                if not isinstance(error, _NOT_THE_HOSTS_DOING):
                    await self._gate.report(host, HostOutcome(error=error_kind(error)))
                raise
            body = Body(answer, deadline=deadline, limits=self.limits)
            try:
                yield body
            finally:
                body.let_go()
            await self._gate.report(host, _outcome(body))

    async def _send(
        self, url: str, headers: Mapping[str, str], deadline: Deadline, asked: Asked | None
    ) -> aiohttp.ClientResponse:
        client = self._session if asked is None else self._asking
        assert client is not None, "a Fetcher is used inside `async with`"
        body = asked.body if asked is not None else None
        method = "GET" if body is None else "POST"
        try:
            request = client.request(
                method, URL(url), data=body, headers=headers, allow_redirects=False
            )
            return await deadline.run(request)
        except Exception as error:
            raise translated(error, url, seconds=deadline.seconds) from error


def _held_whole(answer: StreamedResponse, body: bytes, started: float) -> Response:
    return Response(
        url=answer.url,
        final_url=answer.final_url,
        status=answer.status,
        headers=answer.headers,
        body=body,
        truncated=answer.truncated,
        elapsed_ms=_ms_since(started),
        redirects=answer.redirects,
        network_bytes=answer.network_bytes,
        digest=answer.digest,
    )


def gate_key(url: str) -> str:
    """The host as the gate knows it: lower case, with its port unless that is the default."""
    return (URL(url).host_port_subcomponent or "").lower()


def _ms_since(started: float) -> int:
    return round((perf_counter() - started) * 1000)


def _conditions(etag: str | None, last_modified: str | None) -> dict[str, str]:
    headers = {}
    if etag:
        headers["If-None-Match"] = etag
    if last_modified:
        headers["If-Modified-Since"] = last_modified
    return headers


def _location(answer: aiohttp.ClientResponse, url: str) -> str | None:
    """Where a redirect leads; None when the answer is none, and is to be read itself."""
    given = answer.headers.get("Location", "").strip()
    if answer.status not in _REDIRECTS or not given:
        return None
    # Headers are bytes; those that are not UTF-8 are what browsers take for Latin-1.
    text = given.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if "\ufffd" in text:
        text = given.encode("utf-8", "surrogateescape").decode("latin-1")
    target = clean_url(text, url)
    if target is None:
        raise Blocked(f"{url} redirects to {text[:100]!r}, which is not an http address.", url=url)
    return target


def _outcome(body: Body) -> HostOutcome:
    return HostOutcome(
        status=body.answer.status,
        error=body.error,
        retry_after_seconds=parse_retry_after(body.answer.headers.get("Retry-After")),
    )
