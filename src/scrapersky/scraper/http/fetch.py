"""HTTP client with limits on time, size and address, rate-limited per host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from scrapersky.scraper.http import fetch_errors, fetch_outcomes, guard, rate_limit
from scrapersky.scraper.http.addresses import AddressRules
from scrapersky.scraper.http.descriptors import SocketCounter, get_request_budget
from scrapersky.scraper.http.limits import (
    MAX_ROBOTS_BYTES,
    Deadline,
    FetchLimits,
    notify_answer,
    observe_wait,
)
from scrapersky.scraper.http.responses import Redirect, RedirectCheck, Response, StreamedResponse
from scrapersky.scraper.http.urls import clean_url
from scrapersky.settings import Settings

CONNECT_TIMEOUT_SECONDS = 10.0
"""Hosts that have not accepted a connection by then rarely do so later."""
_REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
_ERRORS_NOT_CAUSED_BY_HOST = (
    fetch_errors.Blocked,
    fetch_errors.HostClosed,
    fetch_errors.DoesNotResolve,
)


@dataclass(frozen=True)
class ServiceRequest:
    """Request to a service instead of a crawled site."""

    body: bytes | None
    to_provider: bool = False


_slot: ContextVar[rate_limit.Slot | None] = ContextVar("slot", default=None)
"""Slot under which the current task sends its request."""


class _SlotCheckedRequest(aiohttp.ClientRequest):
    """Request that checks, once connected, that its rate limit slot is still valid.

    DNS lookup and connecting happen after the slot was acquired, and the process may be suspended
    in the meantime. After the check nothing is awaited before the write: a request without a body
    is written in a single call. A process suspended within these microseconds still sends when it
    resumes. No client can rule that out, because hosts do not know our slots.
    """

    async def send(self, conn: Any) -> aiohttp.ClientResponse:
        slot = _slot.get()
        if slot is not None:
            slot.check()
        return await super().send(conn)


class Fetcher:
    """HTTP client for the public web, used as an async context manager."""

    def __init__(
        self,
        *,
        user_agent: str,
        rules: AddressRules | None = None,
        provider_rules: AddressRules | None = None,
        limits: FetchLimits | None = None,
        gate: rate_limit.Gate | None = None,
        ca_file: Path | None = None,
        lookup: guard.HostLookup | None = None,
        tell_end: fetch_outcomes.FetchOutcomeCallback = lambda _: None,
    ) -> None:
        self.rules = rules or AddressRules()
        self.provider_rules = provider_rules or self.rules
        """Rules for place providers. They default to the rules for sites."""
        self.limits = limits or FetchLimits()
        self.user_agent = user_agent
        self._gate = gate or rate_limit.LocalGate()
        self._ca_file = ca_file
        self._lookup = lookup
        self._tell_end = tell_end
        self.request_budget = get_request_budget()
        """Maximum number of concurrent requests, which leaves descriptors for everything else."""
        self._permits = asyncio.Semaphore(self.request_budget)
        self._sockets = SocketCounter(keep=self.request_budget)
        self._session: aiohttp.ClientSession | None = None
        self._asking: aiohttp.ClientSession | None = None
        """Session for services; see `ask`."""
        self._asking_providers: aiohttp.ClientSession | None = None

    @classmethod
    def from_settings(
        cls,
        settings: Settings,
        gate: rate_limit.Gate | None = None,
        tell_end: fetch_outcomes.FetchOutcomeCallback = lambda _: None,
    ) -> Fetcher:
        return cls(
            user_agent=settings.fetch_user_agent,
            rules=AddressRules.from_settings(settings),
            provider_rules=AddressRules.from_provider_settings(settings),
            limits=FetchLimits.from_settings(settings),
            gate=gate
            or rate_limit.LocalGate(
                concurrency=settings.host_concurrency,
                delay_seconds=settings.host_delay_ms / 1000,
            ),
            ca_file=settings.fetch_ca_file,
            tell_end=tell_end,
        )

    async def __aenter__(self) -> Self:
        # Loading the system's CA certificates blocks for too long to do it in the event loop.
        tls = await asyncio.to_thread(guard.create_tls_context, self._ca_file)
        # Requests wait for `self._permits` before their deadline starts. If they waited in the
        # connector, the wait would count against the host's timeout.
        connector = guard.create_guarded_connector(
            self.rules, lookup=self._lookup, sockets=self._sockets, ssl=tls, limit=0
        )
        self._session = self._create_session(connector)
        self._asking = self._create_session(connector)
        to_providers = guard.create_guarded_connector(
            self.provider_rules, lookup=self._lookup, sockets=self._sockets, ssl=tls, limit=0
        )
        self._asking_providers = self._create_session(to_providers)
        # A request that costs money must be sent only once. By default aiohttp silently resends a
        # request whose connection broke.
        self._asking._retry_connection = self._asking_providers._retry_connection = False
        return self

    def _create_session(self, connector: aiohttp.BaseConnector) -> aiohttp.ClientSession:
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
            request_class=_SlotCheckedRequest,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_SECONDS),
        )

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for each in (self._session, self._asking, self._asking_providers):
            if each is not None:
                await each.close()
        self._session = self._asking = self._asking_providers = None

    async def set_crawl_delay(self, url: str, seconds: float) -> None:
        """Set the crawl delay of the URL's host, as requested by its robots.txt."""
        seconds = min(seconds, rate_limit.MAX_CRAWL_DELAY_SECONDS)
        await self._gate.set_crawl_delay(get_gate_key(url), seconds)

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
        etag: str | None = None,
        last_modified: str | None = None,
    ) -> Response:
        """Fetch a small resource and return its whole body.

        Raises `TimedOut` if the body arrives below the minimum rate.
        """
        started = perf_counter()
        async with self.stream(
            url, headers=headers, max_bytes=max_bytes, etag=etag, last_modified=last_modified
        ) as answer:
            body = b"".join([piece async for piece in answer.chunks()])
        if answer.too_slow:
            raise _build_timeout_error(answer)
        return _build_response(answer, body, started)

    async def get_robots(
        self,
        url: str,
        *,
        etag: str | None = None,
        last_modified: str | None = None,
        has_fallback: bool = False,
    ) -> Response:
        """Fetch a robots.txt within its own, shorter timeout.

        A partial robots.txt is useless, so a timeout raises `TimedOut` instead of truncating the
        body. `has_fallback` says that another scheme is tried if this fails.
        """
        started = perf_counter()
        deadline = Deadline(self.limits.robots_timeout_seconds)
        conditions = _build_conditional_headers(etag, last_modified)
        stream = self._stream(
            url, conditions, deadline, MAX_ROBOTS_BYTES, has_fallback=has_fallback
        )
        async with stream as answer:
            body = b"".join([piece async for piece in answer.chunks()])
        if answer.timed_out:
            raise _build_timeout_error(answer)
        return _build_response(answer, body, started)

    async def ask(
        self,
        url: str,
        body: bytes | None = None,
        *,
        headers: Mapping[str, str],
        max_bytes: int | None = None,
        to_provider: bool = False,
    ) -> Response:
        """Send one request to a service: a POST if there is a body, otherwise a GET.

        Redirects are returned, not followed, so that API keys in the headers are never sent
        elsewhere. With `to_provider`, the URL comes from the settings and `provider_rules` apply.
        """
        started = perf_counter()
        deadline, service_request = (
            Deadline(self.limits.timeout_seconds),
            ServiceRequest(body, to_provider),
        )
        async with AsyncExitStack() as stack:
            answered = stack.enter_context(fetch_outcomes.report_fetch_outcome(self._tell_end))
            answer = await stack.enter_async_context(
                self._request(url, headers, deadline, service_request)
            )
            answered(answer)
            answer.max_bytes = max_bytes or self.limits.max_bytes
            whole = b"".join([piece async for piece in answer.chunks()])
        return _build_response(answer, whole, started)

    @asynccontextmanager
    async def stream(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
        etag: str | None = None,
        last_modified: str | None = None,
        check_redirect: RedirectCheck | None = None,
    ) -> AsyncIterator[StreamedResponse]:
        """Fetch a large resource as a stream. The connection is held until the context exits."""
        deadline = Deadline(self.limits.timeout_seconds)
        sent = {**(headers or {}), **_build_conditional_headers(etag, last_modified)}
        async with self._stream(url, sent, deadline, max_bytes, check_redirect) as answer:
            yield answer

    @asynccontextmanager
    async def _stream(
        self,
        url: str,
        headers: Mapping[str, str],
        deadline: Deadline,
        max_bytes: int | None,
        check_redirect: RedirectCheck | None = None,
        *,
        has_fallback: bool = False,
    ) -> AsyncIterator[StreamedResponse]:
        started = perf_counter()
        async with AsyncExitStack() as stack:
            answered = stack.enter_context(fetch_outcomes.report_fetch_outcome(self._tell_end))
            answer = await self._follow_redirects(
                url, headers, deadline, stack, check_redirect, has_fallback=has_fallback
            )
            answered(answer)
            answer.max_bytes = max_bytes or self.limits.max_bytes
            answer.elapsed_ms = _get_elapsed_ms(started)
            yield answer

    async def _follow_redirects(
        self,
        url: str,
        headers: Mapping[str, str],
        deadline: Deadline,
        stack: AsyncExitStack,
        check_redirect: RedirectCheck | None,
        *,
        has_fallback: bool,
    ) -> StreamedResponse:
        """Follow redirects. The connection and the gate slot of the last hop stay on `stack`."""
        first, redirects = url, list[Redirect]()
        while True:
            async with AsyncExitStack() as hop:
                # A redirect may lead anywhere; the fallback is only for where we began.
                tentative = has_fallback and not redirects
                pending = self._request(url, headers, deadline, tentative=tentative)
                answer = await hop.enter_async_context(pending)
                target = _get_redirect_target(answer)
                if target is None:
                    await stack.enter_async_context(hop.pop_all())
                    answer.url, answer.redirects = first, tuple(redirects)
                    return answer
            redirects.append(Redirect(answer.status, url, target))
            if target in {each.url for each in redirects}:
                raise fetch_errors.TooManyRedirects(f"{first} redirects in a loop.", url=first)
            if len(redirects) > self.limits.max_redirects:
                raise fetch_errors.TooManyRedirects(
                    f"{first} redirects more than {self.limits.max_redirects} times.", url=first
                )
            if check_redirect is not None:
                check_redirect(target)
            url = target

    @asynccontextmanager
    async def _request(
        self,
        url: str,
        headers: Mapping[str, str],
        deadline: Deadline,
        service_request: ServiceRequest | None = None,
        *,
        tentative: bool = False,
    ) -> AsyncIterator[StreamedResponse]:
        """Send one request: check the URL, acquire a slot, send, and report the outcome to the
        gate.

        If it is tentative, a refused connection or a failed handshake is not reported. A host that
        speaks only http fails every time over https; counted against it, that would reopen its
        circuit before http is tried, and the host would never recover. A timeout is still reported,
        because it holds a slot for its whole duration.
        """
        rules = (
            self.provider_rules
            if service_request is not None and service_request.to_provider
            else self.rules
        )
        guard.check_url(url, rules)
        host = get_gate_key(url)
        exempt = rules.is_exempt(urlsplit(url).hostname or "", URL(url).port)
        # Services are chosen by us and may be slow. Only sites must keep a minimum rate.
        limits = (
            self.limits if service_request is None else replace(self.limits, min_bytes_per_second=0)
        )
        async with self._permits:
            while True:
                async with self._gate.slot(host, exempt=exempt) as slot:
                    _slot.set(slot)
                    try:
                        sent = await self._send(url, headers, deadline, service_request)
                    except rate_limit.SlotLost:
                        continue
                    except fetch_errors.FetchFailed as error:
                        is_excused = tentative and isinstance(
                            error, fetch_errors.ConnectionFailed | fetch_errors.TlsFailed
                        )
                        if not is_excused and not isinstance(error, _ERRORS_NOT_CAUSED_BY_HOST):
                            await self._gate.report(
                                host,
                                rate_limit.HostOutcome(error=fetch_outcomes.get_error_kind(error)),
                            )
                        raise
                    answer = StreamedResponse(url, sent, deadline=deadline, limits=limits)
                    try:
                        yield answer
                    finally:
                        answer.release()
                    if answer.error is None:
                        notify_answer()
                    outcome = rate_limit.HostOutcome(
                        answer.status, answer.error, answer.retry_after_seconds
                    )
                    await self._gate.report(host, outcome)
                    return

    async def _send(
        self,
        url: str,
        headers: Mapping[str, str],
        deadline: Deadline,
        service_request: ServiceRequest | None,
    ) -> aiohttp.ClientResponse:
        client = self._session
        if service_request is not None:
            client = self._asking_providers if service_request.to_provider else self._asking
        assert client is not None, "use the Fetcher inside `async with`"
        body = service_request.body if service_request is not None else None
        method = "GET" if body is None else "POST"
        try:
            request = client.request(
                method, URL(url), data=body, headers=headers, allow_redirects=False
            )
            with observe_wait():
                return await deadline.run(request)
        except rate_limit.SlotLost:
            raise
        except Exception as error:
            raise fetch_outcomes.translate_error(error, url, seconds=deadline.seconds) from error


def _build_response(answer: StreamedResponse, body: bytes, started: float) -> Response:
    return Response(
        url=answer.url,
        final_url=answer.final_url,
        status=answer.status,
        headers=answer.headers,
        body=body,
        truncated=answer.truncated,
        elapsed_ms=_get_elapsed_ms(started),
        redirects=answer.redirects,
        network_bytes=answer.network_bytes,
        digest=answer.digest,
    )


def _build_timeout_error(answer: StreamedResponse) -> fetch_errors.TimedOut:
    host = urlsplit(answer.final_url).hostname
    return fetch_errors.TimedOut(f"{host} was too slow: {answer.truncated}", url=answer.final_url)


def get_gate_key(url: str) -> str:
    """Return the key of the URL's host at the gate: lower case, with a non-default port."""
    return (URL(url).host_port_subcomponent or "").lower()


def _get_elapsed_ms(started: float) -> int:
    return round((perf_counter() - started) * 1000)


def _build_conditional_headers(etag: str | None, last_modified: str | None) -> dict[str, str]:
    headers = {}
    if etag:
        headers["If-None-Match"] = etag
    if last_modified:
        headers["If-Modified-Since"] = last_modified
    return headers


def _get_redirect_target(answer: StreamedResponse) -> str | None:
    """Return the target of a redirect, or None if the response is not a redirect."""
    url = answer.final_url
    location = answer.headers.get("Location", "").strip()
    if answer.status not in _REDIRECT_STATUSES or not location:
        return None
    # Headers are bytes. Browsers decode a header that is not valid UTF-8 as Latin-1.
    text = location.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if "\ufffd" in text:
        text = location.encode("utf-8", "surrogateescape").decode("latin-1")
    target = clean_url(text, url)
    if target is None:
        raise fetch_errors.Blocked(
            f"{url} redirects to {text[:100]!r}, which is not an HTTP URL.", url=url
        )
    return target
