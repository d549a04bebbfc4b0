"""Settings that are fine to a type checker and cannot work all the same."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from scrapersky.settings import LARGEST, Settings


def out_of_bounds(settings: Settings) -> Iterator[str]:
    for name in Settings.model_fields:
        value = getattr(settings, name)
        if isinstance(value, float) and not abs(value) <= LARGEST:
            yield f"{name.upper()} cannot be {value:g}: the most is {LARGEST:,}."


def contradictions(settings: Settings) -> Iterator[str]:
    """Values that are fine one by one and cannot work together."""
    if settings.sitemap_rescan_min_hours > settings.sitemap_rescan_max_hours:
        yield (
            f"SITEMAP_RESCAN_MIN_HOURS ({settings.sitemap_rescan_min_hours:g}) is more than "
            f"SITEMAP_RESCAN_MAX_HOURS ({settings.sitemap_rescan_max_hours:g})."
        )
    if settings.worker_dead_after_seconds <= settings.worker_beat_seconds:
        yield (
            f"WORKER_DEAD_AFTER_SECONDS ({settings.worker_dead_after_seconds:g}) must be more than "
            f"WORKER_BEAT_SECONDS ({settings.worker_beat_seconds:g}), best three times as much: "
            "otherwise every worker is taken for dead between two beats."
        )
    if settings.retry_base_seconds > settings.retry_cap_seconds:
        yield (
            f"RETRY_BASE_SECONDS ({settings.retry_base_seconds:g}) is more than "
            f"RETRY_CAP_SECONDS ({settings.retry_cap_seconds:g})."
        )
    if settings.listen_database_url and not settings.database_url:
        yield "LISTEN_DATABASE_URL is set and DATABASE_URL is not: it is for the same database."
    yield from _pins_that_lead_out(settings)


def _pins_that_lead_out(settings: Settings) -> Iterator[str]:
    for name, (text, port) in settings.resolve.items():
        address = ipaddress.ip_address(text)
        if not any(each.allows(address, port) for each in settings.allowed_networks):
            yield (
                f"FETCH_RESOLVE sends {name} to {address}, which is in no network of "
                "FETCH_ALLOW_NETWORKS."
            )
