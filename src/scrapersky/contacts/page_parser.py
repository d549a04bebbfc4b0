"""Parse a fetched page into facts and contacts.

It runs in parser processes and therefore imports no database code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from scrapersky.scraper.contacts.finder import read_contacts
from scrapersky.scraper.contacts.model import ContactSearchResult
from scrapersky.scraper.html.document import open_document
from scrapersky.scraper.html.facts import extract_facts
from scrapersky.scraper.html.model import PageFacts
from scrapersky.scraper.html.parser_pool import ParserPool
from scrapersky.scraper.http.responses import Response
from scrapersky.scraper.http.urls import is_same_site
from scrapersky.scraper.site.metadata import SiteVisit, analyze_home_page
from scrapersky.scraper.site.model import SiteState

HTML_CONTENT_TYPES = ("text/html", "application/xhtml+xml")
SNIFFED_BYTES = 1_024
"""How far to look for an HTML tag when the content type is missing or plain text."""


@dataclass(frozen=True)
class ParsedPage:
    """A page with its facts and contacts."""

    url: str
    final_url: str
    status: int
    facts: PageFacts
    contacts: ContactSearchResult
    truncated: str | None = None


@dataclass(frozen=True)
class UnreadablePage:
    """A response without a readable page, and the reason."""

    url: str
    status: int
    reason: str


async def read_response(
    answer: Response, *, domain: str, decode_obfuscated: bool, parser: ParserPool
) -> ParsedPage | UnreadablePage:
    if reason := get_unreadable_reason(answer, domain):
        return UnreadablePage(answer.url, answer.status, reason)
    return await parser.run(parse_page, answer, decode_obfuscated, url=answer.url)


def parse_page(answer: Response, decode_obfuscated: bool) -> ParsedPage:
    document = open_document(answer)
    return ParsedPage(
        url=answer.url,
        final_url=answer.final_url,
        status=answer.status,
        facts=extract_facts(document),
        contacts=read_contacts(
            document.html, url=answer.final_url, decode_obfuscated=decode_obfuscated
        ),
        truncated=answer.truncated,
    )


async def read_home_page(
    answer: Response, requested_url: str, *, decode_obfuscated: bool, parser: ParserPool
) -> SiteVisit:
    visit = await parser.run(
        parse_home_page, answer, requested_url, decode_obfuscated, url=answer.url
    )
    return replace(visit, page=answer)


def parse_home_page(answer: Response, requested_url: str, decode_obfuscated: bool) -> SiteVisit:
    """Parse a home page. The result omits the response, which the caller has, and the parsed tree,
    which cannot be pickled.
    """
    visit = analyze_home_page(answer, requested_url=requested_url)
    contacts = None
    # A page on another site that this one redirects to is not its home page.
    is_home_page = visit.is_own_page and visit.metadata.state is not SiteState.REDIRECTED
    if is_home_page and visit.document is not None:
        contacts = read_contacts(
            visit.document.html, url=answer.final_url, decode_obfuscated=decode_obfuscated
        )
    return replace(visit, page=None, document=None, contacts=contacts)


def get_unreadable_reason(answer: Response, domain: str) -> str | None:
    """Return why the response cannot be read as a page of the site, or None."""
    if answer.status in (401, 403):
        return f"HTTP {answer.status}: access denied."
    if answer.status in (404, 410):
        return f"HTTP {answer.status}: page not found."
    if not 200 <= answer.status < 300:
        return f"HTTP {answer.status}."
    if not is_same_site(domain, answer.final_url):
        return f"Redirects to another site: {urlsplit(answer.final_url).hostname}."
    kind = (answer.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
    if kind not in HTML_CONTENT_TYPES and not (
        kind in ("", "text/plain") and _looks_like_html(answer.body)
    ):
        return f"Not a web page: {kind or 'no content type'}."
    return None


def _looks_like_html(body: bytes) -> bool:
    head = body[:SNIFFED_BYTES].lower()
    return b"<html" in head or b"<!doctype html" in head
