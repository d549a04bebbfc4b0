"""Exceptions raised by fetches."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from scrapersky.errors import ScraperSkyError


class FetchFailed(ScraperSkyError):
    """No answer was had from a URL; the sentence says why."""

    permanent: ClassVar[bool] = False
    """Asking again soon would not help."""

    def __init__(self, reason: str, *, url: str | None = None) -> None:
        super().__init__(reason)
        self.url = url


class Blocked(FetchFailed):
    """The guard does not let us go there."""

    permanent = True


class DoesNotResolve(FetchFailed):
    """The name does not exist."""

    permanent = True


class ResolverFailed(FetchFailed):
    """The name could not be looked up just now."""


class TimedOut(FetchFailed):
    """The answer did not come, or did not end, in time."""


class ConnectionFailed(FetchFailed):
    """The host refused or dropped the connection, or answered with something that is not HTTP."""


class TlsFailed(FetchFailed):
    """The certificate or the handshake is not in order."""

    permanent = True


class TooManyRedirects(FetchFailed):
    """Redirects went in a circle, further than we follow, or to nowhere."""

    permanent = True


class HostClosed(FetchFailed):
    """The gate keeps us away from this host until then."""

    def __init__(
        self, reason: str, *, until: datetime, asked: bool = True, url: str | None = None
    ) -> None:
        super().__init__(reason, url=url)
        self.until = until
        self.asked = asked
        """The host itself asked for it; otherwise it failed so often that we stay away."""

    @property
    def seconds_left(self) -> float:
        return max(0.0, (self.until - datetime.now(UTC)).total_seconds())
