"""How fetches end, in a few classes, for whoever counts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from scrapersky.scraper.body import Body
from scrapersky.scraper.failures import (
    Blocked,
    DoesNotResolve,
    FetchFailed,
    HostClosed,
    ResolverFailed,
    TimedOut,
    TlsFailed,
    TooManyRedirects,
)
from scrapersky.scraper.politeness import ErrorKind


class FetchEnd(StrEnum):
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


TellEnd = Callable[[FetchEnd], None]


@contextmanager
def telling_end(tell: TellEnd) -> Iterator[Callable[[Body], None]]:
    """Around one fetch: the answer is given to what this yields, and its class told at the end."""
    answers: list[Body] = []
    try:
        yield answers.append
    except FetchFailed as error:
        if not answers:
            tell(end_of_failure(error))
        raise
    finally:
        for answer in answers:
            tell(end_of_answer(answer))


def end_of_answer(body: Body) -> FetchEnd:
    if body.hit_limit:
        return FetchEnd.TOO_LARGE
    if body.error is not None:
        return FetchEnd.TIMEOUT if body.error is ErrorKind.TIMED_OUT else FetchEnd.CONNECTION
    status = body.answer.status
    if status == 304:
        return FetchEnd.NOT_MODIFIED
    kinds = {3: FetchEnd.REDIRECT, 4: FetchEnd.CLIENT_ERROR, 5: FetchEnd.SERVER_ERROR}
    return kinds.get(status // 100, FetchEnd.OK)


def end_of_failure(error: FetchFailed) -> FetchEnd:
    if isinstance(error, HostClosed):
        return FetchEnd.HOST_ASKED if error.asked else FetchEnd.CIRCUIT_OPEN
    kinds: dict[type[FetchFailed], FetchEnd] = {
        Blocked: FetchEnd.REFUSED_BY_GUARD,
        DoesNotResolve: FetchEnd.DNS,
        ResolverFailed: FetchEnd.DNS,
        TimedOut: FetchEnd.TIMEOUT,
        TlsFailed: FetchEnd.TLS,
        TooManyRedirects: FetchEnd.REDIRECT,
    }
    return kinds.get(type(error), FetchEnd.CONNECTION)
