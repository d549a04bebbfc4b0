"""Exceptions raised by fetches."""

from __future__ import annotations

from datetime import UTC, datetime
from time import monotonic
from typing import ClassVar

from scrapersky.errors import ScraperSkyError


class FetchFailed(ScraperSkyError):
    """A URL returned no response. The message says why."""

    permanent: ClassVar[bool] = False
    """Whether an early retry would fail in the same way."""

    def __init__(self, reason: str, *, url: str | None = None) -> None:
        super().__init__(reason)
        self.url = url


class Blocked(FetchFailed):
    """The SSRF guard does not allow the URL."""

    permanent = True


class DoesNotResolve(FetchFailed):
    """The host name does not exist."""

    permanent = True


class ResolverFailed(FetchFailed):
    """The host name could not be resolved at the moment."""


class TimedOut(FetchFailed):
    """The response did not arrive, or did not finish, in time."""


class ConnectionFailed(FetchFailed):
    """The host refused or dropped the connection, or did not answer with HTTP."""


class TlsFailed(FetchFailed):
    """The certificate is invalid or the TLS handshake failed."""

    permanent = True


class TooManyRedirects(FetchFailed):
    """Redirects form a loop, exceed the limit or have no valid target."""

    permanent = True


class HostClosed(FetchFailed):
    """The gate does not allow requests to this host until the given time."""

    def __init__(
        self,
        reason: str,
        *,
        until: datetime,
        now: datetime | None = None,
        requested_by_host: bool = True,
        url: str | None = None,
    ) -> None:
        """`now` is the time on the clock that set `until`, by default this machine's."""
        super().__init__(reason, url=url)
        self.until = until
        # The database's clock and ours may differ by an hour, so only the difference is kept.
        self._ends_at = monotonic() + (until - (now or datetime.now(UTC))).total_seconds()
        self.requested_by_host = requested_by_host
        """Whether the host requested the pause. Otherwise its circuit breaker is open."""

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._ends_at - monotonic())
