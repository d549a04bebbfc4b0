"""One stage as a page shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scrapersky.dashboard.control.origins import origin_in_words, started_with
from scrapersky.dashboard.row_pages import ROWS
from scrapersky.operations.flow import LIMITS, WHOLE
from scrapersky.operations.settings_in_force import as_written
from scrapersky.pipeline.flow import CHANGEABLE
from scrapersky.pipeline.report import StageReport, Standing
from scrapersky.pipeline.stage import AnyStage
from scrapersky.settings import Settings

SAYS = {
    "interval_minutes": "Minutes between two ticks",
    "batch_size": "Rows one claim takes",
    "max_instances": "Runs at once in a process",
    "concurrency": "Rows worked at once in a process",
    "timeout_seconds": "Seconds until work is ended",
    "max_attempts": "Attempts before a row is given up",
    "high_water": "Waiting rows that hold its feeders back",
}


@dataclass(frozen=True)
class PaceLine:
    """One value of a pace, and who said it."""

    name: str
    says: str
    value: str
    """What is in force."""
    changed: str
    """What an operator has set; empty when nothing."""
    by_settings: str
    origin: str
    variable: str
    changeable: bool
    step: str
    most: float | None


@dataclass(frozen=True)
class StageCard:
    stage: AnyStage
    report: StageReport
    note: str | None
    """Why it is paused, if somebody said."""
    pace: Sequence[PaceLine]

    @property
    def state(self) -> str:
        if self.report.paused:
            return "paused"
        if self.report.problems:
            return "unhealthy"
        return "held back" if self.report.held_back else "healthy"

    @property
    def rows_at(self) -> str | None:
        return ROWS.get(self.stage.model.__tablename__)


def cards(standing: Standing, stages: Sequence[AnyStage]) -> list[StageCard]:
    return [card(standing, each) for each in stages]


def card(standing: Standing, stage: AnyStage) -> StageCard:
    control = standing.controls.get(stage.name)
    changes = (control.pace if control else None) or {}
    note = control.note if control and control.paused else None
    lines = pace_lines(stage, standing.settings, changes)
    return StageCard(stage, standing.report(stage), note, lines)


def pace_lines(
    stage: AnyStage, settings: Settings, changes: Mapping[str, Any]
) -> tuple[PaceLine, ...]:
    said = asdict(stage.paced(settings))
    return tuple(_line(stage, settings, name, said[name], changes.get(name)) for name in said)


def _line(stage: AnyStage, settings: Settings, name: str, said: Any, change: Any) -> PaceLine:
    variable = f"{stage.prefix}_{name.upper()}"
    changeable = name in CHANGEABLE
    changed = as_written(change) if changeable else ""
    by_settings = as_written(said)
    origin = origin_in_words(started_with(settings).origin_of(variable))
    return PaceLine(
        name=name,
        says=SAYS.get(name, name.replace("_", " ")),
        value=changed or by_settings,
        changed=changed,
        by_settings=by_settings,
        origin=origin,
        variable=variable,
        changeable=changeable,
        step="1" if name in WHOLE else "any",
        most=LIMITS.get(name),
    )
