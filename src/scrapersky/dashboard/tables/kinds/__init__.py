"""Every kind of table."""

from __future__ import annotations

from scrapersky.dashboard.tables.kinds.bulk_actions import BULK_ACTIONS
from scrapersky.dashboard.tables.kinds.businesses import BUSINESSES
from scrapersky.dashboard.tables.kinds.contacts import CONTACTS
from scrapersky.dashboard.tables.kinds.dead_letters import DEAD_LETTERS
from scrapersky.dashboard.tables.kinds.domains import DOMAINS
from scrapersky.dashboard.tables.kinds.jobs import JOBS
from scrapersky.dashboard.tables.kinds.leads import LEADS
from scrapersky.dashboard.tables.kinds.ledger import LEDGER
from scrapersky.dashboard.tables.kinds.merge_candidates import MERGE_CANDIDATES
from scrapersky.dashboard.tables.kinds.pages import PAGES
from scrapersky.dashboard.tables.kinds.places import PLACES
from scrapersky.dashboard.tables.kinds.searches import SEARCHES
from scrapersky.dashboard.tables.kinds.sitemap_files import SITEMAP_FILES
from scrapersky.dashboard.tables.kinds.suppressions import SUPPRESSIONS
from scrapersky.dashboard.tables.table import Table

TABLES: tuple[Table, ...] = (
    LEADS,
    CONTACTS,
    PAGES,
    SITEMAP_FILES,
    DOMAINS,
    JOBS,
    SEARCHES,
    LEDGER,
    PLACES,
    BUSINESSES,
    MERGE_CANDIDATES,
    DEAD_LETTERS,
    SUPPRESSIONS,
    BULK_ACTIONS,
)
