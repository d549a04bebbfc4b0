"""Say the HTTP library's errors in our words."""

from __future__ import annotations

import os
import ssl
from urllib.parse import urlsplit

import aiohttp

from scrapersky.errors import OwnLimitReached
from scrapersky.scraper.descriptors import EXHAUSTED, out_of_descriptors
from scrapersky.scraper.failures import (
    Blocked,
    ConnectionFailed,
    FetchFailed,
    ResolverFailed,
    TimedOut,
    TlsFailed,
)
from scrapersky.scraper.politeness import ErrorKind

_NO_TLS_AT_ALL = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
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


def error_kind(error: FetchFailed) -> ErrorKind:
    kinds: dict[type[FetchFailed], ErrorKind] = {
        TimedOut: ErrorKind.TIMED_OUT,
        TlsFailed: ErrorKind.TLS,
        ResolverFailed: ErrorKind.DNS,
    }
    return kinds.get(type(error), ErrorKind.CONNECTION)


def translated(error: Exception, url: str, *, seconds: float) -> FetchFailed | OwnLimitReached:
    """The HTTP library's error in our words."""
    host = urlsplit(url).hostname or url
    if isinstance(error, FetchFailed):
        error.url = url
        return error
    if isinstance(error, OwnLimitReached):
        return error
    if _os_errno(error) in EXHAUSTED:
        return out_of_descriptors()
    if isinstance(error, TimeoutError):
        return TimedOut(f"{host} did not answer within {seconds:g} seconds.", url=url)
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return TlsFailed(f"{host} has no valid TLS: {_tls_reason(error)}.", url=url)
    if isinstance(error, aiohttp.InvalidURL | ValueError):
        return Blocked(f"{url[:200]!r} is not a URL that can be fetched.", url=url)
    if isinstance(error, aiohttp.ClientError | OSError):
        return ConnectionFailed(f"{host} {_connection_reason(error)}.", url=url)
    return ConnectionFailed(f"{host} could not be fetched: {type(error).__name__}.", url=url)


def _os_errno(error: BaseException) -> int | None:
    """What the system said; the HTTP library wraps it in errors of its own."""
    inner = getattr(error, "os_error", None) or error
    return inner.errno if isinstance(inner, OSError) else None


def _tls_reason(error: Exception) -> str:
    inner = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    known = _CERTIFICATE_PROBLEMS.get(getattr(inner, "verify_code", 0))
    if known is not None:
        return known
    text = str(getattr(inner, "verify_message", None) or getattr(inner, "reason", None) or inner)
    if text in _NO_TLS_AT_ALL:
        return "it does not speak TLS there"
    return text.rstrip(".").replace("_", " ").lower()


def _connection_reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno
        return f"took no connection ({os.strerror(number) if number else 'no reason given'})"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "closed the connection without an answer"
    if isinstance(error, aiohttp.ClientResponseError):
        return "answered with something that is not HTTP"
    return "broke the connection"
