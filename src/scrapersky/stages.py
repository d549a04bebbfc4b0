"""Every stage, in the order rows travel, and every chore."""

from __future__ import annotations

from scrapersky.domains import metadata
from scrapersky.harvest import catching_up
from scrapersky.http import kept_answers
from scrapersky.operations import alert_posts, alerts, retention
from scrapersky.pages import reading
from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.stage import AnyStage
from scrapersky.sitemaps import discovery, importing, rescans, submission

STAGES: tuple[AnyStage, ...] = (
    metadata.STAGE,
    submission.STAGE,
    discovery.STAGE,
    importing.STAGE,
    reading.STAGE,
)

WATCHING: tuple[Chore, ...] = (alerts.looking_after(STAGES), alert_posts.CHORE)
"""What a process that only takes requests does too: with all workers gone, somebody must say so."""

CHORES: tuple[Chore, ...] = (
    rescans.CHORE,
    catching_up.PAGES,
    catching_up.LEADS,
    kept_answers.CHORE,
    *WATCHING,
    retention.CHORE,
)
