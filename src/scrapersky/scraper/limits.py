"""What fetching may cost at most."""

from __future__ import annotations

from dataclasses import dataclass

from scrapersky.settings import Settings


@dataclass(frozen=True)
class FetchLimits:
    """What one fetch may cost."""

    timeout_seconds: float = 30
    """Time spent waiting for the network: redirects and body included, our own waits not."""
    max_bytes: int = 50 * 1024 * 1024
    max_decompressed_bytes: int = 256 * 1024 * 1024
    max_redirects: int = 5
    robots_timeout_seconds: float = 5
    """The same as `timeout_seconds`, for a robots.txt: it is small, and every page waits for it."""
    min_bytes_per_second: float = 64
    """A body that comes more slowly than this is given up; 0 means that any rate will do."""
    rate_window_seconds: float = 10
    """The rate is judged over so many seconds of waiting for the network, again and again."""

    @classmethod
    def from_settings(cls, settings: Settings) -> FetchLimits:
        return cls(
            timeout_seconds=settings.fetch_timeout_seconds,
            max_bytes=settings.fetch_max_bytes,
            max_decompressed_bytes=settings.sitemap_max_decompressed_bytes,
            max_redirects=settings.fetch_max_redirects,
            robots_timeout_seconds=min(
                settings.robots_timeout_seconds, settings.fetch_timeout_seconds
            ),
            min_bytes_per_second=settings.fetch_min_bytes_per_second,
        )


MAX_PAGE_BYTES = 2 * 1024 * 1024
"""Read of a home page; what links and titles it has stand before that."""
