"""Every kind of row that people decide about."""

from __future__ import annotations

from scrapersky.contacts.listing import CURATION as CONTACTS
from scrapersky.domains.listing import CURATION as DOMAINS
from scrapersky.http.lists import Curation
from scrapersky.leads.listing import CURATION as LEADS
from scrapersky.pages.listing import CURATION as PAGES
from scrapersky.sitemaps.listing import CURATION as SITEMAP_FILES

CURATIONS: tuple[Curation, ...] = (DOMAINS, SITEMAP_FILES, PAGES, CONTACTS, LEADS)
