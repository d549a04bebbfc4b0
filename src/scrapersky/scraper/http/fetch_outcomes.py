"""Translate errors of the HTTP library and classify the outcome of fetches."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from urllib.parse import urlsplit

import aiohttp

from scrapersky.errors import ResourceExhausted
from scrapersky.scraper.http import fetch_errors
from scrapersky.scraper.http.descriptors import EXHAUSTED_ERRNOS, build_exhausted_error
from scrapersky.scraper.http.rate_limit import FetchErrorKind
from scrapersky.scraper.http.responses import StreamedResponse


class FetchOutcome(StrEnum):
    OK = "ok"
    NOT_MODIFIED = "not_modified"
    REDIRECT = "redirect"
    """Redirect loop, too many redirects, or no valid target."""
    CLIENT_ERROR = "client_error"
    SERVER_ERROR = "server_error"
    TOO_LARGE = "too_large"
    """Truncated by one of our size limits."""
    TIMEOUT = "timeout"
    DNS = "dns"
    TLS = "tls"
    CONNECTION = "connection"
    """Connection refused, dropped or broken, or the response is not HTTP."""
    REFUSED_BY_GUARD = "refused_by_guard"
    CIRCUIT_OPEN = "circuit_open"
    """The host's circuit breaker is open after repeated failures."""
    HOST_ASKED = "host_asked"
    """The host asked for a pause, for example with Retry-After."""


FetchOutcomeCallback = Callable[[FetchOutcome], None]


@contextmanager
def report_fetch_outcome(
    tell: FetchOutcomeCallback,
) -> Iterator[Callable[[StreamedResponse], None]]:
    """Report the outcome of one fetch on exit.

    Call the yielded function with the response, if there is one.
    """
    answers: list[StreamedResponse] = []
    try:
        yield answers.append
    except fetch_errors.FetchFailed as error:
        if not answers:
            tell(classify_error(error))
        raise
    finally:
        for answer in answers:
            tell(classify_response(answer))


def classify_response(response: StreamedResponse) -> FetchOutcome:
    if response.hit_limit:
        return FetchOutcome.TOO_LARGE
    if response.error is not None:
        return FetchOutcome.TIMEOUT if response.timed_out else FetchOutcome.CONNECTION
    if response.status == 304:
        return FetchOutcome.NOT_MODIFIED
    kinds = {3: FetchOutcome.REDIRECT, 4: FetchOutcome.CLIENT_ERROR, 5: FetchOutcome.SERVER_ERROR}
    return kinds.get(response.status // 100, FetchOutcome.OK)


def classify_error(error: fetch_errors.FetchFailed) -> FetchOutcome:
    if isinstance(error, fetch_errors.HostClosed):
        return FetchOutcome.HOST_ASKED if error.requested_by_host else FetchOutcome.CIRCUIT_OPEN
    kinds: dict[type[fetch_errors.FetchFailed], FetchOutcome] = {
        fetch_errors.Blocked: FetchOutcome.REFUSED_BY_GUARD,
        fetch_errors.DoesNotResolve: FetchOutcome.DNS,
        fetch_errors.ResolverFailed: FetchOutcome.DNS,
        fetch_errors.TimedOut: FetchOutcome.TIMEOUT,
        fetch_errors.TlsFailed: FetchOutcome.TLS,
        fetch_errors.TooManyRedirects: FetchOutcome.REDIRECT,
    }
    return kinds.get(type(error), FetchOutcome.CONNECTION)


_NO_TLS_REASONS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
_CERTIFICATE_PROBLEMS = {
    9: "its certificate is not valid yet",
    10: "its certificate has expired",
    18: "its certificate is self-signed",
    19: "its certificate is not signed by a trusted authority",
    20: "its certificate is not signed by a trusted authority",
    21: "its certificate is not signed by a trusted authority",
    62: "its certificate is for another host name",
    64: "its certificate is for another IP address",
}
"""Messages by OpenSSL error code. Unlike the error texts, the codes are stable across versions."""


def get_error_kind(error: fetch_errors.FetchFailed) -> FetchErrorKind:
    kinds: dict[type[fetch_errors.FetchFailed], FetchErrorKind] = {
        fetch_errors.TimedOut: FetchErrorKind.TIMED_OUT,
        fetch_errors.TlsFailed: FetchErrorKind.TLS,
        fetch_errors.ResolverFailed: FetchErrorKind.DNS,
    }
    return kinds.get(type(error), FetchErrorKind.CONNECTION)


def translate_error(
    error: Exception, url: str, *, seconds: float
) -> fetch_errors.FetchFailed | ResourceExhausted:
    """Translate an error of the HTTP library to one of ours."""
    host = urlsplit(url).hostname or url
    if isinstance(error, fetch_errors.FetchFailed):
        error.url = url
        return error
    if isinstance(error, ResourceExhausted):
        return error
    inner = getattr(error, "os_error", None) or error  # aiohttp wraps the OSError
    if isinstance(inner, OSError) and inner.errno in EXHAUSTED_ERRNOS:
        return build_exhausted_error()
    if isinstance(error, TimeoutError):
        return fetch_errors.TimedOut(f"{host} did not answer within {seconds:g} s.", url=url)
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return fetch_errors.TlsFailed(
            f"TLS connection to {host} failed: {_describe_tls_error(error)}.", url=url
        )
    if isinstance(error, aiohttp.InvalidURL | ValueError):
        return fetch_errors.Blocked(f"{url[:200]!r} is not a valid URL.", url=url)
    if isinstance(error, aiohttp.ClientError | OSError):
        return fetch_errors.ConnectionFailed(
            f"{host} {_describe_connection_error(error)}.", url=url
        )
    return fetch_errors.ConnectionFailed(
        f"{host} could not be fetched: {type(error).__name__}.", url=url
    )


def _describe_tls_error(error: Exception) -> str:
    inner = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    known = _CERTIFICATE_PROBLEMS.get(getattr(inner, "verify_code", 0))
    if known is not None:
        return known
    text = str(getattr(inner, "verify_message", None) or getattr(inner, "reason", None) or inner)
    if text in _NO_TLS_REASONS:
        return "the server does not use TLS on this port"
    return text.rstrip(".").replace("_", " ").lower()


def _describe_connection_error(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno
        reason = os.strerror(number) if number else "no reason given"
        return f"did not accept the connection ({reason})"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "closed the connection without a response"
    if isinstance(error, aiohttp.ClientResponseError):
        return "did not answer with HTTP"
    return "dropped the connection"
