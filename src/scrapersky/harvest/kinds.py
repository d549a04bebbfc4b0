"""What is known of pages by their addresses alone, as columns for many rows at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Float, Integer, SmallInteger, Text

from scrapersky.harvest.picking import LAST_WORTH_READING, UNDECIDED
from scrapersky.models import PAGE_WORDS
from scrapersky.scraper.fetch import gate_key
from scrapersky.scraper.page_classes import Classified, classify

Kinds = Sequence[Any]
"""The values of one column, a row each."""
KINDS: Mapping[str, Any] = {
    "host": Text,
    "page_type": Text,
    "page_rule": Text,
    "page_confidence": Float,
    "path_depth": Integer,
    "priority_level": SmallInteger,
    "page_processing_status": Text,
}
AT_ONCE = 1_000
"""Addresses looked at between two chances for others to go on."""


async def kinds_of(urls: Sequence[str], *, auto_queue: bool) -> Mapping[str, Kinds]:
    """By column; a row for each address, in their order."""
    rows: list[tuple[Any, ...]] = []
    for start in range(0, len(urls), AT_ONCE):
        rows += [_kind(url, auto_queue) for url in urls[start : start + AT_ONCE]]
        await asyncio.sleep(0)
    columns = zip(*rows, strict=True) if rows else [()] * len(KINDS)
    return {name: list(values) for name, values in zip(KINDS, columns, strict=True)}


def _kind(url: str, auto_queue: bool) -> tuple[Any, ...]:
    kind = classify(url)
    return (
        _host_of(url),
        kind.page_class.value,
        kind.rule,
        kind.confidence,
        _depth_of(url),
        kind.priority,
        _first_status(kind, auto_queue),
    )


def _host_of(url: str) -> str:
    try:
        return gate_key(url)
    except ValueError:
        return ""


def _depth_of(url: str) -> int:
    """How many parts the slashes make, but for empty ones and the host."""
    address = url.partition("://")[2].partition("#")[0].partition("?")[0]
    return len([part for part in address.split("/") if part]) - 1


def _first_status(kind: Classified, auto_queue: bool) -> str:
    """A page not worth reading is filtered at once; of the others the right ones are picked when
    all are known."""
    if auto_queue and kind.priority > LAST_WORTH_READING:
        return PAGE_WORDS.skipped or PAGE_WORDS.done
    return UNDECIDED
