"""Every stage, in the order rows travel, and every chore."""

from __future__ import annotations

from scrapersky.errors import NotFound
from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.stage import AnyStage
from scrapersky.sitemaps import discovery, rescans, submission

STAGES: tuple[AnyStage, ...] = (
    submission.STAGE,
    discovery.STAGE,
)

CHORES: tuple[Chore, ...] = (rescans.CHORE,)


def stage_named(name: str) -> AnyStage:
    """By its id or an id it had before."""
    for stage in STAGES:
        if name == stage.name or name in stage.aliases:
            return stage
    known = ", ".join(stage.name for stage in STAGES)
    raise NotFound(f"There is no stage {name}; the stages are {known}.")
