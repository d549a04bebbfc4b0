"""What it means for a provider's client that a fetch failed."""

from __future__ import annotations

import aiohttp

from scrapersky.scraper.failures import ConnectionFailed as Dropped
from scrapersky.scraper.failures import FetchFailed, HostClosed, TimedOut
from scrapersky.scraper.providers.failures import ProviderDown

_NEVER_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)


def unreachable(provider: str, error: FetchFailed) -> ProviderDown:
    if isinstance(error, HostClosed):
        return ProviderDown(
            f"{provider} is left alone for now: {error}", retry_after_seconds=error.seconds_left
        )
    return ProviderDown(f"{provider} could not be asked: {error}", billed=_was_sent(error))


def _was_sent(error: FetchFailed) -> bool:
    """Whether the request may have arrived, and only its answer was lost."""
    lost = isinstance(error, TimedOut | Dropped)
    return lost and not isinstance(error.__cause__, _NEVER_SENT)
