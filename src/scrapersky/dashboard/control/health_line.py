"""The health of the whole installation in one line, by what `/health/schedulers` answers."""

from __future__ import annotations

from dataclasses import dataclass

from scrapersky.http.context import AppContext
from scrapersky.http.health import SchedulersHealth, schedulers_health
from scrapersky.pipeline.queue_figures import describe_count
from scrapersky.pipeline.report import Standing


@dataclass(frozen=True)
class HealthLine:
    ok: bool
    sentence: str
    problems: tuple[tuple[str, str], ...] = ()
    """Stage and sentence; the stage is empty where the problem is not of one."""
    paused: tuple[str, ...] = ()


def health_line(context: AppContext, standing: Standing) -> HealthLine:
    health = schedulers_health(context, standing)
    of_stages = ((each.stage, problem) for each in health.stages for problem in each.problems)
    problems = (*of_stages, *(("", problem) for problem in health.problems))
    paused = tuple(each.stage for each in health.stages if each.paused)
    if health.status == "healthy":
        return HealthLine(True, _calm(health, len(standing.workers)), (), paused)
    return HealthLine(False, _said(health, problems), problems, paused)


def _calm(health: SchedulersHealth, workers: int) -> str:
    counts = [each.due for each in health.stages]
    rows = "row" if sum(counts) == 1 else "rows"
    return f"{describe_count(*counts)} {rows} due, {_counted(workers, 'worker')}."


def _said(health: SchedulersHealth, problems: tuple[tuple[str, str], ...]) -> str:
    if health.scheduler_here == "stopped":
        return "The scheduler of this process has stopped."
    more = f" And {len(problems) - 1} more." if len(problems) > 1 else ""
    return f"{problems[0][1]}{more}"


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
