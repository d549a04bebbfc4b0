"""Exceptions raised by place providers."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import aiohttp

from scrapersky.errors import ScraperSkyError
from scrapersky.redaction import redact
from scrapersky.scraper.http.fetch_errors import ConnectionFailed, FetchFailed, HostClosed, TimedOut
from scrapersky.scraper.providers.model import PlacePage


class ProviderFailed(ScraperSkyError):
    """The provider returned no usable response. The message says what the operator can do."""

    permanent: ClassVar[bool] = False
    """Whether a retry of the same request would fail too."""

    def __init__(self, reason: str, *, billed: bool = False) -> None:
        # Redact the arguments, so that neither they nor the message contain a secret.
        super().__init__(redact(reason))
        self.billed = billed
        """Whether the provider may have billed the request: it was sent and its outcome is unknown.
        Rejected requests are free.
        """


class KeyRefused(ProviderFailed):
    """The provider rejects the API key. The operator has to fix it at the provider."""

    permanent = True


class MinuteQuota(ProviderFailed):
    """Too many requests per minute. Retrying later helps."""

    def __init__(self, reason: str, *, retry_after_seconds: float) -> None:
        super().__init__(reason)
        self.retry_after_seconds = retry_after_seconds


class DayQuota(ProviderFailed):
    """The daily quota is used up. Every request fails until the provider's next day."""

    def __init__(self, reason: str, *, until: datetime) -> None:
        super().__init__(reason)
        self.until = until


class PlaceGone(ProviderFailed):
    """The provider does not know the place id, or no longer knows it."""

    permanent = True


class BadRequest(ProviderFailed):
    """The provider rejects the request as invalid, because of a bug or bad user input."""

    permanent = True


class ProviderDown(ProviderFailed):
    """No response, or an unreadable one. This is transient."""

    def __init__(
        self, reason: str, *, billed: bool = False, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(reason, billed=billed)
        self.retry_after_seconds = retry_after_seconds
        """Delay requested by the provider or our gate, or None."""


class AreaTooLarge(ProviderDown):
    """The query exceeds the provider's time or memory. Smaller areas may work."""


class PagingBroken(ProviderFailed):
    """The next page cannot be loaded: its token was rejected or repeated."""

    def __init__(self, reason: str, *, page: PlacePage | None = None) -> None:
        super().__init__(reason, billed=page is not None)
        self.page = page
        """The page that was received and billed, if it is the one with the broken token."""


_NOT_SENT_ERRORS = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)


def build_unreachable_error(provider: str, error: FetchFailed) -> ProviderDown:
    if isinstance(error, HostClosed):
        return ProviderDown(
            f"{provider} is paused for now: {error}", retry_after_seconds=error.seconds_left
        )
    # The request may have arrived, and only the response was lost.
    lost = isinstance(error, TimedOut | ConnectionFailed)
    return ProviderDown(
        f"{provider} could not be reached: {error}",
        billed=lost and not isinstance(error.__cause__, _NOT_SENT_ERRORS),
    )
