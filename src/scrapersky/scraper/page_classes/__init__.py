"""Say what a page is from its address, so that the few right pages of a site are read.

    classify("https://muster.example/de/kontakt.html")
    → contact, .95, "path: kontakt (de)", priority 2, depth 1

The path decides. A title or a link's text raises or lowers the confidence, and gives the class
where the path says nothing. Nothing is fetched and nothing raises, whatever the text.
"""

from __future__ import annotations

from scrapersky.scraper.page_classes.finding import find_in_url
from scrapersky.scraper.page_classes.judgement import Classified, judged, with_texts
from scrapersky.scraper.page_classes.picking import is_worth_reading, pick_pages
from scrapersky.scraper.page_classes.words import PageClass

__all__ = ["Classified", "PageClass", "classify", "is_worth_reading", "pick_pages"]


def classify(
    url: str,
    *,
    title: str | None = None,
    link_text: str | None = None,
    language: str | None = None,
) -> Classified:
    """`language` is the site's, where known: `de`, or `de-AT`."""
    found = find_in_url(url)
    tongue = language[:2].lower() if language else found.language
    by_path = judged(found.how, found.word, found.fit, found.depth, found.has_query, tongue)
    if not title and not link_text:
        return by_path
    return with_texts(by_path, found, {"title": title, "link": link_text}, tongue)
