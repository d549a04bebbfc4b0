"""A page for each row that somebody may want to look at closely."""

from __future__ import annotations

from scrapersky.dashboard.details import (
    business,
    contact,
    dead_letter,
    domain,
    job,
    lead,
    page,
    place,
    sitemap_file,
)

DETAIL_PAGES = (
    domain.router,
    job.router,
    contact.router,
    lead.router,
    page.router,
    place.router,
    business.router,
    sitemap_file.router,
    dead_letter.router,
)
DETAIL_VIEWS = (domain.VIEW, job.VIEW)
