"""Post a small document, through the same guard as every fetch; redirects are not followed."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import aiohttp
from yarl import URL

from scrapersky.scraper.addresses import AddressRules, is_public
from scrapersky.scraper.failures import ConnectionFailed
from scrapersky.scraper.guard import Lookup, check_url, guarded_connector
from scrapersky.scraper.politeness import parse_retry_after
from scrapersky.scraper.translation import translated
from scrapersky.settings import IPAddress

MOST_BYTES_READ = 4096
"""Of the answer: enough for a connection to be closed in order, and for a line of what it says."""


@dataclass(frozen=True)
class Posted:
    """How a receiver answered."""

    status: int
    retry_after_seconds: float | None = None
    """How long it asks us to wait."""
    body: bytes = b""
    """How its answer begins."""
    is_public: bool = False
    """Whether it stands on the public internet, where everybody could ask it themselves. What
    others answer must not be shown to whoever chose the address."""

    @property
    def is_taken(self) -> bool:
        return 200 <= self.status < 300


async def post(
    url: str,
    body: bytes,
    *,
    headers: Mapping[str, str],
    rules: AddressRules,
    timeout_seconds: float,
    ca_file: Path | None = None,
    lookup: Lookup | None = None,
) -> int:
    """The status it was taken with, 200 to 299; everything else is raised as `FetchFailed`."""
    answer = await send(
        url,
        body,
        headers=headers,
        rules=rules,
        timeout_seconds=timeout_seconds,
        ca_file=ca_file,
        lookup=lookup,
    )
    if not answer.is_taken:
        raise ConnectionFailed(refusal(url, answer), url=url)
    return answer.status


def refusal(url: str, answer: Posted) -> str:
    is_redirect = 300 <= answer.status < 400
    what = "redirects, which is not followed" if is_redirect else "did not take it"
    return f"{URL(url).host} answered {answer.status}: it {what}."


async def send(
    url: str,
    body: bytes,
    *,
    headers: Mapping[str, str],
    rules: AddressRules,
    timeout_seconds: float,
    ca_file: Path | None = None,
    lookup: Lookup | None = None,
) -> Posted:
    """Whatever it answers; `FetchFailed` where it does not."""
    check_url(url, rules)
    tls = await asyncio.to_thread(_tls, ca_file)
    reached: list[IPAddress] = []
    try:
        async with (
            asyncio.timeout(timeout_seconds),
            aiohttp.ClientSession(
                connector=guarded_connector(rules, lookup=lookup, note=reached.append, ssl=tls),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
            ) as session,
            session.post(URL(url), data=body, headers=headers, allow_redirects=False) as answer,
        ):
            said = await answer.content.read(MOST_BYTES_READ)
            wait = parse_retry_after(answer.headers.get("Retry-After"))
            in_public = bool(reached) and all(map(is_public, reached))
            return Posted(answer.status, wait, said, is_public=in_public)
    except Exception as error:
        raise translated(error, url, seconds=timeout_seconds) from error


@lru_cache(maxsize=4)
def _tls(ca_file: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
    return context
