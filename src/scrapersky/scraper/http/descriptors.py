"""File descriptor limits of this process, and the share of them for fetching."""

from __future__ import annotations

import errno
import os
import resource
import socket

from scrapersky.errors import LimitedResource, ResourceExhausted

RESERVED_DESCRIPTORS = 128
"""Descriptors kept for the database, listeners, logs, spooled bodies and API clients."""
MAX_CONCURRENT_REQUESTS = 1_024
"""Upper bound on concurrent requests per process, regardless of the descriptor limit."""
MIN_CONCURRENT_REQUESTS = 8
"""Lower bound on concurrent requests, even if there are hardly any descriptors for them."""
EXHAUSTED_ERRNOS = (errno.EMFILE, errno.ENFILE)


def get_descriptor_limit() -> int:
    """Return the soft limit on open descriptors of this process."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONCURRENT_REQUESTS * 4 if soft == resource.RLIM_INFINITY else soft


def raise_descriptor_limit() -> None:
    """Raise the soft limit, often 1,024 for historical reasons, as far as useful and allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    descriptors = RESERVED_DESCRIPTORS + 2 * MAX_CONCURRENT_REQUESTS
    if hard != resource.RLIM_INFINITY:
        descriptors = min(descriptors, hard)
    if soft != resource.RLIM_INFINITY and soft < descriptors:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, hard))


def get_request_budget() -> int:
    """Return how many requests may run concurrently.

    Up to the same number of idle connections may be kept open, so requests get half of the
    available descriptors.
    """
    half = (get_descriptor_limit() - RESERVED_DESCRIPTORS) // 2
    return max(MIN_CONCURRENT_REQUESTS, min(MAX_CONCURRENT_REQUESTS, half))


def build_exhausted_error() -> ResourceExhausted:
    return ResourceExhausted(
        LimitedResource.DESCRIPTORS,
        f"This process has used up its {get_descriptor_limit()} file descriptors. "
        "Raise the limit on open files (ulimit -n, LimitNOFILE) or lower the CONCURRENCY settings "
        "of stages.",
    )


def are_descriptors_exhausted() -> bool:
    """Whether no descriptor can be opened, tested by opening one.

    The system resolver does not report why it could not open its socket.
    """
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in EXHAUSTED_ERRNOS
    return False


class SocketCounter:
    """Counter of a connector's open sockets. The connector's own limit ignores idle connections."""

    def __init__(self, *, keep: int = 100) -> None:
        self.count = 0
        self.keep = keep
        """Number of open sockets above which connections are closed instead of reused."""

    def open(self, family: int, kind: int, protocol: int) -> socket.socket:
        return _CountedSocket(self, family, kind, protocol)


class _CountedSocket(socket.socket):
    def __init__(self, counter: SocketCounter, family: int, kind: int, protocol: int) -> None:
        self._counter: SocketCounter | None = None
        super().__init__(family, kind, protocol)
        self._counter = counter
        counter.count += 1

    def close(self) -> None:
        if self._counter is not None:
            self._counter.count -= 1
            self._counter = None
        super().close()
