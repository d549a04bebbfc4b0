"""The health of the whole installation in one line, by what `/health/schedulers` answers."""

from __future__ import annotations

from dataclasses import dataclass

from scrapersky.http.context import AppContext
from scrapersky.http.health import SchedulersHealth, schedulers_health
from scrapersky.pipeline.report import Standing


@dataclass(frozen=True)
class HealthLine:
    ok: bool
    sentence: str
    problems: tuple[tuple[str, str], ...] = ()
    """Stage and sentence."""
    paused: tuple[str, ...] = ()


def health_line(context: AppContext, standing: Standing) -> HealthLine:
    health = schedulers_health(context, standing.reports)
    problems = tuple((each.stage, problem) for each in health.stages for problem in each.problems)
    paused = tuple(each.stage for each in health.stages if each.paused)
    if health.status == "healthy":
        return HealthLine(True, _calm(health, len(standing.workers)), (), paused)
    return HealthLine(False, _said(health, problems), problems, paused)


def _calm(health: SchedulersHealth, workers: int) -> str:
    due = sum(each.due for each in health.stages)
    return f"{_counted(due, 'row')} due, {_counted(workers, 'worker')}."


def _said(health: SchedulersHealth, problems: tuple[tuple[str, str], ...]) -> str:
    if health.scheduler_here == "stopped":
        return "The scheduler of this process has stopped."
    more = f" And {len(problems) - 1} more." if len(problems) > 1 else ""
    return f"{problems[0][1]}{more}"


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
