"""Exceptions raised by place providers."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import aiohttp

from scrapersky.errors import ScraperSkyError
from scrapersky.redaction import redact
from scrapersky.scraper.http.fetch_errors import ConnectionFailed as Dropped
from scrapersky.scraper.http.fetch_errors import FetchFailed, HostClosed, TimedOut
from scrapersky.scraper.providers.model import PlacePage


class ProviderFailed(ScraperSkyError):
    """No answer that can be used; the sentence says what the operator can do."""

    permanent: ClassVar[bool] = False
    """Asking the same again would not help."""

    def __init__(self, reason: str, *, billed: bool = False) -> None:
        # Whoever shows the arguments rather than the text sees no secret either.
        super().__init__(redact(reason))
        self.billed = billed
        """Whether the provider may have counted the request: it was sent, and nobody knows what
        became of it. A request that was refused costs nothing."""


class KeyRefused(ProviderFailed):
    """The provider does not let this key ask; somebody must change something at the provider."""

    permanent = True


class MinuteQuota(ProviderFailed):
    """Too many requests just now; it heals by waiting."""

    def __init__(self, reason: str, *, retry_after_seconds: float) -> None:
        super().__init__(reason)
        self.retry_after_seconds = retry_after_seconds


class DayQuota(ProviderFailed):
    """The day's requests are used up: every further one fails until the provider's next day."""

    def __init__(self, reason: str, *, until: datetime) -> None:
        super().__init__(reason)
        self.until = until


class PlaceGone(ProviderFailed):
    """The provider knows no place by that id, or knows it no more."""

    permanent = True


class BadRequest(ProviderFailed):
    """The provider cannot make sense of what was asked; the mistake is ours or the person's."""

    permanent = True


class ProviderDown(ProviderFailed):
    """No answer, or none that can be read; it passes."""

    def __init__(
        self, reason: str, *, billed: bool = False, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(reason, billed=billed)
        self.retry_after_seconds = retry_after_seconds
        """As the provider, or our own gate, asked for; nothing when neither did."""


class AreaTooLarge(ProviderDown):
    """More than the provider has time or room for at once: smaller areas may do."""


class PagingBroken(ProviderFailed):
    """The next page cannot be had: its token was refused, or the provider repeats itself."""

    def __init__(self, reason: str, *, page: PlacePage | None = None) -> None:
        super().__init__(reason, billed=page is not None)
        self.page = page
        """What did come, and was paid for, with the answer after which it cannot go on."""


_NOT_SENT_ERRORS = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)


def build_unreachable_error(provider: str, error: FetchFailed) -> ProviderDown:
    if isinstance(error, HostClosed):
        return ProviderDown(
            f"{provider} is left alone for now: {error}", retry_after_seconds=error.seconds_left
        )
    return ProviderDown(f"{provider} could not be asked: {error}", billed=_was_sent(error))


def _was_sent(error: FetchFailed) -> bool:
    """Whether the request may have arrived, and only its answer was lost."""
    lost = isinstance(error, TimedOut | Dropped)
    return lost and not isinstance(error.__cause__, _NOT_SENT_ERRORS)
