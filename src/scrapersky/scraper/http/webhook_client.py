"""Post webhook payloads through the SSRF guard, without following redirects."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import aiohttp
from yarl import URL

from scrapersky.scraper.http.addresses import AddressRules, is_public
from scrapersky.scraper.http.fetch_outcomes import translate_error
from scrapersky.scraper.http.guard import (
    HostLookup,
    check_url,
    create_guarded_connector,
    create_tls_context,
)
from scrapersky.scraper.http.rate_limit import parse_retry_after
from scrapersky.settings import IPAddress

MAX_RESPONSE_BYTES = 4096
"""Bytes read of the response: enough for a clean close, and for one line of its text."""


@dataclass(frozen=True)
class WebhookResponse:
    """Response of a webhook receiver."""

    status: int
    retry_after_seconds: float | None = None
    """Delay requested by the receiver."""
    body: bytes = b""
    """First bytes of the response."""
    is_public: bool = False
    """Whether the receiver is on the public internet.

    Responses of internal receivers must not be shown to the user who chose the URL.
    """

    @property
    def is_accepted(self) -> bool:
        return 200 <= self.status < 300


def describe_refusal(url: str, answer: WebhookResponse) -> str:
    is_redirect = 300 <= answer.status < 400
    what = (
        "redirects, and redirects are not followed" if is_redirect else "did not accept the payload"
    )
    return f"{URL(url).host} answered {answer.status}: it {what}."


async def post_payload(
    url: str,
    body: bytes,
    *,
    headers: Mapping[str, str],
    rules: AddressRules,
    timeout_seconds: float,
    ca_file: Path | None = None,
    lookup: HostLookup | None = None,
) -> WebhookResponse:
    """Post the payload and return the response, whatever its status.

    Raises `FetchFailed` if there is none.
    """
    check_url(url, rules)
    tls = await asyncio.to_thread(_create_tls_context, ca_file)
    reached: list[IPAddress] = []
    try:
        async with (
            asyncio.timeout(timeout_seconds),
            aiohttp.ClientSession(
                connector=create_guarded_connector(
                    rules, lookup=lookup, note=reached.append, ssl=tls
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
            ) as session,
            session.post(URL(url), data=body, headers=headers, allow_redirects=False) as answer,
        ):
            response_body = await answer.content.read(MAX_RESPONSE_BYTES)
            wait = parse_retry_after(answer.headers.get("Retry-After"))
            in_public = bool(reached) and all(map(is_public, reached))
            return WebhookResponse(answer.status, wait, response_body, is_public=in_public)
    except Exception as error:
        raise translate_error(error, url, seconds=timeout_seconds) from error


_create_tls_context = lru_cache(maxsize=4)(create_tls_context)
