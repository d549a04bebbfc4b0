"""Every router."""

from __future__ import annotations

from fastapi import APIRouter

from scrapersky.accounts.routes import router as accounts
from scrapersky.domains.routes import router as domains
from scrapersky.http.description import router as description
from scrapersky.http.health import router as health
from scrapersky.jobs.routes import router as jobs
from scrapersky.operations.routes import router as operations
from scrapersky.pages.routes import router as pages
from scrapersky.sitemaps.import_routes import router as sitemap_imports
from scrapersky.sitemaps.routes import router as sitemaps

v3 = APIRouter(prefix="/api/v3")
for each in (sitemaps, sitemap_imports, pages, domains, jobs, operations, accounts):
    v3.include_router(each)

ROUTERS: tuple[APIRouter, ...] = (v3, health, description)
