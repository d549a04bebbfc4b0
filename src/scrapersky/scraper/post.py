"""Post a small document, through the same guard as every fetch; redirects are not followed."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from pathlib import Path

import aiohttp
from yarl import URL

from scrapersky.scraper.addresses import AddressRules
from scrapersky.scraper.failures import ConnectionFailed
from scrapersky.scraper.guard import Lookup, check_url, guarded_connector
from scrapersky.scraper.translation import translated

MOST_BYTES_READ = 4096
"""Of the answer, whose body nobody looks at: enough for a connection to be closed in order."""


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
    check_url(url, rules)
    tls = await asyncio.to_thread(_tls, ca_file)
    try:
        async with (
            asyncio.timeout(timeout_seconds),
            aiohttp.ClientSession(
                connector=guarded_connector(rules, lookup=lookup, ssl=tls),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
            ) as session,
            session.post(URL(url), data=body, headers=headers, allow_redirects=False) as answer,
        ):
            await answer.content.read(MOST_BYTES_READ)
            status = answer.status
    except Exception as error:
        raise translated(error, url, seconds=timeout_seconds) from error
    if not 200 <= status < 300:
        what = "redirects, which is not followed" if 300 <= status < 400 else "did not take it"
        raise ConnectionFailed(f"{URL(url).host} answered {status}: it {what}.", url=url)
    return status


def _tls(ca_file: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
    return context
