"""Translate errors of the HTTP library and classify how fetches end."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from urllib.parse import urlsplit

import aiohttp

from scrapersky.errors import ResourceExhausted
from scrapersky.scraper.http.descriptors import EXHAUSTED_ERRNOS, build_exhausted_error
from scrapersky.scraper.http.fetch_errors import (
    Blocked,
    ConnectionFailed,
    DoesNotResolve,
    FetchFailed,
    HostClosed,
    ResolverFailed,
    TimedOut,
    TlsFailed,
    TooManyRedirects,
)
from scrapersky.scraper.http.rate_limit import FetchErrorKind
from scrapersky.scraper.http.responses import ResponseBody


class FetchOutcome(StrEnum):
    OK = "ok"
    NOT_MODIFIED = "not_modified"
    REDIRECT = "redirect"
    """A redirect that led nowhere, or too far."""
    CLIENT_ERROR = "client_error"
    SERVER_ERROR = "server_error"
    TOO_LARGE = "too_large"
    """Cut by a limit of ours."""
    TIMEOUT = "timeout"
    DNS = "dns"
    TLS = "tls"
    CONNECTION = "connection"
    """Refused, dropped or broken, or no HTTP."""
    REFUSED_BY_GUARD = "refused_by_guard"
    CIRCUIT_OPEN = "circuit_open"
    """The host failed so often that it is left alone."""
    HOST_ASKED = "host_asked"
    """The host asked to be left alone for a while."""


FetchOutcomeCallback = Callable[[FetchOutcome], None]


@contextmanager
def report_fetch_outcome(tell: FetchOutcomeCallback) -> Iterator[Callable[[ResponseBody], None]]:
    """Around one fetch: the answer is given to what this yields, and its class told at the end."""
    answers: list[ResponseBody] = []
    try:
        yield answers.append
    except FetchFailed as error:
        if not answers:
            tell(classify_error(error))
        raise
    finally:
        for answer in answers:
            tell(classify_response(answer))


def classify_response(body: ResponseBody) -> FetchOutcome:
    if body.hit_limit:
        return FetchOutcome.TOO_LARGE
    if body.error is not None:
        return (
            FetchOutcome.TIMEOUT
            if body.error is FetchErrorKind.TIMED_OUT
            else FetchOutcome.CONNECTION
        )
    status = body.answer.status
    if status == 304:
        return FetchOutcome.NOT_MODIFIED
    kinds = {3: FetchOutcome.REDIRECT, 4: FetchOutcome.CLIENT_ERROR, 5: FetchOutcome.SERVER_ERROR}
    return kinds.get(status // 100, FetchOutcome.OK)


def classify_error(error: FetchFailed) -> FetchOutcome:
    if isinstance(error, HostClosed):
        return FetchOutcome.HOST_ASKED if error.asked else FetchOutcome.CIRCUIT_OPEN
    kinds: dict[type[FetchFailed], FetchOutcome] = {
        Blocked: FetchOutcome.REFUSED_BY_GUARD,
        DoesNotResolve: FetchOutcome.DNS,
        ResolverFailed: FetchOutcome.DNS,
        TimedOut: FetchOutcome.TIMEOUT,
        TlsFailed: FetchOutcome.TLS,
        TooManyRedirects: FetchOutcome.REDIRECT,
    }
    return kinds.get(type(error), FetchOutcome.CONNECTION)


_NO_TLS_REASONS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
_CERTIFICATE_PROBLEMS = {
    9: "its certificate is not valid yet",
    10: "its certificate has expired",
    18: "its certificate is signed by itself",
    19: "its certificate is signed by nobody we trust",
    20: "its certificate is signed by nobody we trust",
    21: "its certificate is signed by nobody we trust",
    62: "its certificate is for another name",
    64: "its certificate is for another address",
}
"""By OpenSSL's numbers, which do not change from one version to the next as its words do."""


def get_error_kind(error: FetchFailed) -> FetchErrorKind:
    kinds: dict[type[FetchFailed], FetchErrorKind] = {
        TimedOut: FetchErrorKind.TIMED_OUT,
        TlsFailed: FetchErrorKind.TLS,
        ResolverFailed: FetchErrorKind.DNS,
    }
    return kinds.get(type(error), FetchErrorKind.CONNECTION)


def translate_error(
    error: Exception, url: str, *, seconds: float
) -> FetchFailed | ResourceExhausted:
    """The HTTP library's error in our words."""
    host = urlsplit(url).hostname or url
    if isinstance(error, FetchFailed):
        error.url = url
        return error
    if isinstance(error, ResourceExhausted):
        return error
    if _get_errno(error) in EXHAUSTED_ERRNOS:
        return build_exhausted_error()
    if isinstance(error, TimeoutError):
        return TimedOut(f"{host} did not answer within {seconds:g} seconds.", url=url)
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return TlsFailed(f"{host} has no valid TLS: {_describe_tls_error(error)}.", url=url)
    if isinstance(error, aiohttp.InvalidURL | ValueError):
        return Blocked(f"{url[:200]!r} is not a URL that can be fetched.", url=url)
    if isinstance(error, aiohttp.ClientError | OSError):
        return ConnectionFailed(f"{host} {_describe_connection_error(error)}.", url=url)
    return ConnectionFailed(f"{host} could not be fetched: {type(error).__name__}.", url=url)


def _get_errno(error: BaseException) -> int | None:
    """What the system said; the HTTP library wraps it in errors of its own."""
    inner = getattr(error, "os_error", None) or error
    return inner.errno if isinstance(inner, OSError) else None


def _describe_tls_error(error: Exception) -> str:
    inner = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    known = _CERTIFICATE_PROBLEMS.get(getattr(inner, "verify_code", 0))
    if known is not None:
        return known
    text = str(getattr(inner, "verify_message", None) or getattr(inner, "reason", None) or inner)
    if text in _NO_TLS_REASONS:
        return "it does not speak TLS there"
    return text.rstrip(".").replace("_", " ").lower()


def _describe_connection_error(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno
        return f"took no connection ({os.strerror(number) if number else 'no reason given'})"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "closed the connection without an answer"
    if isinstance(error, aiohttp.ClientResponseError):
        return "answered with something that is not HTTP"
    return "broke the connection"
