"""Read what a server of OpenStreetMap answers: the document, or the failure it stands for."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from scrapersky.scraper.providers.failures import (
    BadRequest,
    KeyRefused,
    MinuteQuota,
    ProviderDown,
    ProviderFailed,
    TooMuch,
)
from scrapersky.scraper.providers.values import mapping_of, read_json, text_of
from scrapersky.scraper.responses import Response

WAIT_SECONDS = 60.0
"""For a server that has no place for us and does not say when it will."""
_SAID = re.compile(r"<strong[^>]{0,80}>\s*Error\s*</strong>\s*:?(.{1,600}?)</p>", re.I | re.S)
_TAG = re.compile(r"<[^>]{0,200}>")
_REFUSED_BY_STATUS = {
    403: "refuses to answer us: see its usage policy, say who you are in FETCH_USER_AGENT, or "
    "use a server of your own",
    401: "wants to know who asks, which is not supported; use another server",
}


def document_in(response: Response, provider: str) -> Any:
    if response.status != 200:
        raise _failure(response, provider)
    if response.truncated is not None:
        raise _cut(response, provider)
    try:
        return read_json(response.body)
    except ValueError as error:
        raise ProviderDown(
            f"{provider} answered with something else than JSON: is {provider.upper()}_BASE_URL "
            "right, and no proxy on the way?",
            retry_after_seconds=response.retry_after_seconds,
        ) from error


def _cut(response: Response, provider: str) -> ProviderFailed:
    if "larger" in (response.truncated or ""):
        return TooMuch(f"{provider} has more there than is read at once: ask a smaller area.")
    return ProviderDown(f"{provider}'s answer is not whole: {response.truncated}")


def _failure(response: Response, provider: str) -> ProviderFailed:
    status, wait = response.status, response.retry_after_seconds
    if status == 429:
        seconds = WAIT_SECONDS if wait is None else wait
        return MinuteQuota(
            f"{provider} was asked too often; asked again after {seconds:.0f} seconds.",
            retry_after_seconds=seconds,
        )
    if status in _REFUSED_BY_STATUS:
        return KeyRefused(f"{provider} {_REFUSED_BY_STATUS[status]}.")
    if status < 400:
        return ProviderDown(
            f"{provider} answered {status} and nothing else, as if it were elsewhere: is "
            f"{provider.upper()}_BASE_URL right?"
        )
    if status in (408, 425) or status >= 500:
        return ProviderDown(
            f"{provider} answered {status}; it may be too busy.", retry_after_seconds=wait
        )
    return BadRequest(f"{provider} cannot make sense of the request: {said_in(response)}")


def said_in(response: Response) -> str:
    """The sentence of an error, out of JSON or of a page."""
    try:
        error = mapping_of(read_json(response.body)).get("error")
        said = text_of(error) or text_of(mapping_of(error).get("message"))
    except ValueError:
        found = _SAID.search(response.body[:20_000].decode("utf-8", "replace"))
        said = text_of(unescape(_TAG.sub("", found[1]))) if found else None
    return said or f"it answered {response.status} and did not say why."
