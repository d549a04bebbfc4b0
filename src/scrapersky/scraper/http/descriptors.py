"""File descriptor limits of this process, and the share of them for fetching."""

from __future__ import annotations

import errno
import os
import resource
import socket

from scrapersky.errors import LimitedResource, ResourceExhausted

RESERVED_DESCRIPTORS = 128
"""For the database, listeners, logs, spooled bodies and clients of the API."""
MAX_CONCURRENT_REQUESTS = 1_024
"""More requests at once than this are not worth it for one process, whatever it may open."""
MIN_CONCURRENT_REQUESTS = 8
"""So many are tried even where there is hardly room for them."""
EXHAUSTED_ERRNOS = (errno.EMFILE, errno.ENFILE)


def get_descriptor_limit() -> int:
    """How many descriptors this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONCURRENT_REQUESTS * 4 if soft == resource.RLIM_INFINITY else soft


def raise_descriptor_limit() -> None:
    """Use all that the system allows: the soft limit is often 1,024 for historical reasons."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = RESERVED_DESCRIPTORS + 2 * MAX_CONCURRENT_REQUESTS
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def get_request_budget() -> int:
    """How many requests may be under way at once. As many idle connections may be kept beside
    them, so only half of what is left is for either."""
    half = (get_descriptor_limit() - RESERVED_DESCRIPTORS) // 2
    return max(MIN_CONCURRENT_REQUESTS, min(MAX_CONCURRENT_REQUESTS, half))


def build_exhausted_error() -> ResourceExhausted:
    return ResourceExhausted(
        LimitedResource.DESCRIPTORS,
        f"This process has used up its {get_descriptor_limit()} file descriptors. "
        "Raise the limit on open files (ulimit -n, LimitNOFILE), or lower the CONCURRENCY of "
        "stages.",
    )


def are_descriptors_exhausted() -> bool:
    """Try it: the resolver hides the reason why it could not open its socket."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in EXHAUSTED_ERRNOS
    return False


class SocketCounter:
    """Counts the sockets of a connector: its pool limits requests, not idle connections."""

    def __init__(self, *, keep: int = 100) -> None:
        self.count = 0
        self.keep = keep
        """While more than these are open, no connection is kept for the next request."""

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
