"""Reading of pages that hangs or eats memory where a page says so.

Tests put these in the place of the functions that they call for every other page.
"""

from __future__ import annotations

from scrapersky.contacts.page_parser import ParsedPage, parse_home_page, parse_page
from scrapersky.scraper.http.responses import Response
from scrapersky.scraper.site.metadata import SiteVisit
from scrapersky.scraper.sitemaps.sitemap_analyzer import find_sitemap_links
from tests.scraper.html.parser_traps import eat_memory, hang

HANGS, EATS_MEMORY = "hang the parser", "eat its memory"


def _spring(answer: Response) -> None:
    if HANGS.encode() in answer.body:
        hang()
    if EATS_MEMORY.encode() in answer.body:
        eat_memory()


def parse_trap(answer: Response, decode_obfuscated: bool) -> ParsedPage:
    _spring(answer)
    return parse_page(answer, decode_obfuscated)


def parse_home_trap(answer: Response, asked: str, decode_obfuscated: bool) -> SiteVisit:
    _spring(answer)
    return parse_home_page(answer, asked, decode_obfuscated)


def find_links_trap(page: Response) -> tuple[str, ...]:
    _spring(page)
    return find_sitemap_links(page)
