"""Classify pages by their URLs, as column values for bulk inserts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Float, Integer, SmallInteger, Text

from scrapersky.models import PAGE_STATUSES
from scrapersky.pages.selection import MAX_READABLE_PRIORITY, UNDECIDED
from scrapersky.scraper.http.fetch import get_gate_key
from scrapersky.scraper.pages.classification import PageClassification, classify

ColumnValues = Sequence[Any]
"""The values of one column, in row order."""
CLASSIFICATION_COLUMNS: Mapping[str, Any] = {
    "host": Text,
    "page_type": Text,
    "page_rule": Text,
    "page_confidence": Float,
    "path_depth": Integer,
    "priority_level": SmallInteger,
    "page_processing_status": Text,
}
URLS_PER_SLICE = 1_000
"""URLs classified before control returns to the event loop."""


async def classify_urls(urls: Sequence[str], *, auto_queue: bool) -> Mapping[str, ColumnValues]:
    """Return the classification of each URL as columns, in the order of the URLs."""
    rows: list[tuple[Any, ...]] = []
    for start in range(0, len(urls), URLS_PER_SLICE):
        rows += [_classify_url(url, auto_queue) for url in urls[start : start + URLS_PER_SLICE]]
        await asyncio.sleep(0)
    columns = zip(*rows, strict=True) if rows else [()] * len(CLASSIFICATION_COLUMNS)
    return {
        name: list(values) for name, values in zip(CLASSIFICATION_COLUMNS, columns, strict=True)
    }


def _classify_url(url: str, auto_queue: bool) -> tuple[Any, ...]:
    kind = classify(url)
    return (
        _get_host(url),
        kind.page_class.value,
        kind.rule,
        kind.confidence,
        _get_path_depth(url),
        kind.priority,
        _get_initial_status(kind, auto_queue),
    )


def _get_host(url: str) -> str:
    try:
        return get_gate_key(url)
    except ValueError:
        return ""


def _get_path_depth(url: str) -> int:
    """Count the non-empty path segments."""
    address = url.partition("://")[2].partition("#")[0].partition("?")[0]
    return len([part for part in address.split("/") if part]) - 1


def _get_initial_status(kind: PageClassification, auto_queue: bool) -> str:
    """Filter pages that are not worth reading right away. `selection.py` picks among the others
    once all URLs of the site are stored.
    """
    if auto_queue and kind.priority > MAX_READABLE_PRIORITY:
        return PAGE_STATUSES.skipped or PAGE_STATUSES.done
    return UNDECIDED
