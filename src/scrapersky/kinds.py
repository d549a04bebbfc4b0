"""Index of every kind of row that people curate."""

from __future__ import annotations

from scrapersky.businesses.listing import CURATION as BUSINESSES
from scrapersky.contacts.listing import CURATION as CONTACTS
from scrapersky.domains.listing import CURATION as DOMAINS
from scrapersky.leads.listing import CURATION as LEADS
from scrapersky.lists import Curation
from scrapersky.pages.listing import CURATION as PAGES
from scrapersky.places.listing import CURATION as PLACES
from scrapersky.sitemaps.listing import CURATION as SITEMAP_FILES

CURATIONS: tuple[Curation, ...] = (
    PLACES,
    BUSINESSES,
    DOMAINS,
    SITEMAP_FILES,
    PAGES,
    CONTACTS,
    LEADS,
)
