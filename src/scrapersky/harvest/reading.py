"""Read a page that was fetched: what it says of itself, and the contacts on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from scrapersky.scraper.contact_finder import ContactsFound, read_contacts
from scrapersky.scraper.page_facts import PageFacts, facts_of, open_document
from scrapersky.scraper.parser_pool import ParserPool
from scrapersky.scraper.responses import Response
from scrapersky.scraper.site_metadata import SiteState, SiteVisit, look_at
from scrapersky.scraper.urls import is_same_site

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


async def read_answer(
    answer: Response, *, domain: str, decode_obfuscated: bool, parser: ParserPool
) -> PageRead | NotAPage:
    if reason := why_unreadable(answer, domain):
        return NotAPage(answer.url, answer.status, reason)
    return await parser.run(parse_page, answer, decode_obfuscated, url=answer.url)


def parse_page(answer: Response, decode_obfuscated: bool) -> PageRead:
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


async def read_home_page(
    answer: Response, asked: str, *, decode_obfuscated: bool, parser: ParserPool
) -> SiteVisit:
    visit = await parser.run(parse_home_page, answer, asked, decode_obfuscated, url=answer.url)
    return replace(visit, page=answer)


def parse_home_page(answer: Response, asked: str, decode_obfuscated: bool) -> SiteVisit:
    """Without the answer, which the caller has, and the tree, which cannot leave its process."""
    visit = look_at(answer, asked=asked)
    contacts = None
    # The page of another site that this one leads to is not its home page.
    is_home_page = visit.is_own_page and visit.metadata.state is not SiteState.REDIRECTED
    if is_home_page and visit.document is not None:
        contacts = read_contacts(
            visit.document.html, url=answer.final_url, decode_obfuscated=decode_obfuscated
        )
    return replace(visit, page=None, document=None, contacts=contacts)


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
