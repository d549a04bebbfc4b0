"""Index of every API router."""

from __future__ import annotations

from fastapi import APIRouter

from scrapersky.auth.routes import api_key_router as api_keys
from scrapersky.auth.routes import audit_router as audit
from scrapersky.auth.routes import own_sessions_router
from scrapersky.auth.routes import session_router as session
from scrapersky.auth.routes import user_router as users
from scrapersky.businesses.routes import merge_candidates_router as merges
from scrapersky.businesses.routes import router as businesses
from scrapersky.contacts.routes import router as contacts
from scrapersky.contacts.routes import suppressions_router as suppressions
from scrapersky.domains.routes import actions_router as domain_changes
from scrapersky.domains.routes import import_router as domain_intake
from scrapersky.domains.routes import router as domains
from scrapersky.http.health import router as health
from scrapersky.http.openapi import router as description
from scrapersky.intake import router as starting
from scrapersky.jobs.routes import event_router as job_events
from scrapersky.jobs.routes import router as jobs
from scrapersky.kinds import CURATIONS
from scrapersky.leads.routes import router as leads
from scrapersky.lists.undo_routes import bulk_action_routes
from scrapersky.operations.metrics import router as metrics
from scrapersky.operations.routes import alert_router as alerts
from scrapersky.operations.routes import bulk_router as bulk_acts
from scrapersky.operations.routes import flow_router as flow
from scrapersky.operations.routes import router as operations
from scrapersky.pages.routes import import_router as page_intake
from scrapersky.pages.routes import router as pages
from scrapersky.places.budget.routes import router as budget
from scrapersky.places.routes import router as places
from scrapersky.places.search.routes import import_router as place_intake
from scrapersky.places.search.routes import router as place_searches
from scrapersky.sitemaps.batch_routes import router as batches
from scrapersky.sitemaps.routes import import_router as sitemap_imports
from scrapersky.sitemaps.routes import router as sitemaps
from scrapersky.webhooks.routes import router as webhooks

v3 = APIRouter(prefix="/api/v3")
for each in (
    starting,
    sitemaps,
    batches,
    sitemap_imports,
    place_intake,
    place_searches,
    places,
    businesses,
    merges,
    budget,
    page_intake,
    pages,
    domain_intake,
    domain_changes,
    domains,
    contacts,
    leads,
    suppressions,
    bulk_action_routes(CURATIONS),
    jobs,
    job_events,
    webhooks,
    operations,
    bulk_acts,
    flow,
    alerts,
    session,
    own_sessions_router,
    users,
    api_keys,
    audit,
):
    v3.include_router(each)

ROUTERS: tuple[APIRouter, ...] = (v3, health, metrics, description)
