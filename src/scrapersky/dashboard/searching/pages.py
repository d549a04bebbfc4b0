"""The pages about searches and money, in the order their addresses are tried."""

from __future__ import annotations

from scrapersky.dashboard.searching import budget_page, form_page, search_page

SEARCHING_PAGES = (form_page.router, search_page.router, budget_page.router)
SEARCHING_VIEWS = (search_page.VIEW,)
