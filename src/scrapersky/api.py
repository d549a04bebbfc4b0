"""Every router."""

from __future__ import annotations

from fastapi import APIRouter

from scrapersky.accounts.audit_routes import router as audit
from scrapersky.accounts.routes import router as api_keys
from scrapersky.accounts.session_routes import own_sessions
from scrapersky.accounts.session_routes import router as session
from scrapersky.accounts.user_routes import router as users
from scrapersky.businesses.merge_routes import router as merges
from scrapersky.businesses.routes import router as businesses
from scrapersky.contacts.routes import router as contacts
from scrapersky.contacts.suppression_routes import router as suppressions
from scrapersky.curation.routes import bulk_action_routes
from scrapersky.curations import CURATIONS
from scrapersky.domains.changing_routes import router as domain_changes
from scrapersky.domains.intake_routes import router as domain_intake
from scrapersky.domains.routes import router as domains
from scrapersky.http.description import router as description
from scrapersky.http.health import router as health
from scrapersky.integrations.routes import router as webhooks
from scrapersky.jobs.event_routes import router as job_events
from scrapersky.jobs.routes import router as jobs
from scrapersky.leads.routes import router as leads
from scrapersky.operations.alert_routes import router as alerts
from scrapersky.operations.bulk_routes import router as bulk_acts
from scrapersky.operations.flow_routes import router as flow
from scrapersky.operations.metric_routes import router as metrics
from scrapersky.operations.routes import router as operations
from scrapersky.pages.intake_routes import router as page_intake
from scrapersky.pages.routes import router as pages
from scrapersky.places.budget_routes import router as budget
from scrapersky.places.import_routes import router as place_intake
from scrapersky.places.routes import router as places
from scrapersky.places.search_routes import router as place_searches
from scrapersky.sitemaps.batch_routes import router as batches
from scrapersky.sitemaps.import_routes import router as sitemap_imports
from scrapersky.sitemaps.routes import router as sitemaps
from scrapersky.starting.routes import router as starting

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
    own_sessions,
    users,
    api_keys,
    audit,
):
    v3.include_router(each)

ROUTERS: tuple[APIRouter, ...] = (v3, health, metrics, description)
