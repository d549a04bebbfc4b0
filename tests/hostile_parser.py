"""Reading of pages that hangs or eats memory where a page says so.

Tests put these in the place of the functions that they call for every other page.
"""

from __future__ import annotations

from scrapersky.harvest.reading import PageRead, parse_home_page, parse_page
from scrapersky.scraper.home_page import sitemap_links
from scrapersky.scraper.responses import Response
from scrapersky.scraper.site_metadata import SiteVisit
from tests.scraper.parser_traps import eat_memory, hang

HANGS, EATS_MEMORY = "hang the parser", "eat its memory"


def _spring(answer: Response) -> None:
    if HANGS.encode() in answer.body:
        hang()
    if EATS_MEMORY.encode() in answer.body:
        eat_memory()


def parse_trap(answer: Response, decode_obfuscated: bool) -> PageRead:
    _spring(answer)
    return parse_page(answer, decode_obfuscated)


def parse_home_trap(answer: Response, asked: str, decode_obfuscated: bool) -> SiteVisit:
    _spring(answer)
    return parse_home_page(answer, asked, decode_obfuscated)


def find_links_trap(page: Response) -> tuple[str, ...]:
    _spring(page)
    return sitemap_links(page)
