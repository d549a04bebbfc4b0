"""Read a page that was fetched: what it says of itself, and the contacts on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar
from urllib.parse import urlsplit

from scrapersky.scraper.contact_finder import ContactsFound, read_contacts
from scrapersky.scraper.page_facts import PageFacts, facts_of, open_document
from scrapersky.scraper.responses import Response
from scrapersky.scraper.urls import is_same_site

P = ParamSpec("P")
T = TypeVar("T")
HTML = ("text/html", "application/xhtml+xml")
LOOKED_AT_BYTES = 1_024
"""Where a page without a content type has to begin to look like one."""


@dataclass(frozen=True)
class PageRead:
    """A page as it was found."""

    url: str
    final_url: str
    status: int
    facts: PageFacts
    contacts: ContactsFound
    truncated: str | None = None


@dataclass(frozen=True)
class NotAPage:
    """There was an answer, but nothing in it to be read; the sentence says why."""

    url: str
    status: int
    reason: str


_READER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reader")
"""One thread: more of them would not read faster, but leave the event loop a smaller share."""


async def beside_the_loop(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Have something that takes a while done without holding up everything else."""
    call = partial(function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_READER, call)


async def read_answer(
    answer: Response, *, domain: str, decode_obfuscated: bool
) -> PageRead | NotAPage:
    """Beside the event loop: a large page takes longer than it may be held."""
    if reason := why_unreadable(answer, domain):
        return NotAPage(answer.url, answer.status, reason)
    return await beside_the_loop(_read, answer, decode_obfuscated)


def _read(answer: Response, decode_obfuscated: bool) -> PageRead:
    document = open_document(answer)
    return PageRead(
        url=answer.url,
        final_url=answer.final_url,
        status=answer.status,
        facts=facts_of(document),
        contacts=read_contacts(
            document.html, url=answer.final_url, decode_obfuscated=decode_obfuscated
        ),
        truncated=answer.truncated,
    )


def why_unreadable(answer: Response, domain: str) -> str | None:
    """None for a page of the site that can be read."""
    if answer.status in (401, 403):
        return f"It answered {answer.status}: the site does not let us read it."
    if answer.status in (404, 410):
        return f"It answered {answer.status}: there is no such page."
    if not 200 <= answer.status < 300:
        return f"It answered {answer.status}."
    if not is_same_site(domain, answer.final_url):
        return f"It leads to another site, {urlsplit(answer.final_url).hostname}."
    kind = (answer.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
    if kind not in HTML and not (kind in ("", "text/plain") and _begins_as_page(answer.body)):
        return f"It is {kind or 'something without a type'}, not a web page."
    return None


def _begins_as_page(body: bytes) -> bool:
    head = body[:LOOKED_AT_BYTES].lower()
    return b"<html" in head or b"<!doctype html" in head
