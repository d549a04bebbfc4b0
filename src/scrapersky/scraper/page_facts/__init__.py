"""Read what a page says of itself: title, language, robots, links, forms, schema types.

facts = read_page(response)
facts = read_page("<title>Bread</title>", url="https://bakery.example/")

`open_document` gives the parsed page itself to whoever wants to read more from it.
"""

from scrapersky.scraper.page_facts.charsets import DecodedPage, decode_page
from scrapersky.scraper.page_facts.document import Document, open_document, parse_html
from scrapersky.scraper.page_facts.model import (
    FormKind,
    OpenGraph,
    PageFacts,
    PageForm,
    PageLink,
    RobotsMeta,
)
from scrapersky.scraper.page_facts.reading import facts_of, read_page

__all__ = [
    "DecodedPage",
    "Document",
    "FormKind",
    "OpenGraph",
    "PageFacts",
    "PageForm",
    "PageLink",
    "RobotsMeta",
    "decode_page",
    "facts_of",
    "open_document",
    "parse_html",
    "read_page",
]
