"""Every stage, in the order rows travel, and every chore."""

from __future__ import annotations

from scrapersky.accounts import sign_in_limits
from scrapersky.businesses import extraction
from scrapersky.domains import metadata
from scrapersky.harvest import catching_up, completing
from scrapersky.http import kept_answers
from scrapersky.integrations import delivering
from scrapersky.operations import alert_posts, alerts, retention
from scrapersky.pages import reading
from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.stage import AnyStage
from scrapersky.places import deep_scan, forgetting, refreshing, repeating, search, waiting
from scrapersky.sitemaps import discovery, importing, rescans, submission

STAGES: tuple[AnyStage, ...] = (
    search.STAGE,
    deep_scan.STAGE,
    extraction.STAGE,
    metadata.STAGE,
    submission.STAGE,
    discovery.STAGE,
    importing.STAGE,
    reading.STAGE,
    delivering.STAGE,
)

WATCHING: tuple[Chore, ...] = (alerts.looking_after(STAGES), alert_posts.CHORE)
"""What a process that only takes requests does too: with all workers gone, somebody must say so."""

CHORES: tuple[Chore, ...] = (
    rescans.CHORE,
    repeating.CHORE,
    refreshing.CHORE,
    forgetting.CHORE,
    waiting.CHORE,
    catching_up.PAGES,
    catching_up.LEADS,
    completing.CHORE,
    kept_answers.CHORE,
    *WATCHING,
    retention.CHORE,
    sign_in_limits.CHORE,
)
