"""What Google complains of, taken out of the shape that it wraps errors in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scrapersky.scraper.providers.values import items_of, mapping_of, text_of
from scrapersky.scraper.responses import Response

_DELAY = re.compile(r"(\d{1,6})(?:\.\d{1,9})?s")


@dataclass(frozen=True, slots=True)
class Complaint:
    http_status: int
    status: str
    """`RESOURCE_EXHAUSTED`; empty when it says none."""
    message: str
    reasons: frozenset[str]
    """`API_KEY_INVALID`: what to go by, where there is one."""
    quota: str
    """Which quota, in whatever words it is said."""
    violations: tuple[str, ...]
    """What is wrong with which field."""
    retry_after_seconds: float | None

    @property
    def words(self) -> str:
        return self.message.lower()


def complaint_in(response: Response, document: Mapping[str, Any]) -> Complaint | None:
    """Nothing when the answer is a good one."""
    if response.status == 200 and "error" not in document:
        return None
    error = mapping_of(document.get("error"))
    details = [mapping_of(each) for each in items_of(error.get("details"))]
    message = text_of(error.get("message"), at_most=500)
    if message is None:  # OAuth's way to put it
        message = text_of(document.get("error_description")) or text_of(document.get("error")) or ""
    return Complaint(
        http_status=response.status,
        status=text_of(error.get("status")) or "",
        message=message,
        reasons=frozenset(_texts(details, "reason")),
        quota=" ".join(_quotas(details)),
        violations=tuple(_violations(details)),
        retry_after_seconds=_wait(response, details),
    )


def _texts(details: list[Mapping[str, Any]], name: str) -> Iterator[str]:
    for each in details:
        if text := text_of(each.get(name)):
            yield text


def _quotas(details: list[Mapping[str, Any]]) -> Iterator[str]:
    for each in details:
        metadata = mapping_of(each.get("metadata"))
        for name in ("quota_unit", "quota_limit"):
            if text := text_of(metadata.get(name)):
                yield text


def _violations(details: list[Mapping[str, Any]]) -> Iterator[str]:
    for each in details:
        for violation in items_of(each.get("fieldViolations"))[:5]:
            if text := text_of(mapping_of(violation).get("description"), at_most=300):
                yield text


def _wait(response: Response, details: list[Mapping[str, Any]]) -> float | None:
    if response.retry_after_seconds is not None:
        return response.retry_after_seconds
    delays = (_DELAY.fullmatch(each) for each in _texts(details, "retryDelay"))
    return next((float(delay[1]) for delay in delays if delay), None)
