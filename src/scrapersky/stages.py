"""Index of every stage, in pipeline order, and every periodic chore."""

from __future__ import annotations

from scrapersky.auth import sign_in_limits
from scrapersky.businesses import domain_extraction
from scrapersky.contacts import extraction as reading
from scrapersky.domains import metadata
from scrapersky.http import idempotency
from scrapersky.leads import backfill, completion
from scrapersky.operations import alerts, retention
from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.stage import AnyStage
from scrapersky.places import deep_scan, freshness
from scrapersky.places.budget import blocked_rows
from scrapersky.places.search import execution, saved_searches
from scrapersky.sitemaps import discovery, imports, rescans, submission
from scrapersky.webhooks import delivery

STAGES: tuple[AnyStage, ...] = (
    execution.STAGE,
    deep_scan.STAGE,
    domain_extraction.STAGE,
    metadata.STAGE,
    submission.STAGE,
    discovery.STAGE,
    imports.STAGE,
    reading.STAGE,
    delivery.STAGE,
)

MONITORING_CHORES: tuple[Chore, ...] = (alerts.build_alert_chore(STAGES),)
"""Chores that also run in an API-only process, so that an alert is raised even when no worker is
left.
"""

CHORES: tuple[Chore, ...] = (
    rescans.CHORE,
    saved_searches.CHORE,
    freshness.REFRESH_CHORE,
    freshness.EXPIRY_CHORE,
    blocked_rows.CHORE,
    backfill.CLASSIFY_PAGES_CHORE,
    backfill.REFRESH_LEADS_CHORE,
    completion.CHORE,
    idempotency.CHORE,
    *MONITORING_CHORES,
    retention.CHORE,
    sign_in_limits.CHORE,
)
