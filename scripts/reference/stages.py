"""Every stage and chore."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.engine import Engine
from scrapersky.pipeline.scheduler import Scheduler
from scrapersky.pipeline.stage import AnyStage
from scrapersky.stages import CHORES, STAGES
from scripts.reference.markdown import code, page, table
from scripts.reference.source import DEFAULTS


def all_chores() -> Sequence[Chore]:
    """In the scheduler's order: the chores of the engine, then all others."""
    unused = cast(Engine, SimpleNamespace(settings=DEFAULTS, failures={}))
    return Scheduler(unused, CHORES).chores


def stages_page() -> str:
    chores = [
        (code(each.name), f"{each.every.total_seconds():g} seconds", each.does)
        for each in all_chores()
    ]
    return page(
        [
            "# Stages and chores",
            "",
            "Rows pass through the stages in this order. A stage checks its queue at every "
            "tick and "
            "whenever a row was queued; its words are the values of its status column. "
            "WF1 to WF8 are the numbers of the [design documents](../from-the-design-documents.md"
            "#workflows). "
            "The [glossary](../glossary.md) explains the terms of this page, "
            "[settings](settings.md#stages) the settings.",
            "",
        ],
        *(_stage_section(each) for each in STAGES),
        [
            "## Chores",
            "",
            "Housekeeping, run once per interval by one of the running processes.",
            "",
            *table(("Chore", "Every", "What it does"), chores),
        ],
    )


def _stage_section(stage: AnyStage) -> list[str]:
    words, queue, pace = stage.words, stage.queue, stage.pace
    only = " and ".join(f"{name} = {value}" for name, value in stage.only.items())
    where = code(f"{stage.model.__tablename__}.{stage.status}")
    columns = [each for each in vars(queue).values() if each is not queue.status]
    facts = {
        "Workflow": stage.workflow or "none",
        "Rows": f"{where}, where {code(only)}" if only else where,
        "Words": f"{words.queued} → {words.processing} → {words.done} or {words.failed}",
        "Queue columns": ", ".join(code(each.key) for each in columns),
        "Order": f"{code(stage.priority)}, then due time" if stage.priority else "due time",
        "Settings prefix": code(stage.prefix),
        "Tick": _every(pace.interval_minutes),
        "Batch size": f"up to {pace.batch_size} rows per claim",
        "Concurrent runs": f"up to {pace.max_instances} per process",
        "Concurrent rows": f"up to {pace.concurrency} per process",
        "Timeout": f"{pace.timeout_seconds:g} seconds per attempt",
        "Attempts": f"{pace.max_attempts}, then a dead letter",
        "Feeds": ", ".join(map(code, stage.feeds)) or "none",
        "Aliases": ", ".join(map(code, stage.aliases)) or "none",
    }
    return [f"## {stage.name}", "", stage.does, "", *table(("Property", "Value"), facts.items())]


def _every(minutes: float) -> str:
    return "every minute" if minutes == 1 else f"every {minutes:g} minutes"
