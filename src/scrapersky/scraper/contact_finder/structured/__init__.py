"""Read what a page says about contacts in a form made for programs."""

from __future__ import annotations

from collections.abc import Iterator

from scrapersky.scraper.contact_finder.page import Page
from scrapersky.scraper.contact_finder.structured.json_data import read_json_data
from scrapersky.scraper.contact_finder.structured.json_ld import read_json_ld
from scrapersky.scraper.contact_finder.structured.marked import read_marked
from scrapersky.scraper.contact_finder.structured.statement import Says, Statement
from scrapersky.scraper.contact_finder.structured.vcard import read_vcards

__all__ = ["Says", "Statement", "statements"]


def statements(page: Page) -> Iterator[Statement]:
    for read in (read_json_ld, read_marked, read_vcards, read_json_data):
        yield from read(page)
