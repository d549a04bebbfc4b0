"""The pipeline as it is drawn: what a stage's figures come to, in words and links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from scrapersky.dashboard.overview.figures import StageFigures
from scrapersky.dashboard.overview.statistics import Attribute, Statistics
from scrapersky.dashboard.row_pages import LISTS
from scrapersky.pipeline.flow import changed_pace
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import Worker
from scrapersky.pipeline.troubles import Situation, Trouble, ticks, troubles_of
from scrapersky.settings import Settings

State = Mapping[str, Any]


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
    troubles: tuple[Trouble, ...]


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
    states: Sequence[State] | None,
    settings: Settings,
) -> StageShown:
    """`states` is what each live worker says of the stage; nothing for those who may not know."""
    troubles = () if states is None else _troubles(stage, figures, states, settings)
    held = next((each["held_back"] for each in states or () if each.get("held_back")), "")
    state, why = _state(figures, held, troubles)
    return StageShown(
        name=stage.name,
        title=title_of(stage.name),
        does=stage.does,
        figures=_figures(stage, figures, statistics),
        last_hour=last_hour,
        oldest_due_seconds=figures.oldest_due_seconds,
        state=state,
        why=why,
        troubles=troubles,
    )


def states_of(stage: AnyStage, workers: Sequence[Worker]) -> list[State]:
    return [each.stages[stage.name] for each in workers if stage.name in each.stages]


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


def _troubles(
    stage: AnyStage, figures: StageFigures, states: Sequence[State], settings: Settings
) -> tuple[Trouble, ...]:
    situation = Situation(
        states=states,
        due=figures.due,
        oldest_ready_seconds=figures.oldest_ready_seconds,
        last_tick=_last_tick(states, figures.now),
        now=figures.now,
        paused_seconds=figures.paused_seconds,
    )
    pace = changed_pace(stage.paced(settings), figures.pace)
    return troubles_of(situation, pace, settings)


def _last_tick(states: Sequence[State], now: datetime) -> datetime | None:
    known = [each["last_tick"] for each in states if ticks(each)]
    return datetime.fromtimestamp(max(known), tz=now.tzinfo) if known else None


def _state(figures: StageFigures, held: str, troubles: Sequence[Trouble]) -> tuple[str, str]:
    if figures.paused:
        return "paused", "Somebody paused it; it claims nothing."
    if troubles:
        return "in trouble", troubles[0].sentence
    if held:
        return "held back", str(held)
    return ("busy", "") if figures.working else ("idle", "")
