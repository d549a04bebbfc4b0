"""The pipeline as it is drawn: what a stage's figures come to, in words and links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from scrapersky.dashboard.overview.figures import StageFigures
from scrapersky.dashboard.overview.statistics import Attribute, Statistics
from scrapersky.dashboard.row_pages import LISTS
from scrapersky.pipeline.report import StageReport
from scrapersky.pipeline.stage import AnyStage


@dataclass(frozen=True)
class Figure:
    title: str
    count: int
    how: str
    """Empty when it was counted; else `about` or `more than`."""
    path: str | None


@dataclass(frozen=True)
class StageShown:
    name: str
    title: str
    does: str
    figures: tuple[Figure, ...]
    last_hour: int | None
    """Rows done; nothing for those who see one tenant only."""
    oldest_due_seconds: float | None
    state: str
    """`running`, `paused`, `held back`, `in trouble`."""
    why: str
    """More about the state, where there is more to say."""


def title_of(name: str) -> str:
    """`process_pending_domains` → `Domains`."""
    words = name.removeprefix("process_").removeprefix("pending_").replace("_", " ")
    return words[:1].upper() + words[1:]


def attributes_of(stages: Sequence[AnyStage]) -> set[Attribute]:
    """What must be known of a stage's table to tell about how many it is done with."""
    return {
        (str(stage.model.__tablename__), name)
        for stage in stages
        for name in (stage.status, *stage.only)
    }


def shown(
    stage: AnyStage,
    figures: StageFigures,
    statistics: Statistics,
    *,
    last_hour: int | None,
    report: StageReport | None,
) -> StageShown:
    """`report` is how the stage is doing; nothing for those who may not know."""
    held, problems = (report.held_back, report.problems) if report else (None, ())
    state, why = _state(figures, held, problems)
    return StageShown(
        name=stage.name,
        title=title_of(stage.name),
        does=stage.does,
        figures=_figures(stage, figures, statistics),
        last_hour=last_hour,
        oldest_due_seconds=figures.oldest_due_seconds,
        state=state,
        why=why,
    )


def _figures(stage: AnyStage, figures: StageFigures, statistics: Statistics) -> tuple[Figure, ...]:
    words = stage.words
    done, how = _done(stage, figures, statistics)
    return (
        Figure("Queued", figures.queued, "", rows_with(stage, words.queued)),
        Figure("Working", figures.working, "", rows_with(stage, words.processing)),
        Figure("Done", done, how, rows_with(stage, words.done)),
        Figure("Failed", figures.failed, "", rows_with(stage, words.failed)),
    )


def _done(stage: AnyStage, figures: StageFigures, statistics: Statistics) -> tuple[int, str]:
    if figures.done_is_all:
        return figures.done, ""
    believed = statistics.done(stage)
    if believed is None or believed < figures.done:
        return figures.done, "more than"
    return believed, "about"


def rows_with(stage: AnyStage, word: str) -> str | None:
    place = LISTS.get(str(stage.model.__tablename__))
    asked = urlencode({stage.status: word, **stage.only})
    return f"{place}?{asked}" if place else None


def _state(figures: StageFigures, held: str | None, problems: Sequence[str]) -> tuple[str, str]:
    if figures.paused:
        return "paused", "Somebody paused it; it claims nothing."
    if problems:
        return "in trouble", problems[0]
    if held:
        return "held back", held
    return ("busy", "") if figures.working else ("idle", "")
