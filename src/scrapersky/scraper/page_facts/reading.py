"""Put together what a page says of itself."""

from __future__ import annotations

from collections.abc import Mapping

from scrapersky.scraper.page_facts import head
from scrapersky.scraper.page_facts.document import Document, clean_text, open_document
from scrapersky.scraper.page_facts.forms import forms_of
from scrapersky.scraper.page_facts.links import links_of
from scrapersky.scraper.page_facts.model import PageFacts
from scrapersky.scraper.page_facts.schema import json_ld_of, schema_types_of
from scrapersky.scraper.responses import Response


def read_page(
    page: Response | str | bytes,
    *,
    url: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> PageFacts:
    """Read any page; whatever its bytes are, it does not raise.

    A `Response` knows its address and headers; with text or bytes they are given.
    """
    return facts_of(open_document(page, url=url, headers=headers))


def facts_of(document: Document) -> PageFacts:
    metas = head.metas_of(document)
    links, links_cut = links_of(document)
    open_graph = head.open_graph_of(document, metas)
    return PageFacts(
        url=document.url,
        title=head.title_of(document),
        h1=head.h1_of(document),
        description=clean_text(metas.get("description")) or open_graph.description,
        canonical=head.canonical_of(document),
        robots=head.robots_of(document, metas),
        language=head.language_of(document, metas),
        schema_types=schema_types_of(document, json_ld_of(document)),
        forms=forms_of(document),
        word_count=len(document.text.split()),
        links=links,
        links_cut=links_cut,
        open_graph=open_graph,
        refresh_url=head.refresh_of(document, metas),
        charset=document.charset,
        lossy=document.lossy,
        cut=document.cut,
    )
