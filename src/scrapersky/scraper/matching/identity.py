"""What the providers' own ids say."""

from __future__ import annotations

from scrapersky.scraper.matching.model import Described

KEEP_APART = frozenset({"google"})
"""Providers that have a place once; others repeat theirs: a shop of OpenStreetMap may be a node and
a building, and a list has whatever somebody wrote into it."""


def same_provider(left: Described, right: Described) -> bool | None:
    """Whether the provider says that they are one; nothing when it says neither."""
    if not left.provider or left.provider != right.provider:
        return None
    if left.place_id is None or right.place_id is None:
        return None
    if left.place_id == right.place_id:
        return True
    return False if left.provider in KEEP_APART else None
