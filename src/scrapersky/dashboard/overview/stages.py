"""Stage figures, the summary of each stage, and what needs attention."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Float,
    Integer,
    ScalarSelect,
    Select,
    and_,
    extract,
    func,
    literal,
    select,
    true,
    union_all,
)
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.navigation import LIST_PATHS
from scrapersky.dashboard.overview.totals import Attribute, TableStatistics
from scrapersky.db.statements import inline_text
from scrapersky.operations.alerts import FiringAlert
from scrapersky.pipeline.claims import get_statements
from scrapersky.pipeline.report import StageReport
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.stats import MAX_EXACT_ROWS
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState, StageControl

MANY_CIRCUITS = "many_circuits_open"


@dataclass(frozen=True)
class Concern:
    tone: str
    """`bad` if work is blocked or lost, `poor` if it can wait."""
    about: str
    sentence: str
    path: str
    act: str
    """Text of the link."""


@dataclass(frozen=True)
class OverviewFindings:
    """Input for the list of concerns."""

    letters: Mapping[str, int]
    """Open dead letters by stage name."""
    alerts: Sequence[FiringAlert]
    """Firing alerts, by the rules of the alerts page."""
    circuits: int
    warnings: int


def build_concerns(findings: OverviewFindings, titles: Mapping[str, str]) -> list[Concern]:
    """Return the concerns, most severe first."""
    return [
        *_iter_alert_concerns(findings, titles),
        *_iter_dead_letter_concerns(findings, titles),
        *_iter_circuit_concerns(findings),
        *_iter_warning_concerns(findings),
    ]


def _iter_alert_concerns(
    findings: OverviewFindings, titles: Mapping[str, str]
) -> Iterator[Concern]:
    for each in findings.alerts:
        if each.subject in titles:
            path, act = f"/stages/{each.subject}", "View stage"
        else:
            path, act = "/alerts", "View alerts"
        about = titles.get(each.subject, each.subject) or "Alert"
        yield Concern("bad", about, each.sentence, path, act)


def _iter_dead_letter_concerns(
    findings: OverviewFindings, titles: Mapping[str, str]
) -> Iterator[Concern]:
    for name, count in findings.letters.items():
        if count:
            items = "1 failed item" if count == 1 else f"{count:,} failed items"
            path = f"/dead-letters?{urlencode({'stage': name})}"
            yield Concern("poor", titles[name], f"{items}.", path, "Retry or dismiss")


def _iter_circuit_concerns(findings: OverviewFindings) -> Iterator[Concern]:
    if findings.circuits and not any(each.rule == MANY_CIRCUITS for each in findings.alerts):
        hosts = (
            "1 host keeps failing and is"
            if findings.circuits == 1
            else f"{findings.circuits:,} hosts keep failing and are"
        )
        sentence = f"{hosts} backing off."
        yield Concern("poor", "Hosts", sentence, "/hosts?left_alone=true", "View")


def _iter_warning_concerns(findings: OverviewFindings) -> Iterator[Concern]:
    if findings.warnings:
        domains = "1 domain" if findings.warnings == 1 else f"{findings.warnings:,} domains"
        sentence = f"{domains} had sitemaps before, but the last scan found none."
        yield Concern("poor", "Domains", sentence, "/domains?has_warning=true", "View")


Conditions = list[ColumnElement[bool]]


@dataclass(frozen=True)
class StageFigures:
    """Current figures of one stage, for one tenant or all."""

    name: str
    now: datetime
    queued: int
    due: int
    oldest_due_seconds: float | None
    oldest_ready_seconds: float | None
    working: int
    failed: int
    done: int
    done_is_all: bool
    """Whether `done` is exact; otherwise the table is too large to count."""
    letters: int
    """Open dead letters."""
    paused: bool
    paused_since: datetime | None
    pace: dict[str, Any] | None

    @property
    def paused_seconds(self) -> float | None:
        if not self.paused or self.paused_since is None:
            return None
        return (self.now - self.paused_since).total_seconds()


async def load_figures(
    session: AsyncSession, stages: Sequence[AnyStage], tenant_id: UUID | None, *, places: int
) -> list[StageFigures]:
    """Return figures in stage order, for all tenants if `tenant_id` is None. `places` is the
    default number of slots per host.

    The tenant condition is part of the statement because the automatic tenant filter does not reach
    every part of a union.
    """
    every = union_all(*(_build_stage_query(each, tenant_id, places) for each in stages)).subquery()
    result = await session.execute(
        select(
            every,
            func.coalesce(StageControl.paused, False).label("paused"),
            StageControl.updated_at.label("paused_since"),
            StageControl.pace.label("pace"),
        ).outerjoin(StageControl, StageControl.stage == every.c.name)
    )
    by_name = {row.name: StageFigures(**row._mapping) for row in result}
    return [by_name[each.name] for each in stages]


def _build_stage_query(stage: AnyStage, tenant_id: UUID | None, places: int) -> Select[Any]:
    ours = _build_scope(stage, tenant_id)
    queued = _build_queue_counts(stage, ours)
    some = _build_done_counts(stage, ours)
    return select(
        literal(stage.name).label("name"),
        func.now().label("now"),
        queued.c.queued,
        queued.c.due,
        queued.c.oldest.label("oldest_due_seconds"),
        get_statements(stage).ready_seconds(places, *ours).label("oldest_ready_seconds"),
        _count_status(stage, stage.words.processing, ours).label("working"),
        _count_status(stage, stage.words.failed, ours).label("failed"),
        some.c.done,
        some.c.done_is_all,
        _count_dead_letters(stage, tenant_id).label("letters"),
    ).select_from(queued.join(some, true()))


def _build_scope(stage: AnyStage, tenant_id: UUID | None) -> Conditions:
    fixed = [getattr(stage.model, k) == inline_text(v) for k, v in stage.only.items()]
    model: Any = stage.model
    if tenant_id is not None and hasattr(model, "tenant_id"):
        fixed.append(model.tenant_id == tenant_id)
    return fixed


def _build_queue_counts(stage: AnyStage, ours: Conditions) -> Any:
    """Count queued and due rows and the age of the oldest due row with one scan of the queue's
    index.
    """
    due_at = stage.queue.due_at
    is_due: ColumnElement[bool] = due_at <= func.now()
    age = extract("epoch", func.now() - func.min(due_at).filter(is_due)).cast(Float)
    is_queued = stage.queue.status == inline_text(stage.words.queued)
    return (
        select(
            func.count().label("queued"),
            func.count().filter(is_due).label("due"),
            age.label("oldest"),
        )
        .select_from(stage.model)
        .where(is_queued, *ours)
        .subquery()
    )


def _count_status(stage: AnyStage, word: str, ours: Conditions) -> ScalarSelect[int]:
    counted = select(func.count()).select_from(stage.model)
    return counted.where(stage.queue.status == inline_text(word), *ours).scalar_subquery()


def _build_done_counts(stage: AnyStage, ours: Conditions) -> Any:
    """Count done rows among the first rows of the table; exact for small tables."""
    look = select(stage.queue.status.label("status")).select_from(stage.model)
    some = look.where(*ours).limit(MAX_EXACT_ROWS + 1).subquery()
    is_done = some.c.status == inline_text(stage.words.done)
    return select(
        func.count().filter(is_done).cast(Integer).label("done"),
        (func.count() <= MAX_EXACT_ROWS).cast(Boolean).label("done_is_all"),
    ).subquery()


def _count_dead_letters(stage: AnyStage, tenant_id: UUID | None) -> ScalarSelect[int]:
    is_open = DeadLetter.state == inline_text(DeadLetterState.OPEN.value)
    mine = true() if tenant_id is None else DeadLetter.tenant_id == tenant_id
    counted = select(func.count()).select_from(DeadLetter)
    return counted.where(and_(DeadLetter.stage == stage.name, is_open, mine)).scalar_subquery()


@dataclass(frozen=True)
class StageFigure:
    title: str
    count: int
    how: str
    """Empty if exact, otherwise `about` or `more than`."""
    path: str | None


@dataclass(frozen=True)
class StageSummary:
    name: str
    title: str
    does: str
    figures: tuple[StageFigure, ...]
    last_hour: int | None
    """Rows done; None for users who see a single tenant."""
    oldest_due_seconds: float | None
    state: str
    """`running`, `paused`, `held back` or `in trouble`."""
    why: str
    """Explanation of the state; may be empty."""


STAGE_TITLES = {
    "process_place_searches": "Search places",
    "process_deep_scans": "Fetch place details",
    "process_domain_extractions": "Find domains",
    "process_pending_domains": "Read home pages",
    "process_pending_domain_sitemap_submissions": "Queue sitemap scans",
    "process_pending_sitemaps": "Scan sitemaps",
    "process_sitemap_imports": "Import URLs",
    "process_page_curation_queue": "Read pages",
    "process_webhook_deliveries": "Deliver webhooks",
}


def get_stage_title(name: str) -> str:
    """Return the display title of a stage; for unknown stages one derived from the name."""
    words = name.removeprefix("process_").removeprefix("pending_").replace("_", " ")
    return STAGE_TITLES.get(name) or words[:1].upper() + words[1:]


def list_stage_attributes(stages: Sequence[AnyStage]) -> set[Attribute]:
    """Return the columns whose statistics are needed to estimate the done rows of the stages."""
    return {
        (str(stage.model.__tablename__), name)
        for stage in stages
        for name in (stage.status, *stage.only)
    }


def build_stage_summary(
    stage: AnyStage,
    figures: StageFigures,
    statistics: TableStatistics,
    *,
    last_hour: int | None,
    report: StageReport | None,
) -> StageSummary:
    """Build the summary of a stage; `report` is None for users who are not operators."""
    held, problems = (report.held_back, report.problems) if report else (None, ())
    state, why = _describe_state(figures, held, problems)
    return StageSummary(
        name=stage.name,
        title=get_stage_title(stage.name),
        does=stage.does,
        figures=_build_figures(stage, figures, statistics),
        last_hour=last_hour,
        oldest_due_seconds=figures.oldest_due_seconds,
        state=state,
        why=why,
    )


def _build_figures(
    stage: AnyStage, figures: StageFigures, statistics: TableStatistics
) -> tuple[StageFigure, ...]:
    words = stage.words
    done, how = _estimate_done(stage, figures, statistics)
    return (
        StageFigure("Queued", figures.queued, "", build_rows_path(stage, words.queued)),
        StageFigure("Working", figures.working, "", build_rows_path(stage, words.processing)),
        StageFigure("Done", done, how, build_rows_path(stage, words.done)),
        StageFigure("Failed", figures.failed, "", build_rows_path(stage, words.failed)),
    )


def _estimate_done(
    stage: AnyStage, figures: StageFigures, statistics: TableStatistics
) -> tuple[int, str]:
    if figures.done_is_all:
        return figures.done, ""
    estimate = statistics.done(stage)
    if estimate is None or estimate < figures.done:
        return figures.done, "more than"
    return estimate, "about"


def build_rows_path(stage: AnyStage, word: str) -> str | None:
    place = LIST_PATHS.get(str(stage.model.__tablename__))
    query = urlencode({stage.status: word, **stage.only})
    return f"{place}?{query}" if place else None


def _describe_state(
    figures: StageFigures, held: str | None, problems: Sequence[str]
) -> tuple[str, str]:
    if figures.paused:
        return "paused", "Paused by an operator; no rows are claimed."
    if problems:
        return "in trouble", problems[0]
    if held:
        return "held back", held
    return ("busy", "") if figures.working else ("idle", "")
