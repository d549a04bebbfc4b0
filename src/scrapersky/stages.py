"""Every stage, in the order rows travel, and every chore."""

from __future__ import annotations

from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.stage import AnyStage
from scrapersky.sitemaps import discovery, importing, rescans, submission

STAGES: tuple[AnyStage, ...] = (
    submission.STAGE,
    discovery.STAGE,
    importing.STAGE,
)

CHORES: tuple[Chore, ...] = (rescans.CHORE,)
