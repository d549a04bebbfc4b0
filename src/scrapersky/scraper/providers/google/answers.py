"""Read Google's answer: the document, or the failure it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scrapersky.scraper.providers.failures import ProviderDown
from scrapersky.scraper.providers.google.complaints import complaint_in
from scrapersky.scraper.providers.google.refusals import failure_of
from scrapersky.scraper.providers.values import read_json
from scrapersky.scraper.responses import Response


def answer_in(response: Response, *, place_id: str | None, paging: bool) -> Mapping[str, Any]:
    document = _document(response)
    complaint = complaint_in(response, document)
    if complaint is not None:
        raise failure_of(complaint, place_id=place_id, paging=paging)
    return document


def _document(response: Response) -> Mapping[str, Any]:
    # What was answered well may have been billed, even where it broke on its way to us.
    billed = response.status == 200
    if 300 <= response.status < 400:
        raise ProviderDown(
            "Google redirects, which its API never does: is GOOGLE_PLACES_BASE_URL right?"
        )
    if response.truncated is not None:
        raise ProviderDown(f"Google's answer is not whole: {response.truncated}", billed=billed)
    try:
        document = read_json(response.body)
    except ValueError as error:
        raise _unreadable(response, billed=billed) from error
    if isinstance(document, list) and document:  # errors come in a list at times
        document = document[0]
    if not isinstance(document, dict):
        raise _unreadable(response, billed=billed)
    return document


def _unreadable(response: Response, *, billed: bool) -> ProviderDown:
    start = response.body[:200].lstrip().lower()
    is_page = start.startswith((b"<!doctype", b"<html", b"<?xml"))
    what = "a web page" if is_page else "something else than JSON" if start else "nothing"
    return ProviderDown(
        f"Google answered {response.status} with {what}; a proxy on the way may have done that.",
        billed=billed,
        retry_after_seconds=response.retry_after_seconds,
    )
